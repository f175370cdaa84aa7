"""Pictures of a study, as SVG with their numbers: pure functions, for pages and for papers."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil

from django.utils.safestring import SafeString

from annotation.summaries import Spread, spread, wilson
from annotation.svg import BLUE, CATEGORIES, NOTHING, SVG, WIDTH, defs, el, fill_of, label, picture, rule

Cell = str | int | float


@dataclass(frozen=True)
class Chart:
    """A picture and the numbers in it. `name` is its id on the page and its file's name, `notes` say what to mind."""

    name: str
    title: str
    description: str
    svg: SafeString
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def csv(self) -> str:
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([self.header, *self.rows])
        return written.getvalue()


# --- Progress ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One stretch of a progress bar; `look` is a key of LOOKS."""

    key: str
    label: str
    count: int
    look: str
    url: str = ""


def progress(name: str, title: str, parts: Sequence[Part]) -> SafeString:
    """One bar from left to right, each stretch as long as its count, and never too short to be seen.

    With addresses the stretches are links for the mouse; the page lists the same links as text for everybody.
    """
    total, least = sum(p.count for p in parts), 0.6  # percent of the width
    shown = [p for p in parts if p.count]
    scale = (100 - least * len(shown)) / total if total else 0
    drawn = [] if total else [_stretch(name, "No items yet", 0, 100, "empty")]
    x = 0.0
    for part in shown:
        long = least + part.count * scale
        box = _stretch(name, f"{part.label}: {part.count:,} of {total:,}", x, long, part.look)
        drawn.append(el("a", box, href=part.url, tabindex=-1) if part.url else box)
        x += long
    said = ", ".join(f"{p.label} {p.count:,}" for p in parts)
    hidden = any(p.url for p in parts)
    named = [el("title", title, id=f"{name}-title"), el("desc", said, id=f"{name}-desc")]
    role = {"aria_hidden": "true"} if hidden else {"role": "img", "aria_labelledby": f"{name}-title {name}-desc"}
    children = [*([] if hidden else named), defs(name, [p.look for p in shown]), *drawn]
    return el("svg", *children, xmlns=SVG, width="100%", height="100%", **role)


def _stretch(name: str, said: str, x: float, long: float, look: str) -> SafeString:
    place = {"x": f"{x:.2f}%", "width": f"{long:.2f}%", "y": 1, "height": "90%"}
    return el("rect", el("title", said), **place, **fill_of(name, look), pointer_events="all")


# --- Estimates --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """A value between -1 and 1 with its interval; without one, `reason` says why. `group` is a heading over it."""

    group: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""
    is_share: bool = False  # shown in percent


AXIS = "1: always the same. 0: as by chance (the percentage: never)"


def estimates(name: str, title: str, measured: Sequence[Measured]) -> Chart:
    """Points with their intervals on one axis up to 1, under headings."""
    floor = -ceil(-min([0.0, *(v for m in measured for v in (m.value, m.low) if v is not None)]) * 5) / 5
    drawn: list[SafeString] = []
    y, group = 0, ""
    for m in measured:
        if m.group != group:
            drawn.append(label(0, y + 12, m.group, size=11, fill_opacity=0.8))
            group, y = m.group, y + 19
        drawn += _estimate(m, floor, y)
        y += 42
    for tick in _fifths(floor):
        drawn.append(label(_at(tick, floor), y + 8, _signed(f"{tick:g}"), anchor=_end(tick, floor), size=11))
    drawn.append(label(WIDTH / 2, y + 24, AXIS, anchor="middle", size=11))
    said = "; ".join(f"{m.group} {m.label} {_estimated(m)}".strip() for m in measured)
    rows = [(m.group, m.label, *map(_rounded, (m.value, m.low, m.high)), m.n, m.reason) for m in measured]
    header = ("stage", "measure", "value", "low (95%)", "high (95%)", "items compared", "why")
    return Chart(name, title, said, picture(name, title, said, y + 30, *drawn), header, tuple(rows))


def _estimate(m: Measured, floor: float, y: float) -> list[SafeString]:
    drawn = [
        label(0, y + 12, m.label),
        label(WIDTH, y + 12, _estimated(m), anchor="end", font_weight=600),
        rule(_at(floor, floor), y + 26, _at(1, floor), y + 26, opacity=0.15),
    ]
    drawn += [rule(_at(t, floor), y + 22, _at(t, floor), y + 30, opacity=0.25 if t else 0.7) for t in _fifths(floor)]
    if m.low is not None and m.high is not None:
        drawn.append(rule(_at(m.low, floor), y + 26, _at(m.high, floor), y + 26, width=4, opacity=0.6))
    if m.value is not None:
        drawn.append(el("circle", cx=_at(m.value, floor), cy=y + 26, r=5, fill=BLUE, stroke="currentColor"))
    return drawn


def _estimated(m: Measured) -> str:
    if m.value is None:
        return "undefined"
    number = ".0%" if m.is_share else ".2f"
    return _signed(f"{m.value:{number}}" + ("" if m.low is None else f" ({m.low:{number}} to {m.high:{number}})"))


