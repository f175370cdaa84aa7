"""What all preparing shares: rows out of files, rows that are dropped with a reason, texts made comparable."""

import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol
from unicodedata import normalize

from annotation.protocols.base import BadRow
from annotation.protocols.writing import WORD
from annotation.reading import BadFile, Row, read_rows


class Tell(Protocol):
    """Told that a row does not become an item: the file's part in the work, the row's number, its id if known."""

    def __call__(self, part: str, row: int, ref: object, reason: str, **detail: object) -> None: ...


@dataclass
class Report:
    """Every dropped row with its reason, written as it comes, and how many there were for each.

    counted: the file's part in the work -> reason -> rows.
    """

    write: Callable[[str], object]
    counted: dict[str, Counter[str]] = field(default_factory=dict)

    def __call__(self, part: str, row: int, ref: object, reason: str, **detail: object) -> None:
        self.counted.setdefault(part, Counter())[reason] += 1
        self.write(as_line({"file": part, "row": row, "id": ref, "reason": reason, **detail}))

    @property
    def reasons(self) -> dict[str, dict[str, int]]:
        """For the summary: parts and reasons in alphabetical order."""
        return {part: dict(sorted(self.counted[part].items())) for part in sorted(self.counted)}


def as_line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def rows(file: BinaryIO, key: str = "") -> Iterator[Row]:
    """Rows of JSONL or CSV (streamed), of a JSON array, or of the array under `key` of a JSON object; plain or gzip.

    Rows are numbered from 1: lines of a file of lines, else elements of the array. Raises BadFile.
    """
    plain = io.BufferedReader(gzip.GzipFile(fileobj=file)) if _peek(file).startswith(b"\x1f\x8b") else file
    try:
        start = _peek(plain)
        if start.startswith(b"[") or re.match(rb"\{[ \t]*\r?(\n|$)", start):
            yield from read_rows(_array(plain, key))
            return
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadFile(f"The compressed file is damaged: {error}.") from error
    for number, row in read_rows(plain):
        inside = row.get(key) if key and not isinstance(row, BadRow) else None
        yield from read_rows(inside) if isinstance(inside, list) and number == 1 else [(number, row)]


def _peek(file: BinaryIO) -> bytes:
    """The first bytes that say what it is, without blanks and a byte order mark; they stay unread."""
    peek = getattr(file, "peek", None)
    return bytes(peek(64)[:64]).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n") if peek else b""


def _array(file: BinaryIO, key: str) -> Iterable[Any]:
    try:
        whole = json.loads(file.read().decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"The file is not JSON: {error}.") from error
    found = whole if isinstance(whole, list) else whole.get(key)
    if not isinstance(found, list):
        raise BadFile(f"The file is a JSON object without a list {key!r}." if key else "The file is not a JSON array.")
    return found


def good_rows(numbered: Iterable[Row], part: str, tell: Tell) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows that could be read; the others are told."""
    for number, row in numbered:
        if isinstance(row, BadRow):
            tell(part, number, None, "cannot be read", detail=str(row))
        else:
            yield number, row


def text(row: Mapping[str, Any], *names: str) -> str:
    """The first of these members that is a text or a whole number, without blanks around it; "" where none is."""
    for name in names:
        value = row.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def texts(row: Mapping[str, Any], name: str) -> list[str]:
    """A member that is a list of texts, or one text; blanks and repetitions are left out."""
    value = row.get(name)
    listed = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(each.strip() for each in listed if isinstance(each, str) and each.strip()))


def normalised(written: str) -> str:
    """For comparing: compatible characters and cases are one, punctuation and blanks between words do not matter."""
    folded = normalize("NFKC", written).casefold()
    return " ".join(WORD.findall(folded)) or " ".join(folded.split())
