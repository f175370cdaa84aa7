"""What is true of agreement for whatever votes, and the krippendorff package as an oracle."""

from fractions import Fraction
from itertools import permutations

import krippendorff
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx

from annotation.protocols.base import Level
from validation.agreement import (
    alpha,
    alpha_of_moments,
    cohen_kappa,
    estimate,
    fleiss_kappa,
    leave_out,
    merge,
    percent_agreement,
)

unhurried = settings(deadline=None, max_examples=50)  # a busy machine is not a failure
measures = st.sampled_from(["percent_agreement", "fleiss_kappa", "krippendorff_alpha"])
levels = st.sampled_from(Level)


def histograms(categories=3):
    """A few distinct profiles with some items each, single votes and empty profiles among them."""
    return st.dictionaries(st.tuples(*[st.integers(0, 4)] * categories), st.integers(1, 20), min_size=1, max_size=10)


@st.composite
def equal_histograms(draw, raters=3, categories=3):
    """Every item has the same number of votes."""
    profiles = [
        tuple(cast.count(c) for c in range(categories))
        for cast in draw(st.lists(st.lists(st.integers(0, categories - 1), min_size=raters, max_size=raters)))
    ]
    return {profile: draw(st.integers(1, 20)) for profile in profiles}


def relabelled(histogram, order):
    return {tuple(profile[c] for c in order): items for profile, items in histogram.items()}


def close(value):
    """None, or about the same number."""
    return None if value is None else approx(value, abs=1e-9)


# Oracles


@unhurried
@given(st.lists(st.lists(st.sampled_from([0, 1, 2, 3, np.nan]), min_size=4, max_size=4), min_size=1), levels)
def test_alpha_is_that_of_the_krippendorff_package_whoever_cast_the_votes(units, level):
    rows = [[u.count(c) for c in range(4)] for u in units]
    histogram = merge(*({tuple(row): 1} for row in rows))
    value = alpha(histogram, level)
    assume(value is not None)
    peer = krippendorff.alpha(np.array(units).T, value_domain=range(4), level_of_measurement=level)
    assert value == approx(peer, abs=1e-9)


@unhurried
@given(histograms(), st.tuples(*[st.integers(-1000, 1000)] * 3))
def test_interval_alpha_with_values_is_that_of_the_krippendorff_package(histogram, values):
    value = alpha(histogram, Level.INTERVAL, values)
    assume(value is not None)
    counts = np.repeat(list(histogram), list(histogram.values()), axis=0)
    peer = krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement="interval")
    assert value == approx(peer, abs=1e-9)


@unhurried
@given(equal_histograms())
def test_fleiss_kappa_and_percent_agreement_are_their_formulas_in_exact_fractions(histogram):
    items, n = sum(histogram.values()), 3
    assume(items)
    observed = sum(w * Fraction(sum(c * c for c in p) - n, n * (n - 1)) for p, w in histogram.items()) / items
    shares = [Fraction(sum(w * p[c] for p, w in histogram.items()), items * n) for c in range(3)]
    chance = sum(share**2 for share in shares)
    assert percent_agreement(histogram) == approx(float(observed))
    assert fleiss_kappa(histogram) == close(None if chance == 1 else float((observed - chance) / (1 - chance)))


@unhurried
@given(st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=4, max_size=4))
def test_cohen_kappa_is_its_formula_in_exact_fractions(matrix):
    items = sum(map(sum, matrix))
    assume(items)
    observed = Fraction(sum(matrix[c][c] for c in range(4)), items)
    chance = sum(Fraction(sum(matrix[c]) * sum(row[c] for row in matrix), items**2) for c in range(4))
    assert cohen_kappa(matrix) == close(None if chance == 1 else float((observed - chance) / (1 - chance)))


@unhurried
@given(histograms(), st.tuples(*[st.integers(0, 100)] * 3))
def test_alpha_of_moments_is_interval_alpha(histogram, values):
    votes = np.repeat(list(histogram), list(histogram.values()), axis=0)
    numbers = np.array(values)
    moments = votes.sum(axis=1), votes @ numbers, votes @ numbers**2
    assert alpha_of_moments(*moments) == close(alpha(histogram, Level.INTERVAL, values))


# Invariances


@unhurried
@given(histograms(), st.sampled_from(list(permutations(range(3)))))
def test_names_of_categories_do_not_matter_to_nominal_measures(histogram, order):
    renamed = relabelled(histogram, order)
    assert percent_agreement(renamed) == close(percent_agreement(histogram))
    assert fleiss_kappa(renamed) == close(fleiss_kappa(histogram))
    assert alpha(renamed, Level.NOMINAL) == close(alpha(histogram, Level.NOMINAL))


@unhurried
@given(histograms(), levels)
def test_reading_a_scale_from_its_other_end_does_not_matter(histogram, level):
    assert alpha(relabelled(histogram, (2, 1, 0)), level) == close(alpha(histogram, level))


