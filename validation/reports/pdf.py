"""A picture as PDF, with the elements `annotation.svg` draws with: rectangles, lines, circles and text.

Patterns become tints of their colour. Imported only where a PDF is asked for: reportlab is large.
"""

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from annotation.charts import Chart
from annotation.svg import LOOKS, SVG, WIDTH

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas

INK = "#000000"
TINT = 0.45  # opacity of what is a pattern on the screen
MARGIN = 4.0
# What the fonts that every PDF reader has do not hold.
REPLACED = str.maketrans({"−": "\N{EN DASH}", "→": ">", "κ": "kappa", "α": "alpha"})


def pdf_of(chart: Chart) -> bytes:
    """The chart alone on a page of its size, in points."""
    from reportlab.pdfgen.canvas import Canvas

    root = ElementTree.fromstring(chart.svg)
    height = float(root.attrib["viewBox"].split()[3])
    written = io.BytesIO()
    canvas = Canvas(written, pagesize=(WIDTH + 2 * MARGIN, height + 2 * MARGIN), invariant=True)
    canvas.setTitle(chart.title)
    canvas.setSubject(chart.description[:500])
    canvas.translate(MARGIN, MARGIN)
    for element in root:
        _draw(canvas, element, height)
    canvas.save()
    return written.getvalue()


def _draw(canvas: "Canvas", element: ElementTree.Element, height: float) -> None:
    """SVG counts from the top, PDF from the bottom."""
    a = element.attrib
    number = {name: float(value) for name, value in a.items() if re.fullmatch(r"-?\d+(\.\d+)?", value)}

    def at(name: str) -> float:
        return number.get(name, 0.0)

    match element.tag.removeprefix(f"{{{SVG}}}"):
        case "rect":
            filled, stroked = _paint(canvas, a)
            y = height - at("y") - at("height")
            canvas.rect(at("x"), y, at("width"), at("height"), stroke=stroked, fill=filled)
        case "circle":
            filled, stroked = _paint(canvas, a)
            canvas.circle(at("cx"), height - at("cy"), at("r"), stroke=stroked, fill=filled)
        case "line":
            _paint(canvas, a)
            canvas.line(at("x1"), height - at("y1"), at("x2"), height - at("y2"))
        case "text":
            _write(canvas, a, "".join(element.itertext()), at("x"), height - at("y"))


def _paint(canvas: "Canvas", a: dict[str, str]) -> tuple[int, int]:
    """Set the colours of a shape; (whether it is filled, whether it is stroked)."""
    filled, stroked = a.get("fill", "none"), a.get("stroke", "none")
    opacity = float(a.get("fill-opacity", 1))
    if pattern := re.fullmatch(r"url\(#.*-(\w+)\)", filled):
        filled, opacity = LOOKS[pattern[1]][0], TINT
    if filled != "none":
        canvas.setFillColor(_colour(filled), alpha=opacity)
    if stroked != "none":
        canvas.setStrokeColor(_colour(stroked), alpha=float(a.get("stroke-opacity", 1)))
        canvas.setLineWidth(float(a.get("stroke-width", 1)))
    return int(filled != "none"), int(stroked != "none")


def _write(canvas: "Canvas", a: dict[str, str], text: str, x: float, y: float) -> None:
    bold = a.get("font-weight") in ("600", "700")
    canvas.setFont("Helvetica-Bold" if bold else "Helvetica", float(a.get("font-size", 11.5)) * 0.92)
    canvas.setFillColor(_colour(a.get("fill", INK)), alpha=float(a.get("fill-opacity", 1)))
    draw = {"end": canvas.drawRightString, "middle": canvas.drawCentredString}
    draw.get(a.get("text-anchor", ""), canvas.drawString)(x, y, text.translate(REPLACED))


def _colour(name: str) -> str:
    return INK if name == "currentColor" else name
