"""Thresholds of workers: the 20 published ones, hand-worked cuts, guards, and what must never change a number."""

import csv
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocols.slider import Scale
from validation.calibration import NO_RATINGS, ONE_CLASS, calibrate

SHARED = Path(__file__).parents[3] / "shared" / "data"
RATINGS, EXPECTED = SHARED / "nope_filler_ratings_20workers.csv", SHARED / "nope_expected_thresholds_20workers.csv"


@pytest.mark.skipif(not RATINGS.exists(), reason="the public ratings are not part of this repository")
@pytest.mark.parametrize(("method", "within"), [("exact", 0.005), ("brent", 0.25)])
def test_the_thresholds_of_twenty_published_workers(method, within):
    with RATINGS.open() as file:
        rows = list(csv.DictReader(file))
    columns = [[row[name] for row in rows] for name in ("worker", "expected")]
    found = calibrate(*columns, [float(row["rating"]) for row in rows], method=method)
    with EXPECTED.open() as file:
        expected = list(csv.DictReader(file))
    assert len(expected) == 20
    for row in expected:
        calibration = found[row["worker"]]
        assert abs(calibration.entailment.value - float(row[f"e_{method}"])) < within
        assert abs(calibration.contradiction.value - float(row[f"c_{method}"])) < within


def rate(*rows):
    """(worker, label, rating) each."""
    return calibrate(*zip(*rows, strict=True))


E, N, C = "entailment", "neutral", "contradiction"


def test_a_worker_who_separates_cleanly_is_cut_in_the_middle_of_the_gap():
    found = rate(("ann", N, 60), ("ann", N, 70), ("ann", E, 90), ("ann", E, 95), ("ann", C, 5), ("ann", N, 20))["ann"]
    assert (found.entailment.value, found.contradiction.value) == (80.0, 12.5)
    assert (found.entailment.accuracy, found.entailment.ratings, found.entailment.ties) == (1.0, 4, 1)


def test_ones_own_ratings_outweigh_everybody_elses():
    crowd = [("ben", N, 60), ("ben", N, 70), ("ben", E, 80), ("ben", E, 90)] * 3
    mine = [("ann", N, 94), ("ann", E, 98)]
    found = rate(*crowd, *mine)
    assert (found["ann"].entailment.value, found["ben"].entailment.value) == (96.0, 75.0)


def test_the_rarer_class_counts_as_much_as_the_other():
    # Nine neutral, one entailment: leaving the one out would be right nine times in ten.
    found = rate(*[("ann", N, 60 + n) for n in range(9)], ("ann", E, 64.5))["ann"]
    assert found.entailment.value == pytest.approx(64.25)


def test_of_equally_good_cuts_the_one_nearest_to_everybodys_is_taken():
    crowd = [("ben", N, 88), ("ben", E, 92)]
    found = rate(*crowd, ("ann", E, 60), ("ann", N, 95), ("ann", E, 96), ("ann", N, 59))
    assert (found["ann"].entailment.ties, found["ben"].entailment.value) == (2, 90.0)
    assert found["ann"].entailment.value == 95.5


@pytest.mark.parametrize(
    ("rows", "contradiction", "entailment", "reason"),
    [
        ([("ann", E, 99), ("ann", E, 98)], 10.0, 90.0, ONE_CLASS),
        ([("ann", N, 60), ("ann", N, 40)], 10.0, 90.0, ONE_CLASS),
        ([("ann", E, 40), ("ann", C, 60)], 10.0, 90.0, ONE_CLASS),
    ],
)
def test_where_nothing_can_be_learnt_the_usual_thresholds_stand(rows, contradiction, entailment, reason):
    found = rate(*rows)["ann"]
    assert (found.contradiction.value, found.entailment.value) == (contradiction, entailment)
    assert (found.entailment.reason, found.entailment.accuracy) == (reason, None)


def test_a_worker_without_ratings_in_a_half_has_everybodys_threshold():
    found = rate(("ben", N, 60), ("ben", E, 80), ("ann", C, 3))["ann"]
    assert (found.entailment.value, found.entailment.reason, found.entailment.ratings) == (70.0, NO_RATINGS, 0)


def test_no_rating_at_all_is_no_worker_and_an_unknown_method_is_refused():
    assert calibrate([], [], []) == {}
    with pytest.raises(ValueError, match="exact, brent"):
        calibrate(["ann"], [E], [90.0], method="guess")


ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([E, N, C]), st.integers(0, 1000).map(Scale().rating)),
    min_size=1,
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_and_names_change_no_number(rows, rng: Random):
    found = rate(*rows)
    shuffled = list(rows)
    rng.shuffle(shuffled)
    renamed = rate(*[(f"x{worker}", label, value) for worker, label, value in shuffled])
    assert {f"x{name}": calibration for name, calibration in found.items()} == renamed


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["exact", "brent"]))
def test_contradiction_stays_below_the_middle_and_entailment_above(rows, method):
    for found in calibrate(*zip(*rows, strict=True), method=method).values():
        if method == "exact":
            assert 0 <= found.contradiction.value < 50 < found.entailment.value <= 100
        for threshold in (found.contradiction, found.entailment):
            assert threshold.accuracy is None or 0 <= threshold.accuracy <= 1 + 1e-9


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_the_two_halves_are_mirror_images(rows):
    other = {E: C, C: E, N: N}
    mirrored = rate(*[(worker, other[label], round(100 - value, 2)) for worker, label, value in rows])
    for name, found in rate(*rows).items():
        assert found.entailment.value == pytest.approx(100 - mirrored[name].contradiction.value)