@unhurried
@given(histograms(), st.integers(1, 1000), st.integers(-1000, 1000))
def test_unit_and_zero_of_an_interval_scale_do_not_matter(histogram, unit, zero):
    values = [zero + unit * c for c in range(3)]
    assert alpha(histogram, Level.INTERVAL, values) == close(alpha(histogram, Level.INTERVAL))


@unhurried
@given(histograms(categories=2))
def test_the_level_does_not_matter_with_two_categories(histogram):
    nominal = alpha(histogram, Level.NOMINAL)
    assert [alpha(histogram, level) for level in Level] == [close(nominal)] * 3


@unhurried
@given(histograms(), st.integers(1, 50), measures, levels)
def test_items_without_a_pair_change_nothing_but_their_count(histogram, extra, measure, level):
    before = estimate(histogram, measure, level=level, replicates=50)
    after = estimate(merge(histogram, {(0, 1, 0): extra, (0, 0, 0): 1}), measure, level=level, replicates=50)
    assert after.as_dict() == before.as_dict() | {"left_out": before.left_out + extra + 1}


@unhurried
@given(histograms())
def test_a_category_nobody_used_does_not_matter(histogram):
    wider = {(*profile, 0): items for profile, items in histogram.items()}
    assert [alpha(wider, level) for level in Level] == [close(alpha(histogram, level)) for level in Level]
    assert fleiss_kappa(wider) == close(fleiss_kappa(histogram))
    assert leave_out(wider, [3]) == (histogram, 0)


# Adding and doubling


@unhurried
@given(histograms(), histograms(), histograms())
def test_merging_is_adding(a, b, c):
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == merge(a, b, c)
    assert sum(merge(a, b).values()) == sum(a.values()) + sum(b.values())


@unhurried
@given(histograms(), histograms())
def test_percent_agreement_of_merged_studies_is_their_weighted_mean(a, b):
    estimates = [estimate(h, "percent_agreement", replicates=1) for h in (a, b)]
    items = sum(e.items for e in estimates)
    assume(items)
    mean = sum(e.items * (e.value or 0) for e in estimates) / items
    assert percent_agreement(merge(a, b)) == approx(mean)


@unhurried
@given(histograms())
def test_every_item_twice_leaves_percent_agreement_and_fleiss_kappa(histogram):
    twice = merge(histogram, histogram)
    assert percent_agreement(twice) == close(percent_agreement(histogram))
    assert fleiss_kappa(twice) == close(fleiss_kappa(histogram))


@unhurried
@given(histograms(), levels)
def test_every_item_twice_moves_alpha_by_its_correction_for_small_samples_alone(histogram, level):
    once, twice = alpha(histogram, level), alpha(merge(histogram, histogram), level)
    assume(once is not None)
    votes = sum(sum(p) * items for p, items in histogram.items() if sum(p) >= 2)
    assert (1 - twice) / (2 * votes - 1) == approx((1 - once) / (2 * votes - 2), abs=1e-9)


@unhurried
@given(equal_histograms())
def test_nominal_alpha_is_fleiss_kappa_corrected_for_small_samples(histogram):
    kappa, votes = fleiss_kappa(histogram), 3 * sum(histogram.values())
    assume(kappa is not None)
    assert alpha(histogram, Level.NOMINAL) == approx(1 - (1 - kappa) * (votes - 1) / votes)


@unhurried
@given(histograms(), st.sets(st.integers(0, 2), max_size=2))
def test_leaving_out_loses_exactly_the_items_it_counts(histogram, categories):
    kept, gone = leave_out(histogram, categories)
    assert sum(kept.values()) + gone == sum(histogram.values())
    assert sum(sum(p) * i for p, i in kept.items()) == sum(
        sum(p) * i for p, i in histogram.items() if not any(p[c] for c in categories)
    )


# Bounds


@unhurried
@given(histograms(), measures, levels, st.integers(0, 2**32))
def test_estimates_stay_within_bounds_and_count_every_item(histogram, measure, level, seed):
    e = estimate(histogram, measure, level=level, replicates=50, seed=seed)
    assert e.items + e.left_out == sum(histogram.values())
    assert (e.low is None) == (e.high is None) == (e.reason != "")
    assert e.value is None or e.value <= 1
    assert e.low is None or e.low <= e.high <= 1


@unhurried
@given(histograms())
def test_percent_agreement_and_its_interval_lie_among_those_of_the_items(histogram):
    shares = [percent_agreement({p: 1}) for p in histogram if sum(p) >= 2]
    e = estimate(histogram, "percent_agreement", replicates=50)
    seen = [v for v in (e.low, e.value, e.high) if v is not None]
    assert all(min(shares) - 1e-12 <= v <= max(shares) + 1e-12 for v in seen)


@unhurried
@given(st.dictionaries(st.integers(0, 2), st.integers(1, 20), min_size=2), levels)
def test_unanimous_items_in_several_categories_agree_wholly(items, level):
    histogram = {tuple(3 * (c == category) for c in range(3)): n for category, n in items.items()}
    assert (percent_agreement(histogram), fleiss_kappa(histogram), alpha(histogram, level)) == (1, 1, 1)
