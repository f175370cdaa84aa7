"""Small statistics of counts, each with its uncertainty: pure functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

Z = 1.959964  # two-sided 95%


def wilson(count: int, total: int) -> tuple[float, float]:
    """95% interval of a share, 0 to 1; total is at least 1. Source: Wilson 1927."""
    share, z2 = count / total, Z * Z
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z * sqrt(share * (1 - share) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Spread:
    """Of n values: the median with its 95% interval, and the quartiles."""

    n: int
    median: float
    low: float
    high: float
    lower_quartile: float
    upper_quartile: float

    @property
    def minutes(self) -> str:
        """Of seconds: the median with its interval, to a tenth; below one minute to a hundredth."""
        digits = 1 if self.median >= 60 else 2
        return f"{self.median / 60:.{digits}f} ({self.low / 60:.{digits}f} to {self.high / 60:.{digits}f})"


def spread(values: Mapping[int, int]) -> Spread | None:
    """values: value -> how often it occurs; None without any.

    The interval is the one by ranks, n/2 -+ 0.98 sqrt(n), which supposes no shape of the distribution; with fewer
    than six values it is the whole range, which covers less than 95%. Source: Conover 1999, section 3.2.
    """
    n = sum(values.values())
    if not n:
        return None
    ordered = sorted(values.items())
    half = Z * sqrt(n) / 2

    def at(rank: float) -> float:
        """The value at a rank from 1, between two ranks in proportion."""
        below = int(rank)
        lower, upper = _value_at(ordered, below), _value_at(ordered, min(below + 1, n))
        return lower + (rank - below) * (upper - lower)

    return Spread(
        n=n,
        median=at((n + 1) / 2),
        low=_value_at(ordered, max(1, int(n / 2 - half))),
        high=_value_at(ordered, min(n, int(n / 2 + half) + 2)),
        lower_quartile=at(0.25 * (n - 1) + 1),
        upper_quartile=at(0.75 * (n - 1) + 1),
    )


def _value_at(ordered: list[tuple[int, int]], rank: int) -> int:
    """The rank-th smallest of all values, from 1."""
    seen = 0
    for value, count in ordered:
        seen += count
        if seen >= rank:
            return value
    return ordered[-1][0]
