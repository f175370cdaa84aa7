"""The requester API and the worker's API over HTTP, at 1,000 and at 1,000,000 stored HITs."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import urllib3
from botocore.config import Config
from django.db import connection
from django.utils import timezone

from bench.client import Timings
from bench.report import table
from bench.server import gunicorn
from marketplace import ledger, signing, work
from marketplace.models import HIT, HITType, Requester, Worker

PORT, SITE = 8773, "http://127.0.0.1:8773"
SIZES = (1_000, 1_000_000)
CREATES, LISTS, PEOPLE, EACH = 400, 200, 32, 10
QUESTION = """<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">
<HTMLContent><![CDATA[<p>What is it?</p>]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"""
HITS = """
INSERT INTO marketplace_hit (hit_id, requester_id, hit_type_id, question, annotation, max_assignments, made_for, hold, accepted,
                             submitted, approved, rejected, is_reviewing, created_at, expires_at)
SELECT '3' || left(upper(md5(%(salt)s || n)), 29), %(requester)s, %(type)s, %(question)s, '', 1, 1, 0, 0, 0, 0, 0, false,
       now() - interval '1 hour', now() + interval '1 day' FROM generate_series(1, %(count)s) n
"""
DONE = """
INSERT INTO marketplace_assignment (assignment_id, hit_id, number, worker_id, state, answer, feedback, accepted_at, deadline,
                                    submitted_at, approves_at)
SELECT '3A' || left(upper(md5(%(hit)s::text || w.id)), 28), %(hit)s, row_number() OVER (), w.id, 'Submitted', '<a/>', '', now(), now(), now(),
       now() + interval '1 day' FROM (SELECT id FROM marketplace_worker ORDER BY id LIMIT 100) w
"""


def measure() -> None:
    requester = Requester.objects.create(name="bench", created_at=timezone.now())
    ledger.deposit(requester, 1_000_000_00, at=timezone.now())
    people = Worker.objects.bulk_create(
        Worker(name=f"bench {n}", created_at=timezone.now()) for n in range(max(100, PEOPLE))
    )
    rows, stored = [], 0
    with gunicorn("config.wsgi:application", PORT, MARKETPLACE_CALLS_PER_SECOND="0", SITE_URL=SITE):
        hit_type = _type(requester)
        for size in SIZES:
            with connection.cursor() as cursor:
                given = {"salt": str(size), "requester": requester.pk, "type": hit_type.pk, "question": QUESTION}
                cursor.execute(HITS, {**given, "count": size - stored})
                cursor.execute("VACUUM ANALYZE")
            stored = size
            rows += [[f"{size:,}", *row] for row in _round(requester, hit_type, people, size)]
    title = f"The marketplace over HTTP, boto3 and {PEOPLE} workers on the same machine"
    table(title, ["stored HITs", "what", "calls/s", "p50 ms", "p95 ms"], rows)


def _client(requester: Requester) -> Any:
    return boto3.client(
        "mturk",
        endpoint_url=f"{SITE}/marketplace/api/",
        region_name="us-east-1",
        aws_access_key_id=requester.access_key,
        aws_secret_access_key=signing.secret_of(requester),
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=8),
    )


def _type(requester: Requester) -> HITType:
    made = _client(requester).create_hit_type(
        Title="Bench", Description="Bench", Reward="0.01", AssignmentDurationInSeconds=3600
    )
    return HITType.objects.get(type_id=made["HITTypeId"])


def _round(requester: Requester, hit_type: HITType, people: list[Worker], size: int) -> list[list[str]]:
    mturk, timings = _client(requester), Timings()
    given = {"HITTypeId": hit_type.type_id, "LifetimeInSeconds": 3600, "Question": QUESTION}
    creating = _timed(timings, "create", lambda n: mturk.create_hit_with_hit_type(**given), CREATES, 8)
    full = HIT.objects.filter(hit_type=hit_type).order_by("-pk").first()
    assert full
    HIT.objects.filter(pk=full.pk).update(max_assignments=100, submitted=100)
    with connection.cursor() as cursor:
        cursor.execute(DONE, {"hit": full.pk})
    asked = {"HITId": full.hit_id, "MaxResults": 100}
    listing = _timed(timings, "list", lambda n: mturk.list_assignments_for_hit(**asked), LISTS, 8)
    free = HIT.objects.filter(hit_type=hit_type, accepted=0, submitted=0).order_by("pk")
    hits = list(free.values_list("hit_id", flat=True)[: PEOPLE * EACH])
    tokens, http = [work.token_of(worker) for worker in people[:PEOPLE]], urllib3.PoolManager(maxsize=PEOPLE)

    def do(n: int) -> None:
        header = {"Authorization": f"Token {tokens[n % PEOPLE]}"}
        accepted = http.request("POST", f"{SITE}/marketplace/api/worker/hits/{hits[n]}/accept/", headers=header)
        assert accepted.status == 200, accepted.data
        form = {"assignmentId": accepted.json()["assignment_id"], "answer": "yes"}
        sent = http.request("POST", f"{SITE}/marketplace/mturk/externalSubmit", fields=form, encode_multipart=False)
        assert sent.status == 200, sent.data

    working = _timed(timings, "work", do, PEOPLE * EACH, PEOPLE)
    names = {
        "create": ("CreateHITWithHITType, 8 at once", creating),
        "list": ("ListAssignmentsForHIT, 100 rows, 8 at once", listing),
        "work": (f"accept and submit, {PEOPLE} at once", working),
    }
    return [
        [words, f"{rate:.0f}", f"{timings.percentile(name, 0.5):.0f}", f"{timings.percentile(name, 0.95):.0f}"]
        for name, (words, rate) in names.items()
    ]


def _timed(timings: Timings, name: str, do: Callable[[int], object], count: int, at_once: int) -> float:
    """Calls per second."""

    def one(n: int) -> None:
        began = time.perf_counter()
        do(n)
        timings.seconds[name].append(time.perf_counter() - began)

    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, range(count)))
    return count / (time.perf_counter() - began)