def _signed(number: str) -> str:
    return number.replace("-", "−")


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def _at(value: float, floor: float) -> float:
    """Where on the axis from `floor` to 1; a point at an end still shows whole."""
    return 6 + (WIDTH - 12) * (value - floor) / (1 - floor)


def _fifths(floor: float) -> list[float]:
    return [n / 5 for n in range(round(floor * 5), 6)]


def _end(tick: float, floor: float) -> str:
    return "end" if tick == 1 else "start" if tick == floor else "middle"


# --- Shares -----------------------------------------------------------------------------------------------------


def shares(name: str, title: str, groups: Mapping[str, Mapping[str, int]]) -> Chart:
    """Per group a bar for each category: its count, and its share with the 95% interval."""
    categories = dict.fromkeys(c for counts in groups.values() for c in counts)
    look_of = dict(zip(categories, CATEGORIES * len(categories), strict=False))
    drawn: list[SafeString] = []
    rows: list[tuple[Cell, ...]] = []
    y = 0
    for group, counts in groups.items():
        total = sum(counts.values())
        drawn.append(label(0, y + 12, f"{group}, n = {total:,}", size=11, fill_opacity=0.8))
        y += 19
        for category, count in counts.items():
            low, high = wilson(count, total) if total else (0.0, 1.0)
            drawn += _share(name, category, count, total, (low, high), look_of[category], y)
            share = round(count / total, 4) if total else ""
            rows.append((group, category, count, share, round(low, 4), round(high, 4)))
            y += 36
        y += 8
    said = "; ".join(f"{g}: " + ", ".join(f"{c} {n:,}" for c, n in counts.items()) for g, counts in groups.items())
    svg = picture(name, title, said, y, defs(name, look_of.values()), *drawn)
    return Chart(name, title, said, svg, ("of", "label", "count", "share", "low (95%)", "high (95%)"), tuple(rows))


def _share(
    name: str, category: str, count: int, total: int, interval: tuple[float, float], look: str, y: float
) -> list[SafeString]:
    ground = el("rect", x=0, y=y + 16, width=WIDTH, height=12, fill="currentColor", fill_opacity=0.06)
    if not total:
        return [label(0, y + 11, category), label(WIDTH, y + 11, "none yet", anchor="end"), ground]
    low, high = interval
    said = f"{count:,}: {count / total:.0%} ({low:.0%} to {high:.0%})"
    long = max(WIDTH * count / total - 1, 0)
    bar = el("rect", x=0.5, y=y + 16.5, width=long, height=11, **fill_of(name, look)) if count else NOTHING
    whisker = rule(WIDTH * low, y + 22, WIDTH * high, y + 22, width=2, opacity=1)
    words = label(WIDTH, y + 11, said, anchor="end", font_weight=600)
    return [label(0, y + 11, category), words, ground, bar, whisker]


# --- Columns ----------------------------------------------------------------------------------------------------

ROW = 88  # height of one of several small pictures above each other
BINS, STEP = 14, 24  # with one more for everything longer they fill the width


def days(name: str, title: str, stages: Mapping[str, Mapping[date, int]], *, last: int = 28) -> Chart:
    """Per stage one row of columns, a column a day, over the same days: the `last` ones, up to the newest."""
    every = sorted({day for counts in stages.values() for day in counts})
    shown = min(last, (every[-1] - every[0]).days + 1) if every else 0
    span = [every[-1] - timedelta(days=n) for n in reversed(range(shown))]
    drawn: list[SafeString] = []
    y = 0
    for number, (stage, counts) in enumerate(stages.items()):
        heights = [counts.get(day, 0) for day in span]
        names = [f"{day.day} {day:%B}" for day in span]
        drawn += _columns(name, stage, f"{sum(counts.values()):,} in all", heights, names, number, y)
        y += ROW
    if span:
        drawn.append(label(0, y + 6, f"{span[0].day} {span[0]:%b}", size=11))
    if shown > 1:
        newest = label(shown * _step(shown), y + 6, f"{span[-1].day} {span[-1]:%b}", size=11, anchor="end")
        drawn += [newest] if shown * _step(shown) > 90 else []
    said = "; ".join(f"{stage}: {sum(counts.values()):,} in all" for stage, counts in stages.items())
    rows: list[tuple[Cell, ...]] = [
        (day.isoformat(), *(counts.get(day, 0) for counts in stages.values())) for day in every
    ]
    svg = picture(name, title, said, y + 12, defs(name, CATEGORIES[: len(stages)]), *drawn)
    return Chart(name, title, said, svg, ("day", *stages), tuple(rows))


