"""The slider's scale (PROTOCOLS.md 2.4), at all of its positions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols.slider import STEPS, Scale

SCALE = Scale()
rating, position_of, nearest_position = SCALE.rating, SCALE.position_of, SCALE.nearest_position


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (0, 0.0),
        (1, 0.0),
        (10, 0.10),
        (50, 1.19),
        (100, 3.57),
        (250, 16.14),
        (400, 35.25),
        (500, 50.0),
        (600, 64.75),
        (750, 83.86),
        (900, 96.43),
        (950, 98.81),
        (990, 99.90),
        (999, 100.0),
        (1000, 100.0),
    ],
)
def test_the_published_examples(position, expected):
    assert rating(position) == expected


def test_all_positions_rise_and_mirror_each_other():
    ratings = [rating(position) for position in range(STEPS + 1)]
    assert ratings == sorted(ratings)
    assert all(round(a + b, 2) == 100 for a, b in zip(ratings, reversed(ratings), strict=True))
    assert (len(ratings), len(set(ratings)), len(SCALE.grid())) == (1001, 999, 999)


@given(st.integers(0, STEPS))
def test_a_rating_leads_back_to_a_position_that_gives_it(position):
    assert rating(position_of(rating(position))) == rating(position)
    assert rating(nearest_position(rating(position))) == rating(position)


@pytest.mark.parametrize("given", [-0.01, 100.01, 98.12, 50.004, float("nan"), float("inf")])
def test_a_rating_off_the_grid_is_refused_with_its_neighbours(given):
    with pytest.raises(ValueError, match="is no rating of the slider"):
        position_of(given)


@pytest.mark.parametrize("position", [-1, 1001])
def test_what_is_no_position_has_no_rating(position):
    with pytest.raises(ValueError, match="from 0 to 1000"):
        rating(position)


def test_the_scale_is_a_parameter():
    assert [Scale(exponent=1).rating(position) for position in (0, 1, 250, 500, 1000)] == [0, 0.1, 25, 50, 100]
    assert Scale(exponent=3).rating(900) > rating(900)
