"""The elements pictures are drawn with: SVG as escaped strings.

Presentation attributes only, no style or script, so pictures pass the strictest policy and stand alone as files. Text
and lines take `currentColor`, fills one of Okabe-Ito's colours with a pattern: nothing is told by colour alone.
"""

from collections.abc import Iterable

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
WIDTH = 360  # of every picture, in units of which text is 11.5 high: a phone's width in CSS pixels
NOTHING = mark_safe("")
SVG = "http://www.w3.org/2000/svg"


def el(name: str, *children: str, **attributes: object) -> SafeString:
    """An element; text is escaped, what None is left out, and `font_size` becomes font-size."""
    named = ((key.rstrip("_").replace("_", "-"), _text(v)) for key, v in attributes.items() if v is not None)
    opening = format_html("{}{}", name, format_html_join("", ' {}="{}"', named))
    return format_html("<{}>{}</{}>", opening, format_html_join("", "{}", ((c,) for c in children)), name)


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def label(x: float, y: float, text: str, *, anchor: str = "start", size: float = 11.5, **more: object) -> SafeString:
    return el("text", text, x=x, y=y, font_size=size, text_anchor=anchor, fill="currentColor", **more)


def rule(x1: float, y1: float, x2: float, y2: float, *, width: float = 1, opacity: float = 0.3) -> SafeString:
    return el(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", stroke_width=width, stroke_opacity=opacity or None
    )


def picture(name: str, title: str, description: str, height: float, *children: str) -> SafeString:
    """The frame of every chart, with a title and a description for those who do not see it."""
    return el(
        "svg",
        el("title", title, id=f"{name}-title"),
        el("desc", description, id=f"{name}-desc"),
        *children,
        xmlns=SVG,
        viewBox=f"0 0 {WIDTH} {_text(float(height))}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        font_family="system-ui, sans-serif",
    )


# --- Fills ------------------------------------------------------------------------------------------------------

# name -> (colour, path drawn over a square of 6 units, or "solid", or "" for an empty one)
LOOKS = {
    "empty": ("currentColor", ""),
    "hatched": (SKY, "M-1 1L1 -1M0 6L6 0M5 7L7 5"),
    "crossed": (ORANGE, "M0 6L6 0M0 0L6 6"),
    "solid": (GREEN, "solid"),
    "dotted": ("currentColor", "M2 3h2M5 0h1M0 0h1M5 6h1M0 6h1"),
    "barred": (VERMILLION, "M1 0v6M3 0v6"),
    "blue": (BLUE, "solid"),
    "striped": (ORANGE, "M-1 1L1 -1M0 6L6 0M5 7L7 5"),
    "lined": (PURPLE, "M0 1h6M0 4h6"),
    "grid": (SKY, "M0 1h6M1 0v6"),
}
CATEGORIES = ("blue", "striped", "solid", "lined", "barred", "grid", "crossed", "dotted")


def fill_of(name: str, look: str) -> dict[str, object]:
    """The fill and outline attributes of something drawn in a look; `name` is the chart's."""
    colour, path = LOOKS[look]
    fill = {"": "none", "solid": colour}.get(path, f"url(#{name}-{look})")
    return {"fill": fill, "stroke": colour, "stroke_width": 1}


def defs(name: str, looks: Iterable[str]) -> SafeString:
    """The patterns a chart uses. Their ids begin with the chart's name: a page holds many."""
    patterns = []
    for look in dict.fromkeys(looks):
        colour, path = LOOKS[look]
        if path not in ("", "solid"):
            ground = el("rect", width=6, height=6, fill=colour, fill_opacity=0.25)
            lines = el("path", d=path, stroke=colour, stroke_width=1.5, fill="none")
            size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
            patterns.append(el("pattern", ground, lines, id=f"{name}-{look}", **size))
    return el("defs", *patterns) if patterns else NOTHING


def swatch(look: str) -> SafeString:
    """A small square in a look, beside the words that say what it stands for; without ids, as a page repeats it."""
    colour, path = LOOKS[look]
    if path in ("", "solid"):
        inside = [el("rect", width=12, height=12, fill=colour if path else "none")]
    else:
        tiles = [(x, y) for x in (0, 6) for y in (0, 6)]
        inside = [el("rect", width=12, height=12, fill=colour, fill_opacity=0.25)]
        inside += [
            el("path", d=path, stroke=colour, stroke_width=1.5, fill="none", transform=f"translate({x} {y})")
            for x, y in tiles
        ]
    edge = el("rect", x=1, y=1, width=12, height=12, fill="none", stroke=colour)
    square = el("svg", *inside, x=1, y=1, width=12, height=12)
    return el("svg", square, edge, viewBox="0 0 14 14", width=14, height=14, aria_hidden="true")
