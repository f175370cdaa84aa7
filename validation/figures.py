"""Pictures of labels, deviations and thresholds: stacked bars, points with intervals, ratings with cuts. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from annotation.charts import Cell, Chart
from annotation.svg import BLUE, CATEGORIES, LOOKS, WIDTH, defs, el, fill_of, label, picture, rule
from validation.artefacts import Artefact

Counts = Mapping[str, int]


def stacked(
    name: str,
    title: str,
    groups: Mapping[str, Mapping[str, Counts]],
    categories: Mapping[str, str],
    *,
    rows: str = "polarity",
) -> Chart:
    """Under the heading of each group a bar for each of its rows, divided into the shares of the categories.

    categories: key -> word, in the order of the stretches. rows: what the bars are, heading a column of the table.
    """
    looks = dict(zip(categories, CATEGORIES, strict=False))
    drawn, height = _legend(name, {word: looks[key] for key, word in categories.items()})
    table: list[tuple[Cell, ...]] = []
    y = height + 7
    for group, bars in groups.items():
        if group:
            drawn.append(label(0, y + 11, group, size=11, font_weight=600))
            y += 17
        for bar, counts in bars.items():
            total = sum(counts.values())
            drawn += [
                label(0, y + 10, bar, size=10.5),
                label(WIDTH, y + 10, f"n = {total:,}", size=10.5, anchor="end"),
                *_stretches(name, counts, looks, total, y + 14),
            ]
            table.append((group, bar, *(counts.get(key, 0) for key in categories), total))
            y += 32
        y += 5
    said = "; ".join(
        f"{group} {bar}: ".lstrip() + ", ".join(f"{counts.get(k, 0):,} {word}" for k, word in categories.items())
        for group, bars in groups.items()
        for bar, counts in bars.items()
    )
    svg = picture(name, title, said or "Nothing yet", y, defs(name, looks.values()), *drawn)
    return Chart(name, title, said, svg, ("of", rows, *categories.values(), "n"), tuple(table))


def _legend(name: str, words: Mapping[str, str]) -> tuple[list[SafeString], float]:
    """In as many lines as it takes; and its height."""
    drawn, x, y = [], 0.0, 0.0
    for word, look in words.items():
        long = 30 + 6.2 * len(word)
        if x and x + long > WIDTH:
            x, y = 0.0, y + 18
        drawn.append(el("rect", x=x + 0.5, y=y + 2.5, width=11, height=11, **fill_of(name, look)))
        drawn.append(label(x + 16, y + 12, word, size=11))
        x += long
    return drawn, y + 17


def _stretches(name: str, counts: Counts, looks: Mapping[str, str], total: int, y: float) -> list[SafeString]:
    drawn = [el("rect", x=0, y=y, width=WIDTH, height=12, fill="currentColor", fill_opacity=0.06)]
    x = 0.0
    for key, look in looks.items():
        if count := counts.get(key, 0):
            long = WIDTH * count / total
            said = el("title", f"{key}: {count:,} of {total:,}")
            drawn.append(
                el("rect", said, x=x + 0.5, y=y + 0.5, width=max(long - 1, 0.5), height=11, **fill_of(name, look))
            )
            x += long
    return drawn


@dataclass(frozen=True)
class Mean:
    """A mean of what is never below 0, over n, with its standard error; or with an interval found otherwise."""

    value: float
    error: float | None
    n: int
    bounds: tuple[float, float] | None = None

    @property
    def interval(self) -> tuple[float, float]:
        if self.bounds:
            return self.bounds
        half = 1.96 * (self.error or 0.0)
        return max(self.value - half, 0.0), self.value + half


def points(name: str, title: str, means: Mapping[str, Mean], unit: str, *, decimals: int = 1) -> Chart:
    """A point with its 95% interval for each name, on one axis from 0 (or below, where a mean is)."""
    most = max([1.0, *(mean.interval[1] for mean in means.values())])
    least = min([0.0, *(mean.interval[0] for mean in means.values())])
    scale = (WIDTH - 12) / (most - least)
    drawn: list[SafeString] = []
    rows: list[tuple[Cell, ...]] = []
    y = 0.0
    for each, mean in means.items():
        low, high = mean.interval
        drawn += [
            label(0, y + 11, each, size=11),
            label(
                WIDTH,
                y + 11,
                f"{mean.value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f}), n = {mean.n:,}",
                size=11,
                anchor="end",
            ),
            rule(6, y + 22, WIDTH - 6, y + 22, opacity=0.15),
            rule(6 + scale * (low - least), y + 22, 6 + scale * (high - least), y + 22, width=4, opacity=0.6),
            el("circle", cx=6 + scale * (mean.value - least), cy=y + 22, r=5, fill=BLUE, stroke="currentColor"),
        ]
        rows.append((each, round(mean.value, 4), round(low, 4), round(high, 4), mean.n))
        y += 36
    ends = f"{least:g}", f"{most:.0f} {unit}".strip()
    drawn += [label(6, y + 8, ends[0], size=11), label(WIDTH - 6, y + 8, ends[1], size=11, anchor="end")]
    said = "; ".join(f"{each}: {mean.value:.{decimals}f}" for each, mean in means.items())
    svg = picture(name, title, said or "Nothing yet", y + 14, *drawn)
    return Chart(name, title, said, svg, ("of", "mean", "low (95%)", "high (95%)", "n"), tuple(rows))


@dataclass(frozen=True)
class Rater:
    """One worker's ratings of fillers, by expected label, and their two cuts with their intervals."""

    name: str
    ratings: Mapping[str, Sequence[float]]
    contradiction: float
    entailment: float
    accuracy: float | None
    intervals: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None)


