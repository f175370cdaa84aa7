"""Publishing and reconciling over HTTP, where every call takes 50 ms and three in ten are throttled."""

import json
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from annotation import qualification
from annotation.intake import create_study
from annotation.models import Annotation, Assignment, Item, Sitting, Worker
from annotation.models.sittings import State
from bench.report import table
from bench.server import gunicorn
from hits import intents, places, publishing, reconciling
from hits.models import Batch, Call, Hit, MarketWorker, Visit
from hits.publishing import Terms
from marketplace import ledger, signing
from marketplace.models import HIT, Requester
from marketplace.models import Assignment as RemoteAssignment
from marketplace.models import Worker as RemoteWorker
from marketplace.questions import answers_xml

PORT, SITE = 8774, "http://127.0.0.1:8774"
LATENCY, THROTTLED, PARALLEL = 0.05, 0.3, 8
HITS, ASSIGNMENTS, SEATS = 5_000, 10_000, 9
PEOPLE = 200
FAULTS = {"seed": 7, "latency_seconds": LATENCY, "operations": {"*": {"latency": 1.0, "throttle": THROTTLED}}}
SLOW = {"seed": 7, "latency_seconds": LATENCY, "operations": {"*": {"latency": 1.0}}}
ANSWER = {"label": "normal", "reason": None, "pairs": []}


def measure() -> None:
    requester = Requester.objects.create(name="bench hits", created_at=timezone.now())
    ledger.deposit(requester, 1_000_000_00, at=timezone.now())
    settings.SITE_URL = settings.PUBLIC_URL = SITE
    settings.MTURK_ACCESS_KEY, settings.MTURK_SECRET_KEY = requester.access_key, signing.secret_of(requester)
    settings.MTURK_CALLS_PER_SECOND, settings.MTURK_PARALLEL = 0, PARALLEL
    environment = {"MARKETPLACE_CALLS_PER_SECOND": "0", "SITE_URL": SITE, "DEBUG": "true", "LOG_LEVEL": "ERROR"}
    with gunicorn("config.wsgi:application", PORT, MARKETPLACE_FAULTS=json.dumps(FAULTS), **environment):
        rows = [_publishing()]
    with gunicorn("config.wsgi:application", PORT, MARKETPLACE_FAULTS=json.dumps(SLOW), **environment):
        rows += _reconciling(requester)
    title = f"HITs over HTTP: {LATENCY * 1000:.0f} ms a call, {PARALLEL} at once"
    table(title, ["what", "calls", "seconds", "calls x latency / parallelism", "times that"], rows)


def _row(what: str, calls: int, seconds: float) -> list[str]:
    floor = calls * LATENCY / PARALLEL
    return [what, f"{calls:,}", f"{seconds:.1f}", f"{floor:.1f}", f"{seconds / floor:.2f}"]


def _publishing() -> list[str]:
    study = create_study("bench-hits", "crepe", by="bench", at=timezone.now())
    began = time.perf_counter()
    publishing.publish(study, Terms("generate", HITS, Decimal("0.01"), per_hit=1), by="bench", at=timezone.now())
    intents.drain(places.client(), places.here(), parallel=PARALLEL, seconds=3600)
    seconds = time.perf_counter() - began
    made = list(HIT.objects.filter(requester__name="bench hits").values_list("annotation", flat=True))
    assert (len(made), len(set(made))) == (HITS, HITS), "one HIT for each"
    assert Hit.objects.filter(batch__study=study, state=Hit.State.OPEN).count() == HITS
    what = f"publish {HITS:,} HITs, {THROTTLED:.0%} of calls throttled"
    return _row(what, Call.objects.filter(operation="CreateHIT").count(), seconds)


def _reconciling(requester: Requester) -> list[list[str]]:
    """First everything is new; then nothing has changed."""
    batch = _worked(requester)
    rows = []
    for what in ("all of them new", "again, nothing changed"):
        Call.objects.all().delete()
        hits = list(batch.hits.order_by("pk").values_list("pk", flat=True))
        began = time.perf_counter()
        found = reconciling.look_at_all(hits, places.client(), parallel=PARALLEL)
        seconds = time.perf_counter() - began
        assert found["assignments"] == ASSIGNMENTS, found
        pages = Call.objects.filter(operation="ListAssignmentsForHIT").count()
        rows.append(_row(f"reconcile {ASSIGNMENTS:,} assignments, {what}", pages, seconds))
    counted = Annotation.objects.filter(study=batch.study, uncounted="").count()
    assert counted == ASSIGNMENTS, counted
    return rows


