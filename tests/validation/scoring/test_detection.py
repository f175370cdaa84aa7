import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.scoring.detection import LABELS, confusion, f1, score

FP, N = LABELS
TEST = [FP] * 751 + [N] * 2253  # CREPE's test set: PROTOCOLS.md 1.8


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        ([[1, 0], [0, 1]], (1, 1)),
        ([[0, 1], [1, 0]], (0, 0)),
        ([[0, 5], [0, 5]], (0, 10 / 15)),
        ([[3, 1], [2, 4]], (6 / 9, 8 / 11)),
        ([[0, 0], [0, 4]], (0, 1)),  # nothing false in gold or prediction: 0, as PROTOCOLS.md 1.7 has it
        ([[0, 3], [2, 0]], (0, 0)),  # where the published script divides by zero
    ],
)
def test_f1_of_each_label_by_hand(counts, scores):
    assert f1(np.array(counts, dtype=float)).tolist() == pytest.approx(list(scores))


@pytest.mark.parametrize(
    ("predicted", "macro_f1"),
    [
        (TEST, 1.0),  # the published script says 0.5
        ([FP] * 3004, 0.2),  # 20.0 in points
        ([N] * 3004, 0.428571),  # 42.9
        ([N if label == FP else FP for label in TEST], 0.0),
    ],
)
def test_macro_f1_on_the_proportions_of_crepes_test_set(predicted, macro_f1):
    scored = score(TEST, predicted, resamples=200)
    found = scored["macro_f1"]
    assert found["value"] == macro_f1
    assert found["low"] <= macro_f1 <= found["high"]
    assert scored["n"] == 3004
    if macro_f1 in (0.0, 1.0):
        assert found["low"] == found["high"]
    else:
        assert 0.005 < found["high"] - found["low"] < 0.03


def test_what_is_said_of_each_label():
    scored = score([FP, FP, N, N, N], [FP, N, N, N, N], resamples=50)
    assert {
        name: (each["f1"], each["precision"], each["recall"], each["n"]) for name, each in scored["per_class"].items()
    } == {
        FP: (0.666667, 1.0, 0.5, 2),
        N: (0.857143, 0.75, 1.0, 3),
    }
    assert score([FP], [FP], resamples=5)["per_class"][N] == {
        "precision": None,
        "recall": None,
        "n": 0,
        "f1": 0.0,
        "low": 0.0,
        "high": 0.0,
    }


items = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30)


@given(items, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(items, rng):
    shuffled = rng.sample(items, len(items))
    assert score(*zip(*items, strict=True), resamples=20) == score(*zip(*shuffled, strict=True), resamples=20)


@given(items, items)
def test_counts_of_two_parts_add_up_to_those_of_the_whole(one, other):
    whole = confusion(*zip(*one, *other, strict=True))
    assert (whole == confusion(*zip(*one, strict=True)) + confusion(*zip(*other, strict=True))).all()


@given(items)
def test_swapping_the_labels_swaps_their_scores(items):
    swap = dict(zip(LABELS, LABELS[::-1], strict=True))
    one, other = (
        score(*zip(*rows, strict=True), resamples=5) for rows in (items, [(swap[g], swap[p]) for g, p in items])
    )
    assert one["macro_f1"]["value"] == pytest.approx(other["macro_f1"]["value"])
    assert one["per_class"][FP]["f1"] == other["per_class"][N]["f1"]


@given(items)
def test_the_score_is_the_usual_one(items):
    for place, name in enumerate(LABELS):
        right = sum(g == p == name for g, p in items)
        said, true = sum(p == name for _, p in items), sum(g == name for g, _ in items)
        precision, recall = right / said if said else 0, right / true if true else 0
        usual = 2 * precision * recall / (precision + recall) if right else 0
        assert f1(confusion(*zip(*items, strict=True)))[place] == pytest.approx(usual)
