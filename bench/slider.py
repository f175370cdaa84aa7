"""A slider study of 1,000,000 ratings: its first labelling, its report, and the agreement of the ratings."""

import tempfile
import time

from django.db import connection
from django.utils import timezone

from annotation.intake import create_study
from bench.files import manage
from bench.report import table
from validation.agreement import alpha_of_moments, estimate_of_moments
from validation.tallies import moments

VERSIONS, RATERS, FILLERS = 200_000, 1_000, 100  # five ratings each; 100 fillers by everybody

ROWS = """
CREATE FUNCTION pg_temp.rating(spot integer) RETURNS numeric LANGUAGE sql AS $$
  SELECT CASE WHEN spot <= 0 THEN 0 WHEN spot >= 1000 THEN 100
              ELSE round((100 / (1 + power(1000.0 / spot - 1, 1.5)))::numeric, 2) END $$;
INSERT INTO annotation_item (study_id, ref, role, payload, state, stage, votes_wanted, open_seats, queued_at, created_at)
SELECT %(study)s, 'p' || n, 'work', jsonb_build_object('id', 'p' || n, 'item', 'p' || n / 2, 'premise', 'A text of some words.',
         'version', (ARRAY['original', 'negated'])[1 + n %% 2], 'polarity', (ARRAY['non-negated', 'negated'])[1 + n %% 2],
         'hypothesis', 'A statement.', 'trigger_type', 'trigger ' || n / 2 %% 10, 'adversarial', n %% 8 < 2),
       'settled', '', 0, 0, now() + n * interval '1 microsecond', now() FROM generate_series(0, %(versions)s - 1) n;
INSERT INTO annotation_item (study_id, ref, role, payload, gold, state, stage, votes_wanted, open_seats, queued_at, created_at)
SELECT %(study)s, 'f' || n, 'filler', '{}',
       jsonb_build_object('expected', (ARRAY['entailment', 'neutral', 'contradiction'])[1 + n %% 3]), 'open', '', 0, 0, now(), now()
FROM generate_series(1, %(fillers)s) n;
INSERT INTO annotation_worker (code, link_serial, created_at) SELECT 'rater-' || n, 0, now() FROM generate_series(1, %(raters)s) n;
INSERT INTO annotation_enrolment (study_id, worker_id, number, state, taken, note, created_at)
SELECT %(study)s, id, row_number() OVER (ORDER BY id), 'active', 0, '', now() FROM annotation_worker WHERE code LIKE 'rater-%%';
INSERT INTO annotation_sitting (study_id, worker_id, stage, purpose, state, leased_until, opened_at, closed_at)
SELECT %(study)s, worker_id, 'rate', 'work', 'submitted', now(), now(), now() FROM annotation_enrolment WHERE study_id = %(study)s;
CREATE TEMP TABLE given AS
SELECT i.id AS item, s.id AS sitting, s.worker_id AS worker, i.role, seat,
       greatest(0, least(1000, (CASE i.gold ->> 'expected' WHEN 'entailment' THEN 940 WHEN 'neutral' THEN 560
         WHEN 'contradiction' THEN 60 ELSE (ARRAY[960, 960, 600, 40])[1 + i.n %% 4] END + (random() - 0.5) * 300)::integer)) AS spot
FROM (SELECT id, role, gold, row_number() OVER (PARTITION BY role ORDER BY id) - 1 AS n FROM annotation_item WHERE study_id = %(study)s) i
CROSS JOIN LATERAL generate_series(0, CASE i.role WHEN 'work' THEN 4 ELSE %(raters)s - 1 END) seat
JOIN (SELECT id, worker_id, row_number() OVER (ORDER BY id) - 1 AS w FROM annotation_sitting WHERE study_id = %(study)s) s
  ON s.w = CASE i.role WHEN 'work' THEN (i.n * 5 + seat) %% %(raters)s ELSE seat END;
WITH a AS (
  INSERT INTO annotation_assignment (sitting_id, item_id, worker_id, stage, role, attempt, seat, state, judges, active_seconds,
                                     draft_page, draft_edit, signs, closed_at)
  SELECT sitting, item, worker, 'rate', role, 0, CASE role WHEN 'work' THEN seat END, 'submitted', '[]', 20, '', 0, '{}', now()
  FROM given RETURNING id, item_id, worker_id, role)
INSERT INTO annotation_annotation (study_id, item_id, worker_id, assignment_id, stage, answer, uncounted, judged,
                                   protocol_version, active_seconds, signs, submitted_at)
SELECT %(study)s, a.item_id, a.worker_id, a.id, 'rate',
       jsonb_build_object('position', g.spot, 'rating', pg_temp.rating(g.spot), 'confusing', false, 'confusing_reason', ''),
       CASE a.role WHEN 'work' THEN '' ELSE 'filler' END, false, 1, 10 + a.id %% 40, '{}', now() - interval '1 hour'
FROM a JOIN given g ON g.item = a.item_id AND g.worker = a.worker_id;
INSERT INTO validation_resolution (item_id, study_id, outcome, label, gold, why, at)
SELECT item, %(study)s, 'settled', '', jsonb_build_object('label', NULL, 'nli_labels', '[]'::jsonb,
         'ratings', jsonb_agg(pg_temp.rating(spot) ORDER BY seat), 'workers', jsonb_agg(worker ORDER BY seat)), '5 ratings.', now()
FROM given WHERE role = 'work' GROUP BY item;
INSERT INTO validation_tally (study_id, item_id, stage, measure, profile)
SELECT %(study)s, item, 'rate', 'rating', concat_ws(',', 5, sum(100 * pg_temp.rating(spot))::bigint,
         sum((100 * pg_temp.rating(spot))::bigint * (100 * pg_temp.rating(spot))::bigint)::bigint) FROM given WHERE role = 'work' GROUP BY item;
DROP TABLE given;
"""


def measure() -> None:
    study = create_study("slider", "nope", title="Slider", options={}, by="bench", at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(ROWS, {"study": study.pk, "versions": VERSIONS, "raters": RATERS, "fillers": FILLERS})
        cursor.execute("VACUUM ANALYZE")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what in ("first report, labels everything", "report once more"):
            began = time.perf_counter()
            memory = manage("report", "slider", "--out", folder)
            rows.append([f"`manage.py report`: {what}", f"{time.perf_counter() - began:.1f}", f"{memory:.0f}"])
    began = time.perf_counter()
    found = moments(study, "rate", "rating")
    rows.append(["counts, sums and squares of every item, from the database", f"{time.perf_counter() - began:.2f}", ""])
    began = time.perf_counter()
    alpha_of_moments(*zip(*found, strict=True))
    rows.append(["interval alpha of them", f"{time.perf_counter() - began:.2f}", ""])
    began = time.perf_counter()
    estimate_of_moments(found)
    rows.append(["... with its bootstrap interval", f"{time.perf_counter() - began:.2f}", ""])
    title = f"A slider study: {5 * VERSIONS:,} ratings, {RATERS:,} raters with {FILLERS * RATERS:,} ratings of fillers"
    table(title, ["step", "seconds", "peak memory MB"], rows)
