"""Pictures of batches and pay: pure functions, as `annotation.charts`."""

from collections.abc import Sequence
from decimal import Decimal
from math import ceil

from django.utils.safestring import SafeString

from annotation import charts
from annotation.charts import Cell, Chart, Part
from annotation.svg import WIDTH, defs, el, fill_of, label, picture, rule
from hits.models import Hit
from hits.overview import Row
from hits.wages import Spread, Wage

LOOK = "blue"
BINS = 18
TALL = 70  # of the columns


def hits_bar(row: Row) -> tuple[SafeString, list[Part]]:
    """Where a batch's HITs are."""
    states, number = row.hits, row.batch.number
    over = states[Hit.State.ENDED] + states[Hit.State.DELETED]
    parts = [
        Part("planned", "to be published", states[Hit.State.PLANNED], "hatched"),
        Part("open", "on offer", states[Hit.State.OPEN], "empty"),
        Part("ending", "offered no more, perhaps in somebody's hands", states[Hit.State.ENDING], "crossed"),
        Part("over", "over", over, "solid"),
        Part("failed", "refused by the marketplace", states[Hit.State.FAILED], "barred"),
    ]
    return charts.progress(f"hits-{number}", f"HITs of batch {number}", parts), [p for p in parts if p.count]


def sittings_bar(row: Row) -> tuple[SafeString, list[Part]]:
    """What became of the sittings that were bought."""
    number, unsold = row.batch.number, row.unsold
    parts = [
        Part("unsold", "not submitted yet", unsold, "empty"),
        Part("waiting", "submitted, to be decided", row.waiting, "crossed"),
        Part("asked", "decided, on its way", row.on_its_way, "hatched"),
        Part("approved", "paid", row.approved, "solid"),
        Part("rejected", "rejected", row.rejected, "barred"),
        Part("never", "never taken", max(0, row.batch.sittings - unsold - row.submitted), "dotted"),
    ]
    return charts.progress(f"sittings-{number}", f"Sittings of batch {number}", parts), [p for p in parts if p.count]


def hourly(name: str, title: str, wages: Sequence[Wage], spread: Spread, target: Decimal | None) -> Chart:
    """How many people earn how much for an hour of active time; with lines at the middle one, at the one that a tenth
    earn less than, and at the wage the team aims at.
    """
    timed = [(wage, wage.hourly) for wage in wages if wage.hourly is not None]
    most = max([*(h for _, h in timed), target or Decimal(0), Decimal(1)])
    step = _step(most)
    heights = [0] * BINS
    for _, pay in timed:
        heights[min(int(pay / step), BINS - 1)] += 1
    top, marks = 0.0, _marks(spread, target)
    drawn: list[SafeString] = []
    for words, value, dashes in marks:
        x = min(float(value / step) / BINS, 1.0) * WIDTH
        drawn += [label(*_beside(x, top + 12), words, anchor="end" if x > WIDTH / 2 else "start", font_weight=600)]
        line = {"x1": x, "x2": x, "y1": top + 2, "y2": 16.0 * len(marks) + TALL + 8}
        drawn.append(el("line", **line, stroke="currentColor", stroke_width=2, stroke_dasharray=dashes or None))
        top += 16
    base, most_people = top + TALL + 8, max(heights, default=0)
    for n, height in enumerate(heights):
        if height:
            tall, wide = TALL * height / most_people, WIDTH / BINS
            box = {"x": n * wide + 1, "y": base - tall, "width": wide - 2, "height": tall}
            said = f"${n * step} to ${(n + 1) * step}: {height}"
            drawn.insert(0, el("rect", el("title", said), **box, **fill_of(name, LOOK)))
    drawn += [rule(0, base, WIDTH, base), label(0, base + 15, "$0", size=11)]
    drawn.append(label(WIDTH, base + 15, f"${BINS * step} an hour", size=11, anchor="end"))
    said = "; ".join([f"n = {len(timed)} people", *(words for words, _, _ in marks)])
    drawn.append(label(WIDTH / 2, base + 15, f"n = {len(timed)} people", size=11, anchor="middle"))
    rows: list[tuple[Cell, ...]] = [
        (w.code, w.sittings, round(w.seconds / 3600, 2), f"{w.earned:.2f}", "" if pay is None else f"{pay:.2f}")
        for w, pay in ((w, w.hourly) for w in wages)
    ]
    header = ("worker", "sittings", "active hours", "earned $", "$ an hour")
    svg = picture(name, title, said, base + 22, defs(name, [LOOK]), *drawn)
    notes = (
        "Earned is everything that is paid, owed or on its way: rewards, bonuses, top-ups and compensation.",
        "Active time is what the page noted while somebody was at work, practice left out; pauses do not count.",
    )
    return Chart(name, title, said, svg, header, tuple(rows), notes)


def _marks(spread: Spread, target: Decimal | None) -> list[tuple[str, Decimal, str]]:
    """(words, value, dashes) of every line there is."""
    found = [
        ("median", spread.median, ""),
        ("10th percentile", spread.tenth, "2 3"),
        ("target", target, "8 4"),
    ]
    return [(f"{words} ${value:.2f}", value, dashes) for words, value, dashes in found if value is not None]


def _beside(x: float, y: float) -> tuple[float, float]:
    """Where the words of a line at x begin, or, right of the middle, end."""
    return (x - 5, y) if x > WIDTH / 2 else (x + 5, y)


def _step(most: Decimal) -> int:
    """Dollars per column: a round number with which `most` is still inside."""
    return next((s for s in (1, 2, 5, 10, 20, 50, 100) if most < s * BINS), ceil(most / BINS))
