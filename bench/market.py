"""The requester API and the worker's API over HTTP, at 1,000 and at 1,000,000 stored HITs, beside the floor."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import boto3
import urllib3
from botocore.config import Config
from django.db import connection
from django.utils import timezone

from bench import floor
from bench.client import Timings
from bench.report import table
from bench.server import gunicorn
from marketplace import ledger, signing, work
from marketplace.models import HIT, HITType, Requester, Worker

PORT, SITE = 8773, "http://127.0.0.1:8773"
FLOOR_PORT, FLOOR = 8774, "http://127.0.0.1:8774"
SIZES = (1_000, 1_000_000)
CREATES, LISTS, PEOPLE, EACH = 400, 200, 32, 10
WHAT = {
    "create": "CreateHITWithHITType, 8 at once",
    "list": "ListAssignmentsForHIT, 100 rows, 8 at once",
    "work": f"accept and submit, {PEOPLE} at once",
}
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
DONE_ITEM = 0  # of the floor's, with a hundred answers
BARE_DONE = """
INSERT INTO floor_annotation (item_id, worker, answer) SELECT %s, n, '"<a/>"' FROM generate_series(1, 100) n
"""


def measure() -> None:
    requester = Requester.objects.create(name="bench", created_at=timezone.now())
    ledger.deposit(requester, 1_000_000_00, at=timezone.now())
    people = Worker.objects.bulk_create(
        Worker(name=f"bench {n}", created_at=timezone.now()) for n in range(max(100, PEOPLE))
    )
    rows, stored = [], 0
    with (
        gunicorn("bench.floor:application", FLOOR_PORT, FLOOR_SERVES="1"),
        gunicorn("config.wsgi:application", PORT, MARKETPLACE_CALLS_PER_SECOND="0", SITE_URL=SITE),
    ):
        hit_type = _type(requester)
        for size in SIZES:
            with connection.cursor() as cursor:
                given = {"salt": str(size), "requester": requester.pk, "type": hit_type.pk, "question": QUESTION}
                cursor.execute(HITS, {**given, "count": size - stored})
                floor.create(size)
                cursor.execute(BARE_DONE, [DONE_ITEM])
                cursor.execute("VACUUM ANALYZE")
            stored = size
            bare, ours = _bare(requester), _round(requester, hit_type, people)
            for name, words in WHAT.items():
                rows.append([f"{size:,}", words, "floor", *bare[name].row()])
                ratio = f"{ours[name].rate / bare[name].rate:.2f}"
                rows.append([f"{size:,}", words, "touchstone", *ours[name].row(), ratio])
    title = f"The marketplace over HTTP, boto3 and {PEOPLE} workers on the same machine"
    table(title, ["stored HITs", "what", "server", "calls/s", "p50 ms", "p95 ms", "ratio"], rows)


@dataclass(frozen=True)
class Measured:
    """rate: calls per second."""

    rate: float
    timings: Timings

    def row(self) -> list[str]:
        return [f"{self.rate:.0f}", *(f"{self.timings.percentile('', share):.0f}" for share in (0.5, 0.95))]


def _client(requester: Requester, site: str = SITE) -> Any:
    return boto3.client(
        "mturk",
        endpoint_url=f"{site}/marketplace/api/",
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


def _round(requester: Requester, hit_type: HITType, people: list[Worker]) -> dict[str, Measured]:
    mturk = _client(requester)
    given = {"HITTypeId": hit_type.type_id, "LifetimeInSeconds": 3600, "Question": QUESTION}
    creating = _timed(lambda n: mturk.create_hit_with_hit_type(**given), CREATES, 8)
    full = HIT.objects.filter(hit_type=hit_type).order_by("-pk").first()
    assert full
    HIT.objects.filter(pk=full.pk).update(max_assignments=100, submitted=100)
    with connection.cursor() as cursor:
        cursor.execute(DONE, {"hit": full.pk})
    listing = _listing(mturk, full.hit_id)
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

    return {"create": creating, "list": listing, "work": _timed(do, PEOPLE * EACH, PEOPLE)}


def _bare(requester: Requester) -> dict[str, Measured]:
    """The same clients, and a server that does the least."""
    mturk, http = _client(requester, FLOOR), urllib3.PoolManager(maxsize=PEOPLE)
    given = {"HITTypeId": "3", "LifetimeInSeconds": 3600, "Question": QUESTION}

    def do(n: int) -> None:
        claimed = http.request("POST", f"{FLOOR}/claim/")
        assert claimed.status == 200, claimed.data
        sent = http.request("POST", f"{FLOOR}/answer/{claimed.json()['item']}/", body=json.dumps({"answer": "yes"}))
        assert sent.status == 200, sent.data

    return {
        "create": _timed(lambda n: mturk.create_hit_with_hit_type(**given), CREATES, 8),
        "list": _listing(mturk, str(DONE_ITEM)),
        "work": _timed(do, PEOPLE * EACH, PEOPLE),
    }


def _listing(mturk: Any, hit_id: str) -> Measured:
    def one(n: int) -> None:
        page = mturk.list_assignments_for_hit(HITId=hit_id, MaxResults=100)
        assert page["NumResults"] == 100

    return _timed(one, LISTS, 8)


def _timed(do: Callable[[int], object], count: int, at_once: int) -> Measured:
    timings = Timings()

    def one(n: int) -> None:
        began = time.perf_counter()
        do(n)
        timings.seconds[""].append(time.perf_counter() - began)

    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, range(count)))
    return Measured(count / (time.perf_counter() - began), timings)
