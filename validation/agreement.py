"""How far people who judged the same items agree, beyond chance: pure functions of vote profiles.

Percent agreement, Fleiss' kappa, Krippendorff's alpha and Cohen's kappa, with bootstrap intervals. All kappas and
alphas are 1 - T D, where D is observed over expected disagreement per vote; they differ in what counts as disagreement
and in T, so they share one implementation, over many weightings of the profiles at once: the point is the weighting
by the real numbers of items, each bootstrap replicate another.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotation.protocols.base import Level

Profile = tuple[int, ...]  # votes per category of one item, in the protocol's category order
Histogram = Mapping[Profile, int]  # profile -> number of items

Floats = NDArray[np.float64]
Statistic = Callable[[Floats, Floats], Floats]  # items (weightings, profiles), votes (profiles, categories) -> values

NO_PAIRS = "No item has two votes, so there is nothing to compare yet."
ALL_THE_SAME = "Every vote is the same, so agreement by chance is 1 and the measure is undefined."
NOT_IN_NUMBERS = "Ratings in numbers are hardly ever equal; the interval alpha says how far they agree."
ONE_ITEM = "There is no interval: one item cannot be resampled."
MOSTLY_UNDEFINED = "There is no interval: in most resamples every vote is the same."


@dataclass(frozen=True)
class Estimate:
    """A measure with its 95% interval.

    items: how many items it compares. left_out: how many it cannot (too few votes or, for Fleiss, another number).
    reason: a sentence saying why there is no value, or no interval; "" when both are there.
    """

    value: float | None
    low: float | None
    high: float | None
    items: int
    left_out: int
    reason: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def percent_agreement(histogram: Histogram) -> float | None:
    """Share of an item's pairs of votes that are equal, averaged over items, 0 to 1; None without a pair."""
    return _point(_agreement, _pairable(histogram))


def fleiss_kappa(histogram: Histogram) -> float | None:
    """Fleiss' kappa, at most 1, over the items with the most common number of votes (of equally common, the larger).

    Returns None without a pair, or when every vote is in one category (0/0).
    Source: Fleiss 1971, "Measuring nominal scale agreement among many raters".
    """
    return _point(_kappa, _equally_rated(histogram))


def alpha(histogram: Histogram, level: Level, values: Sequence[float] | None = None) -> float | None:
    """Krippendorff's alpha, at most 1. Items with fewer than two votes carry no pairs and are skipped.

    values: for the interval level, the number each category stands for; 0, 1, 2, ... unless given.
    Returns None without a pair, or when every pairable vote is the same (0/0).
    Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", sections C and D.
    """
    return _point(partial(_alpha, level=level, values=values), _pairable(histogram))


def alpha_of_moments(n: ArrayLike, sums: ArrayLike, squares: ArrayLike) -> float | None:
    """Krippendorff's interval alpha of ratings known by each item's count, sum and sum of squares, shape (items,).

    None as for `alpha`. Disagreement is split into within and between items, so that large ratings and many items
    lose no digits to a difference of two huge sums.
    """
    moments = np.array([n, sums, squares], dtype=float)
    counts, totals, squared = moments[:, moments[0] >= 2]
    if not counts.size:
        return None
    means, ratings = totals / counts, counts.sum()
    mean = totals.sum() / ratings
    within = _without_noise(squared - totals * means, squared)
    between = counts * _without_noise(np.abs(means - mean), np.abs(mean)) ** 2
    expected = (within + between).sum()
    observed = (within * counts / (counts - 1)).sum()
    return float(1 - (ratings - 1) / ratings * observed / expected) if expected else None


