"""Tiny pictures in a table of people: one person's times and labels above everybody's."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from django.utils.safestring import SafeString

from annotation.svg import CATEGORIES, LOOKS, el
from validation.models import Score

WIDTH, ROW = 90, 7


@dataclass(frozen=True)
class Usual:
    """What is usual in a study: the median person's deciles of seconds, and all labels."""

    seconds: Sequence[float]
    labels: Mapping[str, int]

    @classmethod
    def of(cls, scores: Iterable[Score | None]) -> Self:
        there = [score for score in scores if score]
        deciles = [score.seconds for score in there if len(score.seconds) == 9]
        labels: Counter[str] = Counter()
        for score in there:
            labels.update(score.labels)
        return cls([median(column) for column in zip(*deciles, strict=True)], dict(sorted(labels.items())))


def seconds_strip(score: Score | None, usual: Usual) -> SafeString:
    """From the first to the ninth decile, with a mark at the median; theirs above, the usual one below."""
    if score is None or len(score.seconds) != 9 or not usual.seconds:
        return SafeString("")
    most = max(score.seconds[8], usual.seconds[8], 1)
    rows = [
        _stretch(values, most, y, look) for values, y, look in ((score.seconds, 0, "blue"), (usual.seconds, 1, "empty"))
    ]
    words = f"Seconds: median {score.seconds[4]}, usual {usual.seconds[4]:g}"
    return _strip(words, *[part for row in rows for part in row])


def _stretch(values: Sequence[float], most: float, row: int, look: str) -> list[SafeString]:
    scale = (WIDTH - 4) / most
    y, colour = 2 + row * (ROW + 2), LOOKS[look][0]
    left, right, middle = (2 + scale * values[n] for n in (0, 8, 4))
    return [
        el("rect", x=left, y=y + 2, width=max(1.0, right - left), height=ROW - 4, fill=colour, fill_opacity=0.45),
        el("rect", x=middle - 1, y=y, width=2, height=ROW, fill=colour),
    ]


def label_bars(score: Score | None, usual: Usual) -> SafeString:
    """Shares of the labels, theirs above everybody's."""
    if score is None or not score.labels or not usual.labels:
        return SafeString("")
    looks = dict(zip(usual.labels, CATEGORIES, strict=False))
    parts = []
    for row, labels in enumerate((score.labels, usual.labels)):
        total, x = sum(labels.values()), 2.0
        for label, look in looks.items():
            width = (WIDTH - 4) * labels.get(label, 0) / total
            y = 2 + row * (ROW + 2)
            colour = LOOKS[look][0]
            parts.append(el("rect", x=x, y=y, width=width, height=ROW, fill=colour, fill_opacity=0.8, stroke=colour))
            x += width
    shares = ", ".join(f"{n} {label}" for label, n in sorted(score.labels.items()))
    return _strip(f"Labels: {shares}", *parts)


def _strip(words: str, *parts: SafeString) -> SafeString:
    size = {"viewBox": f"0 0 {WIDTH} {2 * ROW + 6}", "width": WIDTH, "height": 2 * ROW + 6}
    return el("svg", el("title", words), *parts, role="img", aria_label=words, **size)
