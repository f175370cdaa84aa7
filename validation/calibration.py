"""Where each worker draws the line between neutral and the two labels beside it, from their ratings of fillers. Pure.

One threshold separates entailment from neutral above 50, the other contradiction from neutral below it. Of all workers'
filler ratings the worker's own count UPWEIGHT times, and a rating of the outer class counts as much as there are more
neutral ones. The objective is a step function of the threshold, so its best cut is found exactly; `brent` finds what
the authors' optimiser found, which is a local optimum for most workers, and is there to reproduce their numbers.
Source: NOPE, App. E, and analysis/06_NLI_label_mapping.R (PROTOCOLS.md 2.8).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

UPWEIGHT = 50
DEFAULTS = (10.0, 90.0)  # contradiction, entailment, where nothing can be learnt
MIDDLE = 50.0
TOLERANCE = np.finfo(float).eps ** 0.25  # of R's optimize
METHODS = ("exact", "brent")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Threshold:
    """value: between MIDDLE and the end it belongs to. accuracy: weighted share of ratings mapped right, 0 to 1.

    ratings: the worker's own in this half. ties: cuts that are equally good. reason: why it is not the worker's own
    ("" where it is).
    """

    value: float
    accuracy: float | None
    ratings: int
    ties: int
    reason: str


@dataclass(frozen=True)
class Calibration:
    """Of one worker: r <= contradiction.value is C, r > entailment.value is E, between is N."""

    contradiction: Threshold
    entailment: Threshold


NO_RATINGS = "No filler of this worker was rated in this half, so the threshold is everybody's."
ONE_CLASS = "Only one of the two classes was rated in this half, so the threshold is the usual one."


def calibrate(
    workers: Sequence[str],
    expected: Sequence[str],
    ratings: Sequence[float],
    *,
    everybody: Sequence[str] = (),
    method: str = "exact",
    upweight: int = UPWEIGHT,
) -> dict[str, Calibration]:
    """Filler ratings (worker, expected label "entailment", "neutral" or "contradiction", rating 0 to 100), one each.

    Returns every worker's thresholds, in the order of their first rating, then of those in `everybody` who rated no
    filler. Renaming workers or reordering rows changes no number. Raises ValueError for another method.
    """
    if method not in METHODS:
        raise ValueError(f"A method is one of {', '.join(METHODS)}; it was {method!r}.")
    names = list(dict.fromkeys([*workers, *everybody]))
    halves = []
    for mirrored, data in _halves(names, workers, expected, ratings):
        found = _half(*data, len(names), upweight, method=method, mirrored=mirrored)
        halves.append([_mirrored(each) for each in found] if mirrored else found)
    return {name: Calibration(halves[0][n], halves[1][n]) for n, name in enumerate(names)}


Interval = tuple[float, float]


def intervals(
    workers: Sequence[str],
    expected: Sequence[str],
    ratings: Sequence[float],
    *,
    upweight: int = UPWEIGHT,
    replicates: int = 200,
    seed: int = 0,
) -> dict[str, tuple[Interval | None, Interval | None]]:
    """95% bootstrap intervals of each worker's exact thresholds (contradiction, entailment): their own ratings are
    drawn anew, everybody's stay. None where a half holds fewer than two of theirs, or one class alone of everybody's.
    """
    names = list(dict.fromkeys(workers))
    halves = []
    for mirrored, data in _halves(names, workers, expected, ratings):
        found = _bootstrap(*data, len(names), upweight, replicates, seed)
        halves.append([(100 - i[1], 100 - i[0]) if mirrored and i else i for i in found])
    return {name: (halves[0][n], halves[1][n]) for n, name in enumerate(names)}


Half = tuple[NDArray[np.int64], NDArray[np.bool_], Floats]  # of each rating: the worker, whether outer, how far out


def _halves(
    names: Sequence[str], workers: Sequence[str], expected: Sequence[str], ratings: Sequence[float]
) -> Iterator[tuple[bool, Half]]:
    """Contradiction, mirrored, and entailment: the ratings in each half of the scale."""
    index = {name: n for n, name in enumerate(names)}
    who = np.array([index[name] for name in workers], dtype=np.int64)
    labels, values = np.array(expected, dtype=object), np.array(ratings, dtype=float)
    for label, mirrored in (("contradiction", True), ("entailment", False)):
        height = 100 - values if mirrored else values
        inside = ((labels == label) | (labels == "neutral")) & (height > MIDDLE)
        yield mirrored, (who[inside], labels[inside] == label, height[inside])


def _bootstrap(
    who: NDArray[np.int64],
    is_outer: NDArray[np.bool_],
    height: Floats,
    workers: int,
    upweight: int,
    replicates: int,
    seed: int,
) -> list[Interval | None]:
    if not is_outer.any() or is_outer.all():
        return [None] * workers
    distinct, place = np.unique(height, return_inverse=True)
    cuts = _cuts(distinct)
    inner = np.bincount(place[~is_outer], minlength=len(distinct)).astype(float)
    outer = np.bincount(place[is_outer], minlength=len(distinct)).astype(float)
    wide = float(_best(_objective(inner[None], outer[None]), cuts, DEFAULTS[1])[0][0])
    cell = place + len(distinct) * is_outer  # a rating's place among the inner ones, then the outer ones
    found: list[Interval | None] = []
    for worker in range(workers):
        own = np.sort(cell[who == worker])
        if len(own) < 2:
            found.append(None)
            continue
        rng = np.random.default_rng(seed)
        drawn = own[rng.integers(0, len(own), (replicates, len(own)))]
        flat = drawn + 2 * len(distinct) * np.arange(replicates)[:, None]
        counts = np.bincount(flat.ravel(), minlength=2 * len(distinct) * replicates).reshape(replicates, 2, -1)
        # The draw takes the place of the ratings as they are, among everybody's.
        as_is = np.bincount(own, minlength=2 * len(distinct)).reshape(2, -1)
        weights = (np.stack([inner, outer]) - as_is + upweight * counts).astype(float)
        # A draw that lost one of the classes, where others did not rate it either, says nothing.
        weights = weights[(weights.sum(axis=2) > 0).all(axis=1)]
        if 2 * len(weights) < replicates:
            found.append(None)
            continue
        best, _ = _best(_objective(weights[:, 0], weights[:, 1]), cuts, wide)
        low, high = np.percentile(best, (2.5, 97.5))
        found.append((float(low), float(high)))
    return found


def _cuts(distinct: Floats) -> Floats:
    """Cut k lies below the k-th distinct value: everything under it is neutral. The outermost lie next to the ends."""
    edges = np.concatenate(([MIDDLE], distinct, [100.0]))
    return (edges[:-1] + edges[1:]) / 2


def _mirrored(found: Threshold) -> Threshold:
    return Threshold(100 - found.value, found.accuracy, found.ratings, found.ties, found.reason)


def _half(
    who: NDArray[np.int64],
    is_outer: NDArray[np.bool_],
    height: Floats,
    workers: int,
    upweight: int,
    *,
    method: str,
    mirrored: bool,
) -> list[Threshold]:
    """The threshold of each worker in the upper half; the lower half comes mirrored, as does its threshold."""
    usual = DEFAULTS[1]
    own_ratings = np.bincount(who, minlength=workers)
    if not is_outer.any() or is_outer.all():
        return [Threshold(usual, None, int(n), 0, ONE_CLASS) for n in own_ratings]
    distinct, place = np.unique(height, return_inverse=True)
    shape = (workers, len(distinct))
    flat = who * len(distinct) + place
    outer = np.bincount(flat[is_outer], minlength=workers * len(distinct)).reshape(shape).astype(float)
    inner = np.bincount(flat[~is_outer], minlength=workers * len(distinct)).reshape(shape).astype(float)
    cuts = _cuts(distinct)
    everybody = _objective(inner.sum(axis=0)[None], outer.sum(axis=0)[None])
    wide = float(_best(everybody, cuts, usual)[0][0])
    if method == "brent":
        wide = _brent(distinct, everybody[0], mirrored=mirrored)
    weighted_inner = inner.sum(axis=0) + (upweight - 1) * inner
    weighted_outer = outer.sum(axis=0) + (upweight - 1) * outer
    objective = _objective(weighted_inner, weighted_outer)
    best, ties = _best(objective, cuts, wide)
    totals = weighted_inner.sum(axis=1) + weighted_outer.sum(axis=1)
    most = 2 * weighted_inner.sum(axis=1) / totals
    found = []
    for n in range(workers):
        if not own_ratings[n]:
            found.append(Threshold(wide, None, 0, 0, NO_RATINGS))
            continue
        value = float(best[n])
        if method == "brent":
            value = _brent(distinct, objective[n], mirrored=mirrored)
        reached = objective[n][np.searchsorted(distinct, value, side="right")]
        found.append(Threshold(value, float(reached / most[n]), int(own_ratings[n]), int(ties[n]), ""))
    return found


def _objective(inner: Floats, outer: Floats) -> Floats:
    """A(cut) of each row, shape (rows, values + 1): weights of what a cut maps right, per rating."""
    zero = np.zeros((len(inner), 1))
    below_inner = np.concatenate((zero, np.cumsum(inner, axis=1)), axis=1)
    below_outer = np.concatenate((zero, np.cumsum(outer, axis=1)), axis=1)
    inner_total, outer_total = below_inner[:, -1:], below_outer[:, -1:]
    weight = inner_total / outer_total
    right = below_inner + weight * (outer_total - below_outer)
    return right / (inner_total + outer_total)


def _best(objective: Floats, cuts: Floats, near: float) -> tuple[Floats, NDArray[np.int64]]:
    """The best cut of each row, of equally good ones the nearest to `near`; and how many are equally good."""
    good = objective >= objective.max(axis=1, keepdims=True) - 1e-12
    distance = np.where(good, np.abs(cuts - near), np.inf)
    return cuts[distance.argmin(axis=1)], good.sum(axis=1)


def _brent(distinct: Floats, objective: Floats, *, mirrored: bool) -> float:
    """The maximum of the step function over 0 to 100, as Brent's method finds it; searched where the ratings lie, as
    the search is not the same from the other side.

    Source: Brent 1973, "Algorithms for Minimization without Derivatives", chapter 5, which R's optimize follows.
    """

    def lost(threshold: float) -> float:
        height = 100 - threshold if mirrored else threshold
        return -float(objective[np.searchsorted(distinct, height, side="right")])

    golden = (3 - sqrt(5)) / 2
    low, high = 0.0, 100.0
    x = w = v = low + golden * (high - low)
    fx = fw = fv = lost(x)
    step = before = 0.0
    eps = sqrt(np.finfo(float).eps)
    while True:
        middle = (low + high) / 2
        tol = eps * abs(x) + TOLERANCE / 3
        if abs(x - middle) <= 2 * tol - (high - low) / 2:
            return 100 - x if mirrored else x
        p = q = r = 0.0
        if abs(before) > tol:
            r = (x - w) * (fx - fv)
            q = (x - v) * (fx - fw)
            p = (x - v) * q - (x - w) * r
            q = (q - r) * 2
            p, q = (-p, q) if q > 0 else (p, -q)
            r, before = before, step
        if abs(p) >= abs(q * 0.5 * r) or p <= q * (low - x) or p >= q * (high - x):
            before = (high if x < middle else low) - x
            step = golden * before
        else:
            step = p / q
            u = x + step
            if u - low < 2 * tol or high - u < 2 * tol:
                step = tol if x < middle else -tol
        u = x + (step if abs(step) >= tol else (tol if step > 0 else -tol))
        fu = lost(u)
        if fu <= fx:
            low, high = (low, x) if u < x else (x, high)
            v, w, x, fv, fw, fx = w, x, u, fw, fx, fu
        else:
            low, high = (u, high) if u < x else (low, u)
            if fu <= fw or w == x:
                v, w, fv, fw = w, u, fw, fu
            elif fu <= fv or v in (x, w):
                v, fv = u, fu
