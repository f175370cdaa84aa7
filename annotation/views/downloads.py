"""Files to keep."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def attachment(name: str, content: str, content_type: str) -> HttpResponse:
    return HttpResponse(content, content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def table(name: str, rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """A CSV file of any length, for a spreadsheet."""
    response = StreamingHttpResponse(_lines(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, line: str) -> str:
        return line


def _lines(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield "\ufeff"  # tells spreadsheets that this is UTF-8
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def _cell(value: Any) -> Any:
    """Text from outside that a spreadsheet would run as a formula is quoted with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
