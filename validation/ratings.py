"""Numbers of rating studies: means with intervals, pairwise comparison by sign, Cohen's kappa. Pure.

Intervals are 95% percentile bootstrap intervals over items: an item is drawn with all that was said about it. Items
that contribute the same are counted together, so that the cost does not grow with the items.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation.agreement import ALL_THE_SAME, MOSTLY_UNDEFINED, ONE_ITEM, Estimate, cohen_kappa

NOTHING = "There is nothing to count yet."
REPLICATES = 1000

Floats = NDArray[np.float64]
Scores = Mapping[str, float]  # output -> score: what one rater said about one item, on one criterion


def ratio(parts: Iterable[tuple[float, float]], *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """Sum of numerators over sum of denominators, with its interval over items; of a mean every denominator is 1.

    parts: (numerator, denominator) of each item; an item whose denominator is 0 says nothing and is left out.
    """
    table = np.array(list(parts), dtype=float).reshape(-1, 2)
    said = table[table[:, 1] != 0]
    items, left_out = len(said), len(table) - len(said)
    if not items:
        return Estimate(None, None, None, 0, left_out, NOTHING)
    distinct, counts = np.unique(said, axis=0, return_counts=True)  # sorted: the order of items cannot matter
    top, bottom = counts @ distinct
    value = float(top / bottom)
    if items == 1:
        return Estimate(value, None, None, 1, left_out, ONE_ITEM)
    draws = np.random.default_rng(seed).multinomial(items, counts / items, size=replicates)
    tops, bottoms = (draws @ distinct).T
    low, high = np.percentile(tops / bottoms, (2.5, 97.5))
    return Estimate(value, float(low), float(high), items, left_out, "")


def mean(values: Iterable[float], *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """One value per item."""
    return ratio([(value, 1.0) for value in values], replicates=replicates, seed=seed)


def equal_signs(first: Scores, second: Scores) -> tuple[int, int]:
    """Of all pairs of outputs that both rated: how many both put in the same order (<, =, >), and how many there are.

    Source: the decision of PROTOCOLS.md 1.7 for CREPE's "agreement on pairwise comparison" [6.3].
    """
    both = sorted(first.keys() & second.keys())
    pairs = list(combinations(both, 2))
    same = sum(_sign(first[a] - first[b]) == _sign(second[a] - second[b]) for a, b in pairs)
    return same, len(pairs)


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def pairwise_agreement(items: Iterable[Sequence[Scores]], *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """Share of pairs of outputs that two raters of an item put in the same order, 0 to 1; of more raters, every two.

    items: for each item what each rater said.
    """
    parts = []
    for raters in items:
        compared = [equal_signs(first, second) for first, second in combinations(raters, 2)]
        parts.append((sum(same for same, _ in compared), sum(pairs for _, pairs in compared)))
    return ratio(parts, replicates=replicates, seed=seed)


def means(items: Iterable[Sequence[Scores]], *, replicates: int = REPLICATES, seed: int = 0) -> dict[str, Estimate]:
    """Output -> mean over items of the raters' mean score, in the order in which outputs are first met."""
    values: dict[str, list[float]] = {}
    for raters in items:
        for output in dict.fromkeys(name for scores in raters for name in scores):
            given = [scores[output] for scores in raters if output in scores]
            values.setdefault(output, []).append(sum(given) / len(given))
    return {output: mean(given, replicates=replicates, seed=seed) for output, given in values.items()}


def matrix_of(pairs: Iterable[tuple[bool, bool]]) -> Floats:
    """How many items the first rating called yes or no (rows) and the second (columns), shape (2, 2)."""
    table = np.zeros((2, 2))
    for first, second in pairs:
        table[int(not first), int(not second)] += 1
    return table


def cohen(matrix: ArrayLike, *, replicates: int = REPLICATES, seed: int = 0) -> Estimate:
    """Cohen's kappa of the first and the second rating of each item, with its interval over items.

    matrix: as for `cohen_kappa`, shape (k, k).
    """
    table = np.asarray(matrix, dtype=float)
    items = int(table.sum())
    value = cohen_kappa(table) if items else None
    if value is None:
        return Estimate(None, None, None, items, 0, ALL_THE_SAME if items else NOTHING)
    if items == 1:
        return Estimate(value, None, None, 1, 0, ONE_ITEM)
    draws = np.random.default_rng(seed).multinomial(items, table.ravel() / items, size=replicates)
    found = [cohen_kappa(draw.reshape(table.shape)) for draw in draws]
    defined = [kappa for kappa in found if kappa is not None]
    if 2 * len(defined) < replicates:
        return Estimate(value, None, None, items, 0, MOSTLY_UNDEFINED)
    low, high = np.percentile(defined, (2.5, 97.5))
    return Estimate(value, float(low), float(high), items, 0, "")
