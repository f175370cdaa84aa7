"""Texts that are nearly the same: found by MinHash and locality-sensitive hashing, confirmed by character n-grams.

Two texts are near duplicates when the sets of character n-grams of both (normalised) have a Jaccard similarity of at
least `similar`. The hashes only choose which pairs are looked at, so a report has no false positives; a pair right at
the threshold is missed with a probability under 0.1%, more similar ones more rarely.
Source: Broder 1997, "On the resemblance and containment of documents".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash

from annotation.preparing.rows import normalised

SLOTS = 128  # of a MinHash signature
FOUND = 0.9995  # least probability with which a pair at the threshold shares a key
ROUGH = 3.5  # deviations by which the similarity that the signatures estimate may be too low: less is not looked at
BATCH = 5_000  # texts hashed at once
CHUNK = 100_000  # pairs estimated at once

Pairs = NDArray[np.int64]  # shape (2, pairs)
Keys = NDArray[np.uint64]  # shape (bands, texts)


@dataclass(frozen=True, order=True)
class Near:
    """Two near duplicates by their places in the input, `one` < `other`. similarity: above 0, to 1."""

    one: int
    other: int
    similarity: float


def near_duplicates(
    texts: Sequence[str],
    groups: Sequence[object] | None = None,
    *,
    ngram: int = 4,
    similar: float = 0.8,
    seed: int = 0,
    progress: Callable[[int], object] = lambda texts: None,
) -> list[Near]:
    """All near duplicates whose groups differ, in order; without groups all there are.

    Of texts that are the same once normalised the first in each group stands for all; without groups the others are
    pairs with the first.
    similar: above 0, to 1. progress: told how many texts were hashed.
    """
    folded, found = _distinct(texts, groups)
    keys, signatures = _signatures([*folded], ngram, similar, seed, progress)
    plain, grams = list(folded), lru_cache(50_000)(ngrams)
    for places in folded.values():
        found += [Near(*pair, 1.0) for pair in _across(places, places, groups)]
    members = None if groups is None else _numbered(list(folded.values()), groups)
    for one, other in _candidates(keys, signatures, members, similar):
        first, second = grams(plain[one], ngram), grams(plain[other], ngram)
        both = len(first & second)
        similarity = both / (len(first) + len(second) - both)
        if similarity >= similar:
            pairs = _across(folded[plain[one]], folded[plain[other]], groups)
            found += [Near(*pair, round(similarity, 4)) for pair in pairs]
    return sorted(found)


def ngrams(folded: str, n: int) -> frozenset[str]:
    """The runs of n characters of a text that is not empty; one shorter than n is a run itself."""
    return frozenset(folded[at : at + n] for at in range(max(1, len(folded) - n + 1)))


def bands(similar: float) -> tuple[int, int]:
    """(bands, rows in each) of a signature: as many rows as find a pair at the threshold with probability FOUND."""
    fitting = [rows for rows in range(1, SLOTS) if 1 - (1 - similar**rows) ** (SLOTS // rows) >= FOUND]
    rows = max(fitting, default=1)
    return SLOTS // rows, rows


def _distinct(texts: Sequence[str], groups: Sequence[object] | None) -> tuple[dict[str, list[int]], list[Near]]:
    """Normalised text -> the first place of it in each group. Without groups the others are pairs with that first."""
    folded: dict[str, list[int]] = {}
    same: list[Near] = []
    for place, text in enumerate(texts):
        if form := normalised(text):
            places = folded.setdefault(form, [])
            if groups is None and places:
                same.append(Near(places[0], place, 1.0))
            elif groups is None or all(groups[place] != groups[each] for each in places):
                places.append(place)
    return folded, same


def _numbered(places: Sequence[Sequence[int]], groups: Sequence[object]) -> NDArray[np.int64]:
    """The group of each text as a number, -1 for one that is in several."""
    numbers: dict[object, int] = {}
    found = [numbers.setdefault(groups[at[0]], len(numbers)) if len(at) == 1 else -1 for at in places]
    return np.array(found, dtype=np.int64)


def _across(some: Sequence[int], others: Sequence[int], groups: Sequence[object] | None) -> list[tuple[int, int]]:
    """Places of pairs whose groups differ, the smaller first."""
    pairs = {(min(a, b), max(a, b)) for a in some for b in others if a != b}
    return sorted((a, b) for a, b in pairs if groups is None or groups[a] != groups[b])


def _signatures(
    folded: Sequence[str], ngram: int, similar: float, seed: int, progress: Callable[[int], object]
) -> tuple[Keys, NDArray[np.uint32]]:
    """Each text's signature, shape (texts, SLOTS), and its key in each band."""
    count, rows = bands(similar)
    signatures = np.empty((len(folded), SLOTS), dtype=np.uint32)
    rest = iter(folded)
    for start in range(0, len(folded), BATCH):
        batch = [list(ngrams(text, ngram)) for text in islice(rest, BATCH)]
        signatures[start : start + len(batch)] = RMinHash.digest_matrix_from_token_sets(batch, SLOTS, seed).to_rows()
        progress(start + len(batch))
    keys = np.empty((count, len(folded)), dtype=np.uint64)
    for band in range(count):
        key = np.full(len(folded), band, dtype=np.uint64)
        for row in range(rows):  # mixed as FNV does; equal keys of unequal rows only cost a look
            key = (key ^ signatures[:, band * rows + row]) * np.uint64(0x100000001B3)
            key ^= key >> np.uint64(29)
        keys[band] = key
    return keys, signatures


def _candidates(
    keys: Keys, signatures: NDArray[np.uint32], groups: NDArray[np.int64] | None, similar: float
) -> Iterator[tuple[int, int]]:
    """Pairs of texts, by number, that share a key and by their signatures may be similar enough; each pair once."""
    least = similar - ROUGH * (similar * (1 - similar) / SLOTS) ** 0.5
    for band, key in enumerate(keys):
        for pairs in _sharing(key):
            if groups is not None:
                first, second = groups[pairs]
                pairs = pairs[:, (first != second) | (first < 0)]
            for start in range(0, pairs.shape[1], CHUNK):
                some = pairs[:, start : start + CHUNK]
                some = some[:, ~(keys[:band, some[0]] == keys[:band, some[1]]).any(axis=0)]  # met in an earlier band
                alike = (signatures[some[0]] == signatures[some[1]]).mean(axis=1)
                yield from zip(*some[:, alike >= least].tolist(), strict=True)


def _sharing(key: NDArray[np.uint64]) -> Iterator[Pairs]:
    """Pairs of places with an equal key: neighbours in its order, then those two apart, and so on."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    left = np.arange(len(order))
    for apart in range(1, len(order)):
        left = left[left + apart < len(order)]
        left = left[ordered[left] == ordered[left + apart]]
        if not len(left):
            return
        yield np.stack([order[left], order[left + apart]])