# Where each class of fillers lies in a row, and its look.
LANES = {"entailment": (6, "blue"), "neutral": (14, "striped"), "contradiction": (22, "barred")}


MOST = 100  # people who are drawn; the numbers are everybody's


def cuts(name: str, title: str, raters: Sequence[Rater]) -> Chart:
    """A row per worker: their fillers as dots, a lane for each class, and the two cuts."""
    drawn: list[SafeString] = []
    x = 0.0
    for word, (_, look) in LANES.items():
        drawn.append(el("circle", cx=x + 5, cy=8, r=3.5, fill=LOOKS[look][0], stroke="currentColor", stroke_width=0.5))
        drawn.append(label(x + 13, 12, word, size=10.5))
        x += 34 + 6 * len(word)
    drawn.append(label(WIDTH, 12, "expected of fillers", size=10.5, anchor="end"))
    rows: list[tuple[Cell, ...]] = []
    y = 22.0
    for number, rater in enumerate(raters):
        accuracy: Cell = "" if rater.accuracy is None else round(rater.accuracy, 4)
        fillers = sum(map(len, rater.ratings.values()))
        rows.append((rater.name, round(rater.contradiction, 4), round(rater.entailment, 4), accuracy, fillers))
        if number < MOST:
            drawn += _row(rater, y)
            y += 46
    if len(raters) > MOST:
        drawn.append(label(0, y + 10, f"and {len(raters) - MOST:,} more, in the table", size=11))
        y += 20
    drawn += [label(0, y + 8, "0 impossible", size=10.5), label(WIDTH, y + 8, "100 certain", size=10.5, anchor="end")]
    said = "; ".join(
        f"{r.name}: contradiction to {r.contradiction:.2f}, entailment above {r.entailment:.2f}" for r in raters
    )
    svg = picture(name, title, said or "Nobody yet", y + 14, *drawn)
    header = ("worker", "contradiction up to", "entailment above", "filler accuracy", "fillers")
    return Chart(name, title, said, svg, header, tuple(rows))


