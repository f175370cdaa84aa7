"""What tests of preparing share: rows as a file has them, and a report to look at."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from annotation.preparing.rows import Report
from annotation.reading import Row


class Told(Report):
    """A report that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__(self.lines.append)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def said(self) -> list[tuple[str, int, str]]:
        return [(row["file"], row["row"], row["reason"]) for row in self.rows]


def numbered(given: Iterable[Mapping[str, Any]]) -> list[Row]:
    return list(enumerate(given, 1))
