"""Sliders: 1,001 positions whose ratings lie denser towards both ends. Pure.

Source: NOPE, shared/js/utils.js and js/experiment.js (PROTOCOLS.md 2.4). All published ratings are on this grid.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

STEPS = 1000  # positions 0 to STEPS
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Scale:
    """A slider from 0 to 100. exponent: 1 makes it linear, more makes it finer towards the ends, where `low` and
    `high` are written.
    """

    low: str = "0"
    high: str = "100"
    unit: str = "%"
    exponent: float = 1.5

    def rating(self, position: int) -> float:
        """0 to 100, rounded to two decimals, half up: r(v) = 100 / (1 + (1/v - 1)^exponent) with v = position / STEPS.

        Raises ValueError for a position that is none.
        """
        if not 0 <= position <= STEPS:
            raise ValueError(f"A position is a whole number from 0 to {STEPS}; it was {position!r}.")
        return _ratings(self.exponent)[position]

    def position_of(self, given: float) -> int:
        """The lowest position with this rating. Raises ValueError for a rating off the grid."""
        position = _grid(self.exponent).get(round(given, 2)) if abs(given - round(given, 2)) < 1e-9 else None
        if position is None:
            nearest = sorted(sorted(_grid(self.exponent), key=lambda r: abs(r - given))[:2])
            raise ValueError(
                f"{given:g} is no rating of the slider; the nearest are {nearest[0]:g} and {nearest[1]:g}."
            )
        return position

    def nearest_position(self, given: float) -> int:
        """For a form without a slider: the position whose rating is nearest; of two, the lower."""
        ratings = _ratings(self.exponent)
        return min(range(STEPS + 1), key=lambda position: (abs(ratings[position] - given), position))

    def read(self, position: str, typed: str) -> int | str | None:
        """What a form sent: the position, or the nearest one to a rating that was typed where there is no slider.

        None for nothing; a text that is neither comes back as it was.
        """
        if typed := typed.strip():
            try:
                number = float(typed.removesuffix("%").replace(",", "."))
            except ValueError:
                return typed
            return self.nearest_position(number) if 0 <= number <= 100 else typed
        position = position.strip()
        is_number = position.isascii() and position.isdecimal() and len(position) < 6
        return int(position) if is_number else position or None

    def grid(self) -> dict[float, int]:
        """Every rating there is -> the lowest position that gives it."""
        return dict(_grid(self.exponent))


@cache
def _ratings(exponent: float) -> tuple[float, ...]:
    inner = (100 / (1 + (1 / (position / STEPS) - 1) ** exponent) for position in range(1, STEPS))
    rounded = (float(Decimal(repr(exact)).quantize(CENT, ROUND_HALF_UP)) for exact in inner)
    return (0.0, *rounded, 100.0)


@cache
def _grid(exponent: float) -> dict[float, int]:
    ratings = _ratings(exponent)
    return {ratings[position]: position for position in range(STEPS, -1, -1)}