def _row(rater: Rater, y: float) -> list[SafeString]:
    right = "not scored" if rater.accuracy is None else f"{rater.accuracy:.0%} right"
    said = f"{right}; cuts at {rater.contradiction:.2f} and {rater.entailment:.2f}"
    top = y + 15
    drawn = [
        label(0, y + 10, rater.name, size=11, font_weight=600),
        label(WIDTH, y + 10, said, size=10.5, anchor="end"),
        el("rect", x=0, y=top, width=WIDTH, height=26, fill="currentColor", fill_opacity=0.05),
    ]
    for interval in rater.intervals:
        if interval:
            left, right_end = (_at(value) for value in interval)
            width = max(right_end - left, 1)
            drawn.append(el("rect", x=left, y=top, width=width, height=26, fill="currentColor", fill_opacity=0.12))
    for lane, (down, look) in LANES.items():
        for rating in rater.ratings.get(lane, ()):
            drawn.append(
                el(
                    "circle",
                    cx=_at(rating),
                    cy=top + down - 2,
                    r=2.6,
                    fill=LOOKS[look][0],
                    fill_opacity=0.7,
                    stroke="none",
                )
            )
    drawn += [
        rule(_at(cut), top - 2, _at(cut), top + 28, width=2, opacity=0.9)
        for cut in (rater.contradiction, rater.entailment)
    ]
    return drawn


def _at(rating: float) -> float:
    return 4 + (WIDTH - 8) * rating / 100


# --- What gives labels away -----------------------------------------------------------------------


def leads(name: str, title: str, groups: Mapping[str, Sequence[Artefact]], notes: tuple[str, ...] = ()) -> Chart:
    """For each word or opening the share of its claims that carry the label, with the interval, from none to all."""
    drawn: list[SafeString] = []
    rows: list[tuple[Cell, ...]] = []
    y = 0.0
    for group, found in groups.items():
        drawn.append(label(0, y + 11, group, size=11, font_weight=600))
        y += 18
        if not found:
            drawn.append(label(0, y + 11, "Nothing stands out.", size=11, fill_opacity=0.8))
            y += 22
        for each in found:
            drawn += _lead(each, y)
            rows.append(_lead_row(group, each))
            y += 36
        y += 6
    for tick in (0, 0.5, 1):
        anchor = "middle" if 0 < tick < 1 else "end" if tick else "start"
        drawn.append(label(_along(tick), y + 10, f"{tick:.0%}", size=11, anchor=anchor))
    said = "; ".join(
        f"“{a.feature}”: {a.share:.0%} of {a.claims:,} {a.label}" for some in groups.values() for a in some
    )
    header = ("kind", "feature", "label", "claims", "share %", "low (95%)", "high (95%)", "lift", "z")
    svg = picture(name, title, said or "Nothing stands out", y + 16, *drawn)
    return Chart(name, title, said, svg, header, tuple(rows), notes)


def _lead(a: Artefact, y: float) -> list[SafeString]:
    said = f"{a.share:.0%} of {a.claims:,} {a.label}, lift {a.lift:.1f}"
    at = y + 24
    return [
        label(0, y + 12, f"“{a.feature}”"),
        label(WIDTH, y + 12, said, anchor="end", font_weight=600),
        rule(_along(0), at, _along(1), at, opacity=0.15),
        rule(_along(0.5), at - 4, _along(0.5), at + 4, opacity=0.7),
        rule(_along(a.low), at, _along(a.high), at, width=4, opacity=0.6),
        el("circle", cx=_along(a.share), cy=at, r=5, fill=BLUE, stroke="currentColor"),
    ]


def _along(share: float) -> float:
    """Where a share stands, with room for a point at either end."""
    return 6 + (WIDTH - 12) * share


def _lead_row(group: str, a: Artefact) -> tuple[Cell, ...]:
    shares = (round(100 * share, 1) for share in (a.share, a.low, a.high))
    return (group, a.feature, a.label, a.claims, *shares, round(a.lift, 2), round(a.z, 2))
