"""The slider of NOPE: 1,001 positions whose ratings lie denser towards both ends. Pure.

Source: NOPE, shared/js/utils.js and js/experiment.js (PROTOCOLS.md 2.4). All published ratings are on this grid.
"""

from decimal import ROUND_HALF_UP, Decimal
from functools import cache

STEPS = 1000  # positions 0 to STEPS
EXPONENT = 1.5
CENT = Decimal("0.01")


@cache
def rating(position: int) -> float:
    """0 to 100, rounded to two decimals, half up: r(v) = 100 / (1 + (1/v - 1)^1.5) with v = position / STEPS.

    Raises ValueError for a position that is none.
    """
    if not 0 <= position <= STEPS:
        raise ValueError(f"A position is a whole number from 0 to {STEPS}; it was {position!r}.")
    if position in (0, STEPS):
        return 100.0 * (position == STEPS)
    share = position / STEPS
    exact = 100 / (1 + (1 / share - 1) ** EXPONENT)
    return float(Decimal(repr(exact)).quantize(CENT, ROUND_HALF_UP))


@cache
def grid() -> dict[float, int]:
    """Every rating there is -> the lowest position that gives it; 999 of them, as the ends give two positions each."""
    return {rating(position): position for position in range(STEPS, -1, -1)}


def position_of(given: float) -> int:
    """The position whose rating this is. Raises ValueError for a rating off the grid."""
    try:
        return grid()[round(given, 2)] if abs(given - round(given, 2)) < 1e-9 else grid()[-1.0]
    except KeyError:
        raise ValueError(f"{given:g} is no rating of the slider; the nearest are {_around(given)}.") from None


def _around(given: float) -> str:
    ordered = sorted(grid(), key=lambda r: abs(r - given))[:2]
    return " and ".join(f"{r:g}" for r in sorted(ordered))


def nearest_position(given: float) -> int:
    """For a form without a slider: the position whose rating is nearest; of two, the lower."""
    return min(range(STEPS + 1), key=lambda position: (abs(rating(position) - given), position))
