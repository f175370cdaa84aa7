"""Means, pairwise comparison by sign, Cohen's kappa: a hand-worked set, and what is true of any."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from validation.agreement import ALL_THE_SAME, ONE_ITEM
from validation.ratings import NOTHING, cohen, equal_signs, matrix_of, mean, means, pairwise_agreement, ratio

unhurried = settings(deadline=None, max_examples=50)

# Two items, three systems, two raters, on one criterion. By hand:
#   means: ref ((3+3)/2 + (3+1)/2)/2 = 2.5; x ((1+3)/2 + (0+0)/2)/2 = 1; y ((1+0)/2 + (1+1)/2)/2 = 0.75
#   signs, item 1: ref-x > and =, ref-y > and >, x-y = and >: 1 of 3; item 2: > and >, > and =, < and <: 2 of 3
ITEMS = [
    [{"ref": 3, "x": 1, "y": 1}, {"ref": 3, "x": 3, "y": 0}],
    [{"ref": 3, "x": 0, "y": 1}, {"ref": 1, "x": 0, "y": 1}],
]


def values(found):
    return {name: estimate.value for name, estimate in found.items()}


def test_means_are_those_worked_by_hand():
    assert values(means(ITEMS)) == {"ref": 2.5, "x": 1.0, "y": 0.75}
    assert [e.items for e in means(ITEMS).values()] == [2, 2, 2]


def test_agreement_by_sign_is_the_share_worked_by_hand():
    found = pairwise_agreement(ITEMS)
    assert (found.value, found.items, found.left_out) == (0.5, 2, 0)
    assert (found.low, found.high) == (approx(1 / 3), approx(2 / 3))


@pytest.mark.parametrize(
    ("first", "second", "comes_to"),
    [
        ({"a": 0, "b": 3}, {"a": 0, "b": 1}, (1, 1)),
        ({"a": 0, "b": 3}, {"a": 3, "b": 0}, (0, 1)),
        ({"a": 1, "b": 1}, {"a": 3, "b": 3}, (1, 1)),
        ({"a": 1, "b": 1}, {"a": 3, "b": 0}, (0, 1)),
        ({"a": 1, "b": 2, "c": 3}, {"a": 0, "b": 3, "c": 3}, (2, 3)),
        ({"a": 1, "b": 2, "c": 3}, {"a": 0, "b": 3}, (1, 1)),
        ({"a": 1}, {"a": 1}, (0, 0)),
    ],
)
def test_signs_are_compared_for_every_pair_that_both_rated(first, second, comes_to):
    assert equal_signs(first, second) == comes_to


def test_three_raters_are_compared_two_by_two():
    one, other = {"a": 0, "b": 1}, {"a": 1, "b": 0}
    assert pairwise_agreement([[one, one, other]]).value == approx(1 / 3)


def test_an_item_with_one_rater_says_nothing_about_agreement():
    found = pairwise_agreement([*ITEMS, [{"ref": 3, "x": 1}]])
    assert (found.value, found.items, found.left_out) == (0.5, 2, 1)


def test_why_there_is_no_value_or_no_interval_is_said():
    assert (mean([]).value, mean([]).reason) == (None, NOTHING)
    assert (mean([3]).value, mean([3]).low, mean([3]).reason) == (3, None, ONE_ITEM)
    assert (cohen(matrix_of([])).value, cohen(matrix_of([])).reason) == (None, NOTHING)
    same = cohen(matrix_of([(True, True)] * 5))
    assert (same.value, same.reason) == (None, ALL_THE_SAME)


def test_cohens_kappa_of_a_textbook_table():
    """20 both yes, 15 both no, 5 and 10 differ: po = 0.7, pe = 0.5, so 0.4."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = cohen(matrix_of(pairs))
    assert found.value == approx(0.4)
    assert -1 <= found.low < 0.4 < found.high <= 1


# --- What is true of any ratings ------------------------------------------------------------------

NAMES = ("a", "b", "c")
rater = st.fixed_dictionaries({name: st.sampled_from([0, 1, 2, 3]) for name in NAMES})
collections = st.lists(st.tuples(rater, rater).map(list), min_size=1, max_size=12)


def numbers(items):
    """Means and agreement, each with its interval."""
    agreed, found = pairwise_agreement(items, replicates=50), means(items, replicates=50)
    return {n: (e.value, e.low, e.high) for n, e in found.items()}, (agreed.value, agreed.low, agreed.high)


@unhurried
@given(collections, st.randoms())
def test_the_order_of_items_and_raters_changes_nothing(items, rng):
    shuffled = [list(reversed(raters)) for raters in items]
    rng.shuffle(shuffled)
    first, second = numbers(items), numbers(shuffled)
    assert second[1] == first[1]
    assert {n: second[0][n] for n in NAMES} == first[0]


@unhurried
@given(collections)
def test_renaming_systems_renames_means_and_leaves_agreement(items):
    renamed = [[{f"new {n}": s for n, s in scores.items()} for scores in raters] for raters in items]
    first, second = numbers(items), numbers(renamed)
    assert second == ({f"new {n}": e for n, e in first[0].items()}, first[1])


@unhurried
@given(collections, collections)
def test_two_parts_together_are_the_mean_of_both_by_their_items(one, other):
    whole = means(one + other)
    for name in NAMES:
        parts = [(means(part)[name].value, len(part)) for part in (one, other)]
        assert whole[name].value == approx(sum(v * n for v, n in parts) / sum(n for _, n in parts))
    agreed = [(pairwise_agreement(part).value, len(part)) for part in (one, other)]
    assert pairwise_agreement(one + other).value == approx(sum(v * n for v, n in agreed) / sum(n for _, n in agreed))


@unhurried
@given(collections)
def test_turning_the_scale_over_leaves_agreement_and_turns_means(items):
    turned = [[{n: 3 - s for n, s in scores.items()} for scores in raters] for raters in items]
    assert pairwise_agreement(turned).value == pairwise_agreement(items).value
    assert values(means(turned)) == approx({n: 3 - v for n, v in values(means(items)).items()})


@unhurried
@given(collections)
def test_raters_who_say_the_same_agree_on_every_pair(items):
    assert pairwise_agreement([[raters[0], raters[0]] for raters in items]).value == 1


@unhurried
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=20))
def test_a_ratio_lies_in_its_interval(parts):
    found = ratio([(min(p), max(p)) for p in parts])
    if found.low is not None:
        assert 0 <= found.low <= found.value + 1e-9
        assert found.value <= found.high + 1e-9 <= 1 + 1e-6
