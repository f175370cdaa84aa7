"""People: a table of 2,000 workers with 1,000,000 annotations, scoring them, looking at rules, leasing under limits."""

import time
from collections.abc import Callable
from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import leasing
from annotation.intake import create_study, import_items
from annotation.models import Study
from annotation.qualification import add_worker
from bench.client import Timings
from bench.report import table
from validation import people, quality, recollection

ITEMS, WORKERS, LEASES = 500_000, 2_000, 300

ROWS = """
INSERT INTO annotation_item (study_id, ref, role, payload, state, stage, votes_wanted, open_seats, queued_at, created_at)
SELECT %(study)s, 'q' || n, 'work', jsonb_build_object('id', 'q' || n, 'question', 'Why?', 'comment', 'Because ' || n),
       'settled', '', 0, 0, now() + n * interval '1 microsecond', now() FROM generate_series(0, %(items)s - 1) n;
INSERT INTO annotation_worker (code, link_serial, created_at)
SELECT 'people-' || n, 0, now() FROM generate_series(1, %(workers)s) n;
INSERT INTO annotation_enrolment (study_id, worker_id, number, state, taken, note, created_at)
SELECT %(study)s, id, row_number() OVER (ORDER BY id), 'active', 500, '', now() FROM annotation_worker WHERE code LIKE 'people-%%';
INSERT INTO annotation_qualification (enrolment_id, stage, state, attempts_allowed, created_at)
SELECT id, 'generate', 'qualified', 1, now() FROM annotation_enrolment WHERE study_id = %(study)s;
INSERT INTO annotation_sitting (study_id, worker_id, stage, purpose, state, leased_until, opened_at, closed_at)
SELECT %(study)s, worker_id, 'generate', 'work', 'submitted', now(), now(), now() FROM annotation_enrolment WHERE study_id = %(study)s;
CREATE TEMP TABLE given AS
SELECT i.id AS item, s.id AS sitting, s.worker_id AS worker, seat, (n + seat * 997) %% 10 < 1 AS wrong, n
FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM annotation_item WHERE study_id = %(study)s) i
CROSS JOIN generate_series(0, 1) seat
JOIN (SELECT id, worker_id, row_number() OVER (ORDER BY id) - 1 AS w FROM annotation_sitting WHERE study_id = %(study)s) s
  ON s.w = (n * 2 + seat) %% %(workers)s;
WITH a AS (
  INSERT INTO annotation_assignment (sitting_id, item_id, worker_id, stage, role, attempt, seat, state, judges, active_seconds,
                                     draft_page, draft_edit, signs, closed_at)
  SELECT sitting, item, worker, 'generate', 'work', 0, seat, 'submitted', '[]', 30, '', 0, '{}', now() FROM given
  RETURNING id, item_id, worker_id)
INSERT INTO annotation_annotation (study_id, item_id, worker_id, assignment_id, stage, answer, uncounted, upheld, judged,
                                   protocol_version, active_seconds, signs, submitted_at)
SELECT %(study)s, item_id, worker_id, id, 'generate', '{"label": "normal", "reason": null, "pairs": []}', '',
       worker_id %% 40 > 0 OR id %% 3 > 0, false, 1, 20 + id %% 40, '{"pasted": 0, "typed": 12}', now() - interval '1 hour' FROM a;
INSERT INTO validation_resolution (item_id, study_id, outcome, label, gold, why, at)
SELECT id, study_id, 'settled', 'normal', '{"labels": ["normal"]}', 'Both generators gave the same label.', now()
FROM annotation_item WHERE study_id = %(study)s;
INSERT INTO validation_tally (study_id, item_id, stage, measure, profile)
SELECT %(study)s, id, 'generate', 'label', '0,2,0' FROM annotation_item WHERE study_id = %(study)s;
DROP TABLE given;
"""
LIMITS = {
    "max_annotations": 5_000,
    "max_share": 0.15,
    "max_open_sittings": 3,
    "max_per_group": "entity:2000",
    "not_seen_in": "limits-off",
    "gold_rate": 0.1,
    "fillers_per_sitting": 1,
}


def measure() -> None:
    study = create_study("people", "crepe", title="People", options={"revoke_after": 20}, by="bench", at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(ROWS, {"study": study.pk, "items": ITEMS, "workers": WORKERS})
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    now = timezone.now()
    rows = [["score everybody, from nothing", *_timed(lambda: quality.refresh(study, at=now, everybody=True))]]
    later = now + timedelta(minutes=10)
    rows.append(["score again, nothing having happened", *_timed(lambda: quality.refresh(study, at=later))])
    rows.append(["the workers' table", *_best(lambda: people.people_of(study))])
    plan = recollection.plan(study, {"revoke_invalid_share": 0.1})
    words = f"look at a rule set ({plan.workers} workers, {plan.annotations:,} annotations leave)"
    rows.append([words, *_best(lambda: recollection.plan(study, {"revoke_invalid_share": 0.1}))])
    heads = ["step", "seconds", "queries"]
    table(f"{WORKERS:,} workers, {2 * ITEMS:,} annotations (PostgreSQL, in process)", heads, rows)
    _limits()


def _timed(act: Callable[[], object]) -> list[str]:
    began = time.perf_counter()
    with CaptureQueriesContext(connection) as queries:
        act()
    return [f"{time.perf_counter() - began:.3f}", str(len(queries))]


def _best(act: Callable[[], object]) -> list[str]:
    return min(_timed(act) for _ in range(3))


def _limits() -> None:
    rows, base = [], 0.0
    for name, options in (("limits-off", {}), ("limits-on", LIMITS)):
        study, timings = _limited(name, options), Timings()
        for n in range(LEASES):
            at = timezone.now()
            worker = add_worker(study, f"lessee-{n % 50}", ["generate"], by="bench", at=at)
            began = time.perf_counter()
            sitting, _ = leasing.lease(worker, study, "generate", at=timezone.now())
            timings.seconds["lease"].append(time.perf_counter() - began)
            leasing.give_back(sitting, at=timezone.now())
        p50 = timings.percentile("lease", 0.5)
        base = base or p50
        rows.append([name, f"{p50:.2f}", f"{timings.percentile('lease', 0.95):.2f}", f"{p50 / base:.2f}"])
    heads = ["where", "p50", "p95", "p50 to none"]
    table(f"One lease of ten items, without and with every limit and hidden items, {LEASES} leases (ms)", heads, rows)


def _limited(slug: str, options: dict[str, object]) -> Study:
    at = timezone.now()
    study = create_study(slug, "crepe", title=slug, options=options, by="bench", at=at)
    prefix = "a" if slug == "limits-off" else "b"  # other items: nobody has met them in the study without limits
    texts = [{"id": f"{prefix}{n}", "question": "Why?", "comment": f"Because {n}."} for n in range(20_000)]
    work = [{**row, "entity": f"e{n % 500}"} for n, row in enumerate(texts)]
    import_items(study, work, by="bench", at=at)
    for role in ("gold", "filler"):
        known = [{**row, "id": f"{role}{n}", "gold": {"label": "normal"}} for n, row in enumerate(texts[:100])]
        import_items(study, known, role=role, by="bench", at=at)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return study
