"""Shares and medians with their uncertainty, against values worked by hand or by the standard library."""

from collections import Counter
from statistics import median, quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.summaries import Spread, spread, wilson


@pytest.mark.parametrize(
    ("count", "total", "interval"),
    [(26, 100, (0.1840, 0.3537)), (0, 10, (0.0, 0.2775)), (10, 10, (0.7225, 1.0)), (1, 1, (0.2065, 1.0))],
)
def test_a_share_has_wilsons_interval(count, total, interval):
    assert wilson(count, total) == pytest.approx(interval, abs=5e-5)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, None),
        ({7: 1}, Spread(1, 7, 7, 7, 7, 7)),
        ({1: 1, 2: 1}, Spread(2, 1.5, 1, 2, 1.25, 1.75)),
        # Ranks 50 - 9.8 and 51 + 9.8, outwards: 40 and 61.
        (dict.fromkeys(range(1, 101), 1), Spread(100, 50.5, 40, 61, 25.75, 75.25)),
    ],
)
def test_the_spread_of_counted_values(values, found):
    assert spread(values) == found


@given(st.lists(st.integers(0, 500), min_size=2, max_size=60))
def test_counted_values_have_the_median_and_quartiles_of_their_list(values):
    found = spread(Counter(values))
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    assert (found.median, found.lower_quartile, found.upper_quartile) == (median(values), lower, upper)
    assert found.low <= found.median <= found.high
