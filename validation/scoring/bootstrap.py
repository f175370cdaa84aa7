"""A score and its percentile bootstrap interval over items."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]  # how often each kind of item is there, (weightings, kinds) -> (weightings,)

CELLS = 4_000_000  # of one block of resamples


@dataclass(frozen=True)
class Estimate:
    """A score with its 95% interval; None where nothing can be scored, as in most of the resamples."""

    value: float | None
    low: float | None
    high: float | None

    def as_dict(self) -> dict[str, float | None]:
        return {name: None if value is None else round(value, 6) for name, value in asdict(self).items()}


def kinds_of(rows: NDArray[np.generic]) -> tuple[NDArray[np.generic], Floats]:
    """Distinct rows in order, and how many items have each: drawing items is drawing how many there are of each kind.

    rows: what the score needs of each item, shape (items, columns). So the order of items cannot matter.
    """
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    return kinds, counts.astype(float)


def estimate(counts: Floats, score: Score, *, resamples: int, seed: int) -> Estimate:
    """counts: items of each kind, shape (kinds,); their sum is not 0. score: nan where a weighting has none."""
    value = float(score(counts[np.newaxis])[0])
    if np.isnan(value):
        return Estimate(None, None, None)
    items, rng = int(counts.sum()), np.random.default_rng(seed)
    block = max(1, CELLS // len(counts))
    drawn = [
        score(rng.multinomial(items, counts / items, size=min(block, resamples - start)).astype(float))
        for start in range(0, resamples, block)
    ]
    values = np.concatenate(drawn)
    defined = values[~np.isnan(values)]
    if 2 * len(defined) < resamples:
        return Estimate(value, None, None)
    low, high = np.percentile(defined, (2.5, 97.5))
    return Estimate(value, float(low), float(high))
