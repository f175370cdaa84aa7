import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.scoring import bootstrap
from validation.scoring.bootstrap import Estimate, estimate, kinds_of


def mean_of(values):
    return lambda drawn: drawn @ values / drawn.sum(axis=1)


def test_the_interval_of_a_share_is_the_binomial_one():
    found = estimate(np.array([50.0, 50.0]), mean_of(np.array([0.0, 1.0])), resamples=4000, seed=1)
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.40, 0.60), abs=0.011)  # 0.5 -+ 1.96 * 0.05


def test_a_score_without_a_value_has_no_interval_and_one_mostly_without_neither():
    def only_second(drawn):
        return np.where(drawn[:, 1] > 0, 1.0, np.nan)

    assert estimate(np.array([3.0, 0.0]), only_second, resamples=9, seed=1) == Estimate(None, None, None)
    assert estimate(np.array([99.0, 0.1]), only_second, resamples=99, seed=1) == Estimate(1.0, None, None)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(0, 5))
def test_kinds_stand_for_their_items(values, seed):
    kinds, counts = kinds_of(np.array(values)[:, np.newaxis])
    assert sorted(np.repeat(kinds[:, 0], counts.astype(int)).tolist()) == sorted(values)
    found = estimate(counts, mean_of(kinds[:, 0]), resamples=30, seed=seed)
    assert found.value == pytest.approx(sum(values) / len(values))
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found == estimate(counts, mean_of(kinds[:, 0]), resamples=30, seed=seed)


def test_many_kinds_are_drawn_in_blocks_and_none_is_lost(monkeypatch):
    monkeypatch.setattr(bootstrap, "CELLS", 25)
    sizes = []

    def counted(drawn):
        sizes.append(len(drawn))
        return drawn[:, 0]

    estimate(np.ones(10), counted, resamples=7, seed=0)
    assert sizes == [1, 2, 2, 2, 1]
