"""Does the lease stay flat: at 1,000 and at 1,000,000 items, and for somebody with 20,000 annotations behind them?"""

import time
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from annotation import leasing
from annotation.intake import create_study
from annotation.models import Study, Worker
from annotation.qualification import add_worker
from bench.client import Timings
from bench.report import table

LEASES = 300

ITEMS = """
INSERT INTO annotation_item (study_id, ref, role, payload, state, stage, votes_wanted, open_seats, queued_at, created_at)
SELECT %s, 'q' || n, 'work', jsonb_build_object('id', 'q' || n, 'question', 'Why?', 'comment', 'Because ' || n), 'open',
       'generate', 2, 2, %s::timestamptz + n * interval '1 microsecond', %s
FROM generate_series(1, %s) n
"""
SITTINGS = """
INSERT INTO annotation_sitting (study_id, worker_id, stage, purpose, state, leased_until, opened_at, closed_at)
SELECT %s, %s, 'generate', 'work', 'submitted', %s, %s, %s FROM generate_series(1, %s)
"""
BEHIND = """
WITH s AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM annotation_sitting WHERE study_id = %s AND worker_id = %s),
     i AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM annotation_item WHERE study_id = %s ORDER BY id LIMIT %s),
     a AS (INSERT INTO annotation_assignment (sitting_id, item_id, worker_id, stage, role, attempt, seat, state, judges, active_seconds, draft_page, draft_edit, signs, closed_at)
           SELECT s.id, i.id, %s, 'generate', 'work', 0, 0, 'submitted', '[]', 30, '', 0, '{}', %s FROM s JOIN i USING (n) RETURNING id, item_id),
     w AS (INSERT INTO annotation_annotation (study_id, item_id, worker_id, assignment_id, stage, answer, uncounted, judged, protocol_version, signs, submitted_at)
           SELECT %s, item_id, %s, id, 'generate', '{"label": "normal", "reason": null, "pairs": []}', '', false, 1, '{}', %s FROM a)
UPDATE annotation_item SET open_seats = 1 WHERE id IN (SELECT id FROM i)
"""


def measure() -> None:
    small, large = _study("flat-1k", 1_000), _study("flat-1m", 1_000_000)
    busy = _worker(large, "busy")
    _give_past(large, busy, 20_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    rows, base = [], 0.0
    for name, study, worker in (
        ("1,000 items", small, None),
        ("1,000,000 items", large, None),
        ("20,000 annotations behind", large, busy),
    ):
        timings = _lease_many(study, worker)
        p95 = timings.percentile("lease", 0.95)
        base = base or p95
        rows.append([name, f"{timings.percentile('lease', 0.5):.2f}", f"{p95:.2f}", f"{p95 / base:.2f}"])
    table(
        f"One lease of one item, {LEASES} leases (ms, in process)", ["where", "p50", "p95", "p95 to 1,000 items"], rows
    )


def _study(slug: str, items: int) -> Study:
    now = timezone.now()
    study = create_study(slug, "crepe", title=slug, options={"items_per_sitting": 1}, by="bench", at=now)
    with connection.cursor() as cursor:
        cursor.execute(ITEMS, [study.pk, now - timedelta(days=1), now, items])
    return study


def _worker(study: Study, code: str) -> Worker:
    return add_worker(study, f"{study.slug}-{code}", ["generate"], by="bench", at=timezone.now())


def _give_past(study: Study, worker: Worker, annotations: int) -> None:
    """The first so many items were annotated by this worker and wait for their second vote: the worst place to start."""
    now = timezone.now()
    ids = [study.pk, worker.pk]
    with connection.cursor() as cursor:
        cursor.execute(SITTINGS, [*ids, now, now, now, annotations])
        cursor.execute(BEHIND, [*ids, study.pk, annotations, worker.pk, now, *ids, now])


def _lease_many(study: Study, worker: Worker | None) -> Timings:
    """Lease and give back, so that the queue stays; a fresh worker each time, or the one given."""
    timings = Timings()
    crowd = [worker or _worker(study, f"w{n}") for n in range(LEASES)]
    for one in crowd:
        began = time.perf_counter()
        sitting, _ = leasing.lease(one, study, "generate", at=timezone.now())
        timings.seconds["lease"].append(time.perf_counter() - began)
        leasing.give_back(sitting, at=timezone.now())
    return timings
