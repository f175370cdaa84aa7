"""What gives a label away: words and openings that go with one label more often than chance has it. Pure.

A set of claims is worth little if "never" or "not" tells a model which are false. For a feature that n claims have, of
which a share p carry the label, z = (p - p0) / sqrt(p0 (1 - p0) / n), p0 being the label's share of all claims; what
exceeds the bound for as many features as were looked at is shown. Source: Gardner et al. 2021, "Competency Problems:
On Finding and Removing Artifacts in Language Data", section 4.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.protocols.writing import WORD
from annotation.summaries import wilson

Codes = NDArray[np.int64]

SIGNIFICANCE = 0.01
FEWEST = 5  # claims that a feature needs to be looked at


@dataclass(frozen=True)
class Artefact:
    """A word or an opening, the label it points to, how many claims have it and how many of these carry the label.

    share, low, high: of its claims those with the label, with the 95% interval. lift: that share by the label's own.
    """

    feature: str
    label: str
    claims: int
    labelled: int
    share: float
    low: float
    high: float
    lift: float
    z: float


@dataclass(frozen=True)
class Meter:
    """claims: per label. words, openings: what gives labels away, the strongest first. bound: the |z| it takes."""

    claims: Mapping[str, int]
    words: Sequence[Artefact]
    openings: Sequence[Artefact]
    bound: float


# --- Texts as numbers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """Texts as codes of their words. words: every distinct one; codes: (words in all,) places in `words`, text by text;
    texts: (words in all,) which text each is of, from 0; size: how many texts.
    """

    words: Sequence[str]
    codes: Codes
    texts: Codes
    size: int

    @property
    def openings(self) -> Codes:
        """(texts,): the first two words of each as one number; see `opening`."""
        starts = np.searchsorted(self.texts, np.arange(self.size))
        ends = np.searchsorted(self.texts, np.arange(self.size), side="right")
        codes, many = np.append(self.codes, 0), len(self.words) + 1
        first = np.where(ends > starts, codes[np.minimum(starts, len(self.codes))] + 1, 0)
        second = np.where(ends > starts + 1, codes[np.minimum(starts + 1, len(self.codes))] + 1, 0)
        return np.asarray(first * many + second)

    def opening(self, number: int) -> str:
        pair = divmod(number, len(self.words) + 1)
        return " ".join(self.words[code - 1] for code in pair if code)


def _numbers() -> defaultdict[str, int]:
    """A number for each new key, in order."""
    return defaultdict(count().__next__)


BORDER = "\x00"  # between texts; no database takes one inside


def read(texts: Sequence[str]) -> Corpus:
    """The lower-cased words of texts. All are cut at blanks at once, and each distinct piece is looked at once."""
    pieces, words = _numbers(), _numbers()
    border = pieces[BORDER]
    cut = f" {BORDER} ".join(texts).lower().replace(".", " ").replace(",", " ").split()  # most marks there are
    raw = np.fromiter(map(pieces.__getitem__, cut), np.int64, len(cut))
    inside = [(words[p],) if p.isalnum() else tuple(words[w] for w in WORD.findall(p)) for p in pieces]
    counts = np.array([len(found) for found in inside], np.int64)
    flat = np.fromiter(chain.from_iterable(inside), np.int64)
    many = counts[raw]
    # The n-th word of a piece lies n places after the piece's first one.
    nth = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    codes = flat[np.repeat((np.cumsum(counts) - counts)[raw], many) + nth]
    return Corpus(list(words), codes, np.repeat(np.cumsum(raw == border), many), len(texts))


# --- Artefacts ----------------------------------------------------------------------------------------


def measure(corpus: Corpus, labels: Sequence[str]) -> Meter:
    """labels: of each text, in the same order."""
    totals, order = Counter(labels), sorted(set(labels))
    of = {label: n for n, label in enumerate(order)}
    label = np.fromiter(map(of.__getitem__, labels), np.int64)
    many = max(len(corpus.words), 1)
    once = _distinct(corpus.texts * many + corpus.codes)  # a word counts once in a text
    words = _counts(once % many, label[once // many], len(order))
    openings = _counts(corpus.openings, label, len(order))
    looked_at = sum(int((counts.sum(axis=1) >= FEWEST).sum()) for _, counts in (words, openings))
    bound = NormalDist().inv_cdf(1 - SIGNIFICANCE / (2 * max(looked_at, 1)))
    given = [totals[name] for name in order]
    return Meter(
        dict(totals),
        [_artefact(corpus.words[f.feature], f, order, given) for f in _beyond(*words, given, bound)],
        [_artefact(corpus.opening(f.feature), f, order, given) for f in _beyond(*openings, given, bound)],
        bound,
    )


def _distinct(numbers: Codes) -> Codes:
    """In order. `np.unique` hashes them, which takes ten times as long as sorting what is nearly in order."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _counts(features: Codes, labels: Codes, many: int) -> tuple[Codes, Codes]:
    """The distinct features, and how often each label has them, shape (features, labels)."""
    distinct = _distinct(features)
    places = np.searchsorted(distinct, features)
    counts = np.bincount(places * many + labels, minlength=len(distinct) * many) if many else np.zeros(0, np.int64)
    return distinct, counts.reshape(len(distinct), many)


class _Found(NamedTuple):
    """A feature, how often each label has it, and which label it points to."""

    feature: int
    counts: Codes
    place: int
    z: float


def _beyond(features: Codes, counts: Codes, given: Sequence[int], bound: float) -> list[_Found]:
    """Those beyond the bound, the strongest first."""
    if len(given) < 2:
        return []
    usual = np.array(given) / sum(given)
    n = counts.sum(axis=1, keepdims=True)
    z = (counts / n - usual) / np.sqrt(usual * (1 - usual) / n)
    best = z.argmax(axis=1)
    strongest = z.max(axis=1)
    found = np.flatnonzero((strongest > bound) & (n[:, 0] >= FEWEST))
    found = found[np.argsort(-strongest[found], kind="stable")]
    return [_Found(int(features[f]), counts[f], int(best[f]), float(strongest[f])) for f in found]


def _artefact(feature: str, found: _Found, order: Sequence[str], given: Sequence[int]) -> Artefact:
    n, k = int(found.counts.sum()), int(found.counts[found.place])
    lift = k / n * sum(given) / given[found.place]
    return Artefact(feature, order[found.place], n, k, k / n, *wilson(k, n), lift, found.z)


# --- Diversity -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """So many claims in the order they came: from the first-th on. new_openings: those that open as none before did.
    words: distinct words of the stretch per 1,000 of its words.
    """

    first: int
    claims: int
    new_openings: int
    words: float


def diversity(corpus: Corpus, stretches: int = 20, least: int = 10) -> list[Stretch]:
    """Stretches of equal length in the order given, at most so many, none shorter than `least` but the last."""
    size = max(least, -(-corpus.size // stretches))
    _, firsts = np.unique(corpus.openings, return_index=True)
    new = np.bincount(firsts // size, minlength=-(-corpus.size // size))
    found = []
    for n, first in enumerate(range(0, corpus.size, size)):
        inside = slice(*np.searchsorted(corpus.texts, [first, first + size]))
        words = corpus.codes[inside]
        rate = 1000 * len(np.unique(words)) / max(len(words), 1)
        found.append(Stretch(first + 1, min(size, corpus.size - first), int(new[n]), rate))
    return found
