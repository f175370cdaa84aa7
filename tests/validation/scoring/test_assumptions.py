import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.scoring.assumptions import SIDES, Answered, parse, score


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Yes", "yes"),
        ("yes, it does", "yes"),
        (" \nNO.", "no"),
        ("Maybe yes", "other"),
        ("", "other"),
        ("It does not", "other"),
        ("Y", "other"),
    ],
)
def test_an_answer_is_read_by_how_it_starts(answer, found):
    assert parse(answer) == found


def pair(unit, kind, without, with_):
    return [Answered(unit, kind, side, answer) for side, answer in zip(SIDES, (without, with_), strict=True)]


def test_accuracy_by_kind_and_side_and_the_share_of_other_answers():
    answered = [
        *pair("a", "single_hop", "No", "Yes"),
        *pair("b", "single_hop", "No", "No"),
        *pair("c", "multi_hop", "Perhaps", "Yes."),
    ]
    scored = score(answered, resamples=400)
    assert scored["accuracy"]["value"] == 0.666667
    assert {name: (found["value"], found["other"], found["n"]) for name, found in scored["by_kind"].items()} == {
        "multi_hop": (0.5, 0.5, 2),
        "single_hop": (0.75, 0.0, 4),
        "with": (0.666667, 0.0, 3),
        "without": (0.666667, 0.333333, 3),
    }
    assert (scored["other"], scored["n"]) == (0.166667, 6)


@pytest.mark.parametrize(("answer", "accuracy", "other"), [("Yes", 0.5, 0.0), ("No", 0.5, 0.0), ("Hm", 0.0, 1.0)])
def test_one_answer_to_everything_is_half_right_and_surely_so_as_pairs_stay_together(answer, accuracy, other):
    answered = [each for n in range(50) for each in pair(f"p{n}", "single_hop", answer, answer)]
    scored = score(answered, resamples=100)
    assert scored["accuracy"] == {"value": accuracy, "low": accuracy, "high": accuracy}
    assert scored["other"] == other


answers = st.sampled_from(["Yes", "no", "Hm"])
pairs = st.lists(st.tuples(st.sampled_from(["single_hop", "multi_hop", ""]), answers, answers), min_size=1, max_size=12)


@given(pairs, st.randoms(use_true_random=False))
def test_order_and_ids_do_not_matter(pairs, rng):
    one = [each for n, given in enumerate(pairs) for each in pair(f"p{n}", *given)]
    other = [each for n, given in enumerate(pairs) for each in pair(f"other {n}", *given)]
    assert score(one, resamples=20) == score(rng.sample(other, len(other)), resamples=20)


@given(pairs, pairs)
def test_right_answers_of_two_parts_add_up(one, other):
    def right(pairs):
        scored = score([each for n, given in enumerate(pairs) for each in pair(f"p{n}", *given)], resamples=2)
        return scored["accuracy"]["value"] * scored["n"], scored["other"] * scored["n"]

    assert right(one + other) == pytest.approx([a + b for a, b in zip(right(one), right(other), strict=True)], abs=1e-3)