def estimate_of_moments(
    moments: ArrayLike, *, of: Sequence[int] | None = None, replicates: int = 1000, seed: int = 0
) -> Estimate:
    """Krippendorff's interval alpha of ratings, with its percentile bootstrap interval over items.

    moments: count, sum and sum of squares of the ratings of each thing rated, shape (things, 3). of: the number of the
    item each belongs to, where an item holds several: then items are drawn whole. Of many items fewer replicates are
    drawn, at least 200: their interval is the steadier. Row order cannot matter.
    """
    table = np.asarray(moments, dtype=float).reshape(-1, 3)
    order = np.lexsort(table.T)
    table, groups = table[order], np.arange(len(table)) if of is None else np.asarray(of, dtype=int)[order]
    is_compared = table[:, 0] >= 2
    compared, members = table[is_compared], np.unique(groups[is_compared], return_inverse=True)[1]
    items = len(np.unique(members))
    left_out = len(np.unique(groups)) - items
    value = alpha_of_moments(*compared.T) if items else None
    if value is None:
        return Estimate(None, None, None, items, left_out, ALL_THE_SAME if items else NO_PAIRS)
    if items == 1:
        return Estimate(value, None, None, 1, left_out, ONE_ITEM)
    counts, sums, squares = compared.T
    # Alpha of a resample needs four sums only, each linear in how often an item was drawn.
    middle = sums.sum() / counts.sum()
    shifted = sums - counts * middle
    around = squares - 2 * middle * sums + counts * middle**2  # squares about the middle: no digits are lost
    within = np.maximum(around - shifted**2 / counts, 0) * counts / (counts - 1)
    columns = np.stack([counts, shifted, around, within], axis=1)
    if items < len(columns):
        whole = np.zeros((items, 4))
        np.add.at(whole, members, columns)
        columns = whole[np.lexsort(whole.T)]
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(max(200, min(replicates, 20_000_000 // items))):
        times = np.bincount(rng.integers(0, items, items), minlength=items)
        drawn.append(times @ columns)
    n, total, square, observed = np.array(drawn).T
    expected = square - total**2 / n
    fine = expected > 1e-12 * square
    alphas = 1 - (n[fine] - 1) / n[fine] * observed[fine] / expected[fine]
    if 2 * len(alphas) < len(drawn):
        return Estimate(value, None, None, items, left_out, MOSTLY_UNDEFINED)
    low, high = np.percentile(alphas, (2.5, 97.5))
    return Estimate(value, float(low), float(high), items, left_out, "")


def cohen_kappa(matrix: ArrayLike) -> float | None:
    """Cohen's kappa of two fixed raters; None without items, or when both only ever use the same one category.

    matrix: shape (k, k), how many items the first rater put in the row's category and the second in the column's.
    """
    table = np.asarray(matrix, dtype=float)
    apart = 1 - np.eye(len(table))
    expected = (np.outer(table.sum(axis=1), table.sum(axis=0)) * apart).sum()
    observed = (table * apart).sum()
    return float(1 - table.sum() * observed / expected) if expected else None


def estimate(
    histogram: Histogram,
    measure: str,
    *,
    level: Level = Level.NOMINAL,
    values: Sequence[float] | None = None,
    replicates: int = 1000,
    seed: int = 0,
) -> Estimate:
    """A measure ("percent_agreement", "fleiss_kappa" or "krippendorff_alpha") and its percentile bootstrap interval.

    Drawing items anew is drawing how many items have each profile, so the cost does not grow with the items. `level`
    and `values` are alpha's. The same histogram and seed give the same interval. Raises ValueError for another measure.
    """
    statistic, compared = _plan(histogram, measure, level, values)
    items = sum(compared.values())
    left_out = sum(histogram.values()) - items
    value = _point(statistic, compared)
    if value is None:
        return Estimate(None, None, None, items, left_out, ALL_THE_SAME if items else NO_PAIRS)
    if items == 1:
        return Estimate(value, None, None, items, left_out, ONE_ITEM)
    interval = _interval(statistic, compared, replicates, seed)
    if interval is None:
        return Estimate(value, None, None, items, left_out, MOSTLY_UNDEFINED)
    return Estimate(value, *interval, items, left_out, "")


def leave_out(histogram: Histogram, categories: Collection[int]) -> tuple[Histogram, int]:
    """Drop every item with a vote in one of `categories` (indices); the rest loses those columns, which are empty.

    Returns the smaller histogram and how many items went.
    """
    kept = {p: items for p, items in histogram.items() if not any(p[c] for c in categories)}
    narrowed = {tuple(n for c, n in enumerate(p) if c not in categories): items for p, items in kept.items()}
    return narrowed, sum(histogram.values()) - sum(kept.values())


def merge(*histograms: Histogram) -> Histogram:
    """The histogram of all their items together."""
    merged: Counter[Profile] = Counter()
    for histogram in histograms:
        merged.update(histogram)
    return dict(merged)


def _plan(
    histogram: Histogram, measure: str, level: Level, values: Sequence[float] | None
) -> tuple[Statistic, Histogram]:
    """What to compute, and over which items."""
    match measure:
        case "percent_agreement":
            return _agreement, _pairable(histogram)
        case "fleiss_kappa":
            return _kappa, _equally_rated(histogram)
        case "krippendorff_alpha":
            return partial(_alpha, level=level, values=values), _pairable(histogram)
    raise ValueError(f"There is no measure {measure!r}.")


def _pairable(histogram: Histogram) -> Histogram:
    return {profile: items for profile, items in histogram.items() if sum(profile) >= 2 and items}


def _equally_rated(histogram: Histogram) -> Histogram:
    pairable = _pairable(histogram)
    items_with: Counter[int] = Counter()
    for profile, items in pairable.items():
        items_with[sum(profile)] += items
    usual = max(items_with, key=lambda votes: (items_with[votes], votes), default=0)
    return {profile: items for profile, items in pairable.items() if sum(profile) == usual}


def _arrays(histogram: Histogram) -> tuple[NDArray[np.int64], Floats]:
    """Items, shape (profiles,), and votes, shape (profiles, categories); sorted, so that row order cannot matter."""
    profiles = sorted(histogram)
    return np.array([histogram[p] for p in profiles], dtype=np.int64), np.array(profiles, dtype=float)


def _point(statistic: Statistic, compared: Histogram) -> float | None:
    if not compared:
        return None
    items, votes = _arrays(compared)
    value = float(statistic(items[np.newaxis].astype(float), votes)[0])
    return None if np.isnan(value) else value


def _interval(statistic: Statistic, compared: Histogram, replicates: int, seed: int) -> tuple[float, float] | None:
    """2.5% and 97.5% points over the replicates that are defined, or None when most are not."""
    items, votes = _arrays(compared)
    draws = np.random.default_rng(seed).multinomial(items.sum(), items / items.sum(), size=replicates)
    values = statistic(draws.astype(float), votes)
    defined = values[~np.isnan(values)]
    if 2 * len(defined) < replicates:
        return None
    low, high = np.percentile(defined, (2.5, 97.5))
    return float(low), float(high)


def _agreement(items: Floats, votes: Floats) -> Floats:
    n = votes.sum(axis=1)
    agreeing = (votes * (votes - 1)).sum(axis=1) / (n * (n - 1))
    return items @ agreeing / items.sum(axis=1)


def _kappa(items: Floats, votes: Floats) -> Floats:
    """Chance draws two votes with replacement; compare `_alpha`."""
    return 1 - items @ votes.sum(axis=1) * _disagreement(items, votes, Level.NOMINAL, None)


def _alpha(items: Floats, votes: Floats, level: Level, values: Sequence[float] | None) -> Floats:
    """Chance draws two votes without replacement; compare `_kappa`."""
    return 1 - (items @ votes.sum(axis=1) - 1) * _disagreement(items, votes, level, values)


def _disagreement(items: Floats, votes: Floats, level: Level, values: Sequence[float] | None) -> Floats:
    """Observed over expected disagreement, sum(o d) / sum(n n d), shape (weightings,); nan where nothing could differ.

    Every term is at least 0, and exactly 0 for equal votes, so neither sum cancels and the test for 0 is exact.
    """
    rows, k = votes.shape
    pairs = votes[:, :, np.newaxis] * votes[:, np.newaxis, :]  # its diagonal has distance 0, so it may be too large
    pairs /= votes.sum(axis=1)[:, np.newaxis, np.newaxis] - 1
    coincidences = (items @ pairs.reshape(rows, k * k)).reshape(-1, k, k)
    totals = items @ votes
    distances = _distances(totals, level, values)
    observed = (coincidences * distances).sum(axis=(1, 2))
    expected = (totals[:, :, np.newaxis] * totals[:, np.newaxis, :] * distances).sum(axis=(1, 2))
    return np.divide(observed, expected, out=np.full_like(expected, np.nan), where=expected > 0)


def _distances(totals: Floats, level: Level, values: Sequence[float] | None) -> Floats:
    """Krippendorff's squared differences between categories, shape (weightings or 1, k, k).

    The ordinal one is the interval one on mid-ranks: his sum from c to k less half of both ends is their difference.
    """
    k = totals.shape[1]
    if level == Level.NOMINAL:
        return 1 - np.eye(k)[np.newaxis]
    if level == Level.ORDINAL:
        positions = totals.cumsum(axis=1) - totals / 2
    else:
        positions = np.asarray(range(k) if values is None else values, dtype=float).reshape(1, k)
    return (positions[:, :, np.newaxis] - positions[:, np.newaxis, :]) ** 2


def _without_noise(sizes: Floats, scale: Floats) -> Floats:
    """0 in place of what rounding left of equal ratings: a millionth of a millionth of `scale`, or less."""
    return np.where(sizes > 1e-12 * scale, sizes, 0.0)