def _worked(requester: Requester) -> Batch:
    """A batch of which every seat was worked and submitted, here and there, and nothing looked at yet."""
    now = timezone.now()
    study = create_study("bench-reconcile", "crepe", by="bench", at=now, options={"items_per_sitting": 1})
    terms = Terms("generate", ASSIGNMENTS, Decimal("0.01"), per_hit=SEATS, approval=Batch.Approval.BY_HAND)
    batch = publishing.publish(study, terms, by="bench", at=now)
    intents.drain(places.client(), places.here(), parallel=PARALLEL, seconds=3600)
    remote = RemoteWorker.objects.bulk_create(
        RemoteWorker(name=f"reconciled {n}", created_at=now) for n in range(PEOPLE)
    )
    local = Worker.objects.bulk_create(Worker(code=f"marketplace {w.worker_id}", created_at=now) for w in remote)
    place = places.here()
    MarketWorker.objects.bulk_create(
        MarketWorker(worker=worker, place=place, remote_worker=person.worker_id)
        for worker, person in zip(local, remote, strict=True)
    )
    for worker in local:
        qualification.qualify(worker, study, ["generate"], by="bench", at=now)
    there = {hit.hit_id: hit for hit in HIT.objects.filter(requester=requester)}
    seats = [(hit, seat) for hit in batch.hits.order_by("pk") for seat in range(hit.seats)]
    people = [(local[n % PEOPLE], remote[n % PEOPLE]) for n in range(len(seats))]
    items = Item.objects.bulk_create(
        Item(
            study=study,
            ref=f"r{n}",
            payload={"id": f"r{n}", "question": "Why?", "comment": "Because."},
            state="open",
            stage="generate",
            votes_wanted=2,
            open_seats=1,
            queued_at=now + timedelta(microseconds=n),
            created_at=now,
        )
        for n in range(len(seats))
    )
    closed: dict[str, Any] = {"state": State.SUBMITTED, "closed_at": now}
    sittings = Sitting.objects.bulk_create(
        Sitting(study=study, worker=worker, stage="generate", leased_until=now, opened_at=now, **closed)
        for worker, _ in people
    )
    assignments = Assignment.objects.bulk_create(
        Assignment(sitting=sitting, item=item, worker_id=sitting.worker_id, stage="generate", seat=0, **closed)
        for sitting, item in zip(sittings, items, strict=True)
    )
    Annotation.objects.bulk_create(
        Annotation(
            study=study,
            item_id=row.item_id,
            worker_id=row.worker_id,
            assignment=row,
            stage="generate",
            answer=ANSWER,
            uncounted="unconfirmed",
            unproven=True,
            protocol_version=1,
            submitted_at=now,
        )
        for row in assignments
    )
    done = RemoteAssignment.objects.bulk_create(
        RemoteAssignment(
            hit=there[hit.hit_id],
            number=seat + 1,
            worker=person,
            state="Submitted",
            answer=answers_xml({"reference": f"ref{n}"}),
            accepted_at=now,
            deadline=now + timedelta(hours=1),
            submitted_at=now,
            approves_at=now + timedelta(days=3),
        )
        for n, ((hit, seat), (_, person)) in enumerate(zip(seats, people, strict=True))
    )
    Visit.objects.bulk_create(
        Visit(
            hit=hit,
            assignment_id=made.assignment_id,
            remote_worker=person.worker_id,
            worker=worker,
            sitting=sitting,
            reference=f"ref{n}",
            state=Visit.State.LEFT,
            opened_at=now,
            left_at=now,
        )
        for n, ((hit, _), (worker, person), sitting, made) in enumerate(zip(seats, people, sittings, done, strict=True))
    )
    for hit in there.values():
        HIT.objects.filter(pk=hit.pk).update(submitted=hit.assignments.count())
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return batch
