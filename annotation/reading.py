"""Rows out of a file: JSONL or CSV, plain or gzip, told apart by their content; in constant memory.

What is wrong with one row is a BadRow in its place, so that a reader can name every bad line of a file.
"""

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from annotation.errors import Refusal
from annotation.protocols.base import BadRow

if TYPE_CHECKING:
    from _csv import Reader

Row = tuple[int, Mapping[str, Any] | BadRow]  # the line's number, from 1, and what it holds

MAX_LINE = 1_000_000  # characters
MAX_DEPTH = 50  # objects and lists within each other
KEYS = {"id", "item"}  # a first line that has one of these columns is a CSV header


@dataclass(frozen=True)
class Numbered:
    """Rows that somebody read out of a file already, with the numbers of its lines."""

    rows: Iterable[Row]


Source = BinaryIO | Iterable[Mapping[str, Any]] | Numbered


class BadFile(Refusal):
    """A file that cannot be read, or of which nothing may be kept; the sentence names the lines."""

    code, status = "bad_file", 422


def read_rows(source: Source) -> Iterator[Row]:
    """The rows of a binary file, or of any mappings. Raises BadFile where the file breaks off."""
    if isinstance(source, Numbered):
        yield from ((number, _storable(row)) for number, row in source.rows)
        return
    if not hasattr(source, "read"):
        yield from ((number, _storable(row)) for number, row in enumerate(source, 1))
        return
    with _undamaged():
        yield from ((number, _storable(row)) for number, row in _rows(_text(cast(BinaryIO, source))))


def read_csv(file: BinaryIO) -> tuple[list[str], Iterator[Row]]:
    """The header of a CSV file, whatever its columns are called, and its rows. Raises BadFile."""
    text = _text(file)
    reader = csv.reader(iter(lambda: text.readline(MAX_LINE + 1), ""), strict=True)
    with _undamaged():
        header = _header(reader)

    def rows() -> Iterator[Row]:
        with _undamaged():
            yield from ((number, _storable(row)) for number, row in _records(reader, header))

    return header, rows()


@contextmanager
def _undamaged() -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadFile(f"The compressed file is damaged: {error}.") from error


class _Borrowed(io.RawIOBase):
    """Somebody else's file, which stays open when our readers around it are gone."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _text(file: BinaryIO) -> io.TextIOWrapper:
    """Broken UTF-8 comes through as lone surrogates, which the check of the row then names."""
    stream = io.BufferedReader(_Borrowed(file), buffer_size=1 << 16)
    if stream.peek(2)[:2] == b"\x1f\x8b":
        return io.TextIOWrapper(gzip.GzipFile(fileobj=stream), "utf-8-sig", "surrogateescape", newline="")
    return io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")


def _rows(text: io.TextIOWrapper) -> Iterator[Row]:
    lines = iter(lambda: text.readline(MAX_LINE + 1), "")
    first = next(lines, "")
    lines = chain([first], lines)
    return _csv_rows(lines) if _is_header(first) else _json_rows(lines)


def _is_header(line: str) -> bool:
    try:
        return not line.lstrip().startswith("{") and bool(KEYS & set(next(csv.reader([line]), ())))
    except csv.Error:
        return False


def _json_rows(lines: Iterator[str]) -> Iterator[Row]:
    for number in count(1):
        line = next(lines, "")
        if not line:
            return
        if len(line) > MAX_LINE:
            while line and not line.endswith(("\n", "\r")):
                line = next(lines, "")
            yield number, BadRow(f"is longer than {MAX_LINE:,} characters")
        elif line := line.strip():
            yield number, _object(line)


def _object(line: str) -> Mapping[str, Any] | BadRow:
    try:
        row = json.loads(line)
    except RecursionError:
        return BadRow("is nested too deeply")
    except json.JSONDecodeError as error:
        return BadRow(f"is not JSON: {error.msg} at column {error.colno}")
    except ValueError as error:  # a number of thousands of digits
        return BadRow(f"is not JSON: {error}")
    return row if isinstance(row, dict) else BadRow("is not a JSON object")


def _csv_rows(lines: Iterator[str]) -> Iterator[Row]:
    reader = csv.reader(lines, strict=True)
    yield from _records(reader, _header(reader))


def _header(reader: "Reader") -> list[str]:
    """Raises BadFile; none of an empty file."""
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise BadFile(f"The header is not CSV: {error}.") from error
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise BadFile(f"The header names the column {twice[0]!r} twice.")
    return header


def _records(reader: "Reader", header: list[str]) -> Iterator[Row]:
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield reader.line_num, BadRow(f"is not CSV: {error}")
            continue
        if len(cells) == len(header):
            yield reader.line_num, dict(zip(header, cells, strict=True))
        elif cells:
            yield reader.line_num, BadRow(f"has {len(cells)} columns, the header has {len(header)}")


def _storable(row: Mapping[str, Any] | BadRow) -> Mapping[str, Any] | BadRow:
    """The row, unless no database would take it. A NUL is refused by PostgreSQL, a lone surrogate by all."""
    if isinstance(row, BadRow):
        return row
    if not isinstance(row, Mapping):
        return BadRow("is not an object")
    for name, value in row.items():
        if problem := _problem(name) or _problem(value):
            return BadRow(f"{name!r} {problem}")
    return row


def _problem(value: object, depth: int = 1) -> str:
    """Why a JSON value cannot be kept, to be read after its name; or ''."""
    if isinstance(value, str):
        if "\x00" in value:
            return "holds a NUL character"
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                return "holds broken text (not valid UTF-8)"
        return ""
    if isinstance(value, dict | list):
        if depth >= MAX_DEPTH:
            return "is nested too deeply"
        if isinstance(value, dict) and not all(isinstance(name, str) for name in value):
            return "has a name that is not text"
        inside = chain(value, value.values()) if isinstance(value, dict) else value
        return next(filter(None, (_problem(part, depth + 1) for part in inside)), "")
    if isinstance(value, int | float):
        return "" if abs(value) <= sys.float_info.max else "holds a number that is out of range"  # so is NaN
    return "" if value is None else "is not a JSON value"
