"""The parts a report is made of, and how they become files. Pure."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.charts import Cell, Chart
from annotation.errors import Refusal
from validation.reports.pdf import pdf_of

DIGITS = 4  # after the point, in CSV


class NoReport(Refusal):
    code, status = "no_report", 404


@dataclass(frozen=True)
class Table:
    """A table of a paper. Floats are printed with `decimals` in TeX; an empty text stands for what is not known."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    decimals: int = 1
    notes: tuple[str, ...] = ()

    @property
    def csv(self) -> str:
        written = io.StringIO()
        rows = ([round(c, DIGITS) if isinstance(c, float) else c for c in row] for row in self.rows)
        csv.writer(written, lineterminator="\n").writerows([self.header, *rows])
        return written.getvalue()

    @property
    def shown(self) -> list[list[str]]:
        """The rows in words, for pages and TeX."""
        return [[self._cell(cell) for cell in row] for row in self.rows]

    @property
    def tex(self) -> str:
        """LaTeX, for the package booktabs."""
        numeric = [all(not isinstance(row[n], str) or not row[n] for row in self.rows) for n in range(len(self.header))]
        columns = "".join("r" if is_number and self.rows else "l" for is_number in numeric)
        lines = [
            "% \\usepackage{booktabs}",
            "\\begin{table}[t]",
            "  \\centering",
            f"  \\begin{{tabular}}{{{columns}}}",
            "    \\toprule",
            f"    {' & '.join(map(escape_tex, self.header))} \\\\",
            "    \\midrule",
            *(f"    {' & '.join(map(escape_tex, row))} \\\\" for row in self.shown),
            "    \\bottomrule",
            "  \\end{tabular}",
            f"  \\caption{{{escape_tex(' '.join([self.title + '.', *self.notes]))}}}",
            f"  \\label{{tab:{self.name}}}",
            "\\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _cell(self, cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.{self.decimals}f}"
        return f"{cell:,}" if isinstance(cell, int) else cell


SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "→": "$\\rightarrow$",
    "−": "$-$",
}


def escape_tex(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)


@dataclass(frozen=True)
class Report:
    """numbers: JSON. notes: what to mind, and why something is missing."""

    numbers: Mapping[str, Any]
    tables: Sequence[Table]
    figures: Sequence[Chart]
    notes: Sequence[str] = ()

    def files(self) -> Iterator[tuple[str, bytes]]:
        """(path, content): numbers.json, tables/*.csv and *.tex, figures/*.svg and *.pdf."""
        yield "numbers.json", json.dumps(self.numbers, ensure_ascii=False, indent=2, allow_nan=False).encode()
        for table in self.tables:
            yield f"tables/{table.name}.csv", table.csv.encode()
            yield f"tables/{table.name}.tex", table.tex.encode()
        for figure in self.figures:
            yield f"figures/{figure.name}.svg", figure.svg.encode()
            yield f"figures/{figure.name}.pdf", pdf_of(figure)

    def write(self, folder: Path) -> list[str]:
        """Into a folder, made if needed; returns the paths in it."""
        written = []
        for name, content in self.files():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            written.append(name)
        return written

    def zip(self, path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.files():
                archive.writestr(name, content)


def percent(share: float | None) -> float | None:
    """A share as a percentage with two decimals; None stays None."""
    return None if share is None else round(100 * share, 2)


def cell(value: float | None) -> Cell:
    return "" if value is None else value
