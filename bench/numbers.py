"""Agreement of a study of 1,000,000 annotations, with intervals: the query, and what comes after it."""

import time
from random import Random

from django.db import connection
from django.utils import timezone

from annotation.intake import create_study
from annotation.protocols.slider import Scale
from bench.report import table
from validation.agreement import estimate, leave_out
from validation.calibration import METHODS, calibrate
from validation.tallies import histogram

TALLIES = """
INSERT INTO annotation_item (study_id, ref, role, payload, state, stage, votes_wanted, open_seats, queued_at, created_at)
SELECT %(study)s, 'q' || n, 'work', '{}', 'open', 'validate', 2, 2, now(), now() FROM generate_series(1, 500000) n;
INSERT INTO validation_tally (study_id, item_id, stage, measure, profile)
SELECT %(study)s, id, 'generate', 'label',
       (ARRAY['2,0,0','2,0,0','1,1,0','1,1,0','0,2,0','0,2,0','0,2,0','0,2,0','0,1,1','0,0,2'])[1 + id %% 10]
FROM annotation_item WHERE study_id = %(study)s
"""


def measure() -> None:
    study = create_study("numbers", "crepe", title="Numbers", options={}, by="bench", at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(TALLIES, {"study": study.pk})
        cursor.execute("VACUUM ANALYZE validation_tally")
    began = time.perf_counter()
    votes = histogram(study, "generate", "label")
    query = time.perf_counter() - began
    began = time.perf_counter()
    kept, _ = leave_out(votes, [2])
    for name in ("percent_agreement", "fleiss_kappa", "krippendorff_alpha"):
        estimate(kept, name, replicates=1000)
    after = time.perf_counter() - began
    rows = [["the database query (500,000 items, GROUP BY)", f"{query:.3f}"]]
    rows.append(["percentage, Fleiss, Krippendorff, 1,000 replicates each", f"{after:.3f}"])
    table("Agreement over 1,000,000 annotations", ["step", "seconds"], rows)
    _calibration()


def _calibration() -> None:
    """Thresholds of as many workers as NOPE had, and of a thousand."""
    rows, rng = [], Random(1)
    for workers, ratings in ((81, 4_263), (1_000, 100_000)):
        names = [f"w{rng.randrange(workers)}" for _ in range(ratings)]
        expected = [rng.choice(list(POSITIONS)) for _ in range(ratings)]
        given = [Scale().rating(rng.randint(*POSITIONS[label])) for label in expected]
        for method in METHODS:
            began = time.perf_counter()
            calibrate(names, expected, given, method=method)
            rows.append([f"{workers:,}", f"{ratings:,}", method, f"{1000 * (time.perf_counter() - began):.0f}"])
    table("Thresholds from ratings of fillers", ["workers", "ratings", "method", "ms"], rows)


POSITIONS = {"entailment": (600, 1000), "neutral": (200, 900), "contradiction": (0, 400)}  # on the slider