def series(
    name: str,
    title: str,
    found: Mapping[str, tuple[str, Sequence[int]]],
    spans: Sequence[str],
    header: tuple[str, ...],
    rows: Sequence[tuple[Cell, ...]],
) -> Chart:
    """One row of columns for each series, over the same spans. found: title -> (what it is of, heights)."""
    drawn: list[SafeString] = []
    y = 0
    for number, (words, (of, heights)) in enumerate(found.items()):
        drawn += _columns(name, words, of if heights else "nothing yet", heights, spans, number, y)
        y += ROW
    if spans:
        drawn.append(label(0, y + 6, spans[0], size=11))
    if len(spans) * _step(len(spans)) > 240:
        drawn.append(label(len(spans) * _step(len(spans)), y + 6, spans[-1], size=11, anchor="end"))
    last = [f"{words}: first {heights[0]}, last {heights[-1]}" for words, (_, heights) in found.items() if heights]
    said = "; ".join(last) or "Nothing yet"
    svg = picture(name, title, said, y + 12, defs(name, CATEGORIES[: len(found)]), *drawn)
    return Chart(name, title, said, svg, header, tuple(rows))


def times(name: str, title: str, stages: Mapping[str, Mapping[int, int]]) -> Chart:
    """Per stage how many answers took how long, with the median and its 95% interval.

    stages: stage -> seconds -> number of answers.
    """
    found = {stage: spread(seconds) for stage, seconds in stages.items()}
    width = _bin(max((_most_are_below(seconds) for seconds in stages.values()), default=0))
    spans = [f"{_minutes(n * width)} to {_minutes((n + 1) * width)} min" for n in range(BINS)] + ["longer"]
    drawn: list[SafeString] = []
    y = 0
    for number, (stage, middle) in enumerate(found.items()):
        said = f"median {middle.minutes} min" if middle else "not timed yet"
        drawn += _columns(name, stage, said, _binned(stages[stage], width), spans, number, y)
        drawn += _median(middle, width, y) if middle else []
        y += ROW
    drawn.append(label(0, y + 6, "0 min", size=11))
    drawn.append(label(WIDTH, y + 6, f"longer than {_minutes(BINS * width)} min", size=11, anchor="end"))
    timed = {stage: s for stage, s in found.items() if s}
    said = "; ".join(f"{stage}: median {s.minutes} minutes, n = {s.n:,}" for stage, s in timed.items())
    svg = picture(name, title, said, y + 12, defs(name, CATEGORIES[: len(found)]), *drawn)
    header = ("stage", "answers timed", "median min", "low (95%)", "high (95%)", "lower quartile", "upper quartile")
    numbers = [(s.median, s.low, s.high, s.lower_quartile, s.upper_quartile) for s in timed.values()]
    rows: list[tuple[Cell, ...]] = [
        (stage, s.n, *(round(v / 60, 2) for v in n)) for (stage, s), n in zip(timed.items(), numbers, strict=True)
    ]
    return Chart(name, title, said, svg, header, tuple(rows))


def _columns(
    name: str, title: str, value: str, heights: Sequence[int], said: Sequence[str], number: int, y: float
) -> list[SafeString]:
    """A titled row of columns over a base line; the highest carries its number."""
    top, base, most, step = y + 32, y + ROW - 10, max(heights, default=0), _step(len(heights))
    words = label(WIDTH, y + 12, value, anchor="end", font_weight=600)
    drawn = [label(0, y + 12, title), words, rule(0, base, WIDTH, base)]
    for n, height in enumerate(heights):
        if height:
            tall = (base - top) * height / most
            place = {"x": n * step + 1, "y": base - tall, "width": step - 2, "height": tall}
            drawn.append(
                el("rect", el("title", f"{said[n]}: {height:,}"), **place, **fill_of(name, CATEGORIES[number]))
            )
    if most:
        middle = (heights.index(most) + 0.5) * step
        drawn.append(label(min(max(middle, 12), WIDTH - 12), top - 3, f"{most:,}", size=11, anchor="middle"))
    return drawn


def _step(columns: int) -> float:
    return min(WIDTH / max(columns, 1), STEP)


def _median(middle: Spread, width: int, y: float) -> list[SafeString]:
    """A line at the median, on a band from end to end of its interval."""
    left, at, right = (min(v / width, BINS + 1) * STEP for v in (middle.low, middle.median, middle.high))
    place = {"x": left, "y": y + 32, "width": max(right - left, 1), "height": ROW - 42}
    band = el("rect", **place, fill="currentColor", fill_opacity=0.2)
    return [band, rule(at, y + 32, at, y + ROW - 6, width=2, opacity=0.9)]


def _most_are_below(seconds: Mapping[int, int], share: float = 0.95) -> int:
    """The value that this share does not exceed."""
    seen, total = 0, sum(seconds.values())
    for value, count in sorted(seconds.items()):
        seen += count
        if seen >= share * total:
            return value
    return 0


def _bin(longest: int) -> int:
    """Seconds per column: a round number with which `longest` still has a column of its own."""
    return next((w for w in (2, 5, 10, 15, 30, 60, 120, 300, 600) if longest < w * BINS), 1200)


def _binned(seconds: Mapping[int, int], width: int) -> list[int]:
    counts = [0] * (BINS + 1)
    for value, count in seconds.items():
        counts[min(value // width, BINS)] += count
    return counts


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}".removesuffix(".0")
