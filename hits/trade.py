"""Batch results as the requester site of MTurk writes them: the table, its times and its cells. No database, no clock.

A table that was written here has the columns OURS at its end, as Turkle adds its own. Its cells read back as what they
were: numbers, true, false, null, lists and objects are JSON; all else is text; an empty cell says nothing. A text that
would read as something else is written as a JSON string. A text that a spreadsheet would run as a formula gets an
apostrophe in front, and so does one that begins with apostrophes before such a sign; reading takes one away again.

Any other table is text, with names that are its author's: a `Reading` says which column is what.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from annotation.protocols.base import BadRow

INPUT, ANSWER = "Input.", "Answer."
HEAD = (
    *("HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments"),
    *("RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration"),
    *("NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime"),
    *("SubmitTime", "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds"),
    *("LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate"),
)
STAGE, UNCOUNTED, SECONDS, SUBMITTED_AT = OURS = (
    "Touchstone.Stage",
    "Touchstone.Uncounted",
    "Touchstone.ActiveSeconds",
    "Touchstone.SubmittedAt",
)
TAIL = ("Approve", "Reject", *OURS)
STATUSES = ("Submitted", "Approved", "Rejected")
MAX_SECONDS = 2**31 - 1

Path = tuple[str | int, ...]


# --- Times ------------------------------------------------------------------------------------------

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ZONES = {"UTC": 0, "GMT": 0, "Z": 0, "": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6}
ZONES |= {"MDT": -6, "MST": -7, "PDT": -7, "PST": -8}
SITE = re.compile(r"[A-Za-z]{3} ([A-Za-z]{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?: ([A-Z]{1,4}))? (\d{4})")
MAIL = re.compile(r"[A-Za-z]{3}, (\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) ?([A-Z]{0,4})")
SHEET = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4}) (\d{1,2}):(\d\d)(?::(\d\d))?")
EPOCH = re.compile(r"\d{9,10}(\.\d+)?")


def write_time(at: datetime | None) -> str:
    """As the site does, whole seconds, in UTC: "Mon Sep 08 17:11:12 UTC 2014"."""
    if at is None:
        return ""
    at = at.astimezone(UTC)  # names by hand: strftime would write them in the server's language
    return f"{DAYS[at.weekday()]} {MONTHS[at.month - 1]} {at:%d %H:%M:%S} UTC {at.year:04}"


def read_time(text: str, name: str) -> datetime | None:
    """The site's shape, ISO 8601, a mail's, a spreadsheet's (month first) or seconds since 1970; without a zone, UTC.

    None for an empty cell. Raises BadRow.
    """
    text = text.strip()
    if not text:
        return None
    with suppress(ValueError, KeyError, OverflowError):
        if found := SITE.fullmatch(text):
            month, day, hour, minute, second, zone, year = found.groups()
            return _time(year, _month(month), day, hour, minute, second, zone or "")
        if found := MAIL.fullmatch(text):
            day, month, year, hour, minute, second, zone = found.groups()
            return _time(year, _month(month), day, hour, minute, second, zone)
        if found := SHEET.fullmatch(text):
            month, day, year, hour, minute, second = found.groups()
            return _time(year if len(year) == 4 else f"20{year}", month, day, hour, minute, second or 0, "")
        if EPOCH.fullmatch(text):
            return datetime.fromtimestamp(float(text), UTC)
        at = datetime.fromisoformat(text.removesuffix(" UTC"))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    raise BadRow(f"'{name}' must be a time such as Mon Sep 08 10:11:12 PDT 2014; it was {text[:40]!r}")


def _time(year: str, month: str | int, day: str, hour: str, minute: str, second: str | int, zone: str) -> datetime:
    there = timezone(timedelta(hours=ZONES[zone]))
    return datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=there).astimezone(UTC)


def _month(name: str) -> int:
    return MONTHS.index(name.capitalize()) + 1


# --- Cells -------------------------------------------------------------------------------------------

# What a spreadsheet takes for the beginning of a formula; the wide forms too, in some languages.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def guard(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) else text


def unguard(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def write_cell(value: object, *, plain: bool) -> str:
    """plain: texts as they are, and nothing for what is empty; `read_cell` may then read something else."""
    if plain and value in (None, "", [], {}):
        return ""
    if isinstance(value, str):
        is_text = plain or (bool(value) and _literal(value) == value)
        return guard(value) if is_text else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def read_cell(cell: str) -> object:
    text = unguard(cell)
    return text if text != cell else _literal(cell)


def _literal(cell: str) -> object:
    """What a cell says in JSON, or the text that it is."""
    try:
        return json.loads(cell, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return cell


def _no_number(name: str) -> None:
    raise ValueError(name)


def flatten(answer: Mapping[str, Any], *, plain: bool) -> dict[str, str]:
    """Column -> cell: {"pairs": [{"correction": "No."}]} is "No." under Answer.pairs.0.correction."""
    leaves = {ANSWER + join(path): write_cell(leaf, plain=plain) for path, leaf in _leaves(answer)}
    return {column: cell for column, cell in leaves.items() if cell}


def _leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping) and (value or not path):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, list) and value:
        for n, inner in enumerate(value):
            yield from _leaves(inner, (*path, n))
    else:
        yield path, value


def nest(leaves: Mapping[Path, object]) -> dict[str, Any]:
    """The answer of its leaves; numbered ones are a list, in their order. Raises BadRow where one is inside another."""
    root: dict[str | int, Any] = {}
    for path, leaf in leaves.items():
        place = root
        for part in path[:-1]:
            inner = place.setdefault(part, _Branch())
            if not isinstance(inner, _Branch):
                raise BadRow(f"'{join(path)}' is answered, and so is something that it is inside of")
            place = inner
        if place.setdefault(path[-1], leaf) is not leaf:
            raise BadRow(f"'{join(path)}' is answered, and so is something inside of it")
    return {str(name): _grown(value) for name, value in root.items()}


class _Branch(dict[str | int, Any]):
    """Not a value that was given."""


def _grown(value: object) -> object:
    if not isinstance(value, _Branch):
        return value
    if all(isinstance(name, int) for name in value):
        return [_grown(inner) for _, inner in sorted(value.items())]
    return {str(name): _grown(inner) for name, inner in value.items()}


# --- Names of columns --------------------------------------------------------------------------------

PART = re.compile(r'("(?:[^"\\]|\\.)*"|[^.]*)(\.|\Z)', re.DOTALL)
NUMBER = re.compile(r"[0-9]{1,9}")


def join(path: Path) -> str:
    """Names with dots between them; a name that would not read back as itself is a JSON string."""
    return ".".join(str(part) if isinstance(part, int) or _is_simple(part) else json.dumps(part) for part in path)


def _is_simple(part: str) -> bool:
    return bool(part) and "." not in part and not part.startswith('"') and not NUMBER.fullmatch(part)


def split(name: str) -> Path:
    parts: list[str | int] = []
    at = 0
    while True:
        found = PART.match(name, at)
        assert found is not None
        parts.append(_part(found[1]))
        if not found[2]:
            return tuple(parts)
        at = found.end()


def _part(text: str) -> str | int:
    if text.startswith('"'):
        named = _literal(text)
        return named if isinstance(named, str) else text
    return int(text) if NUMBER.fullmatch(text) else text


def header_of(columns: Iterable[str]) -> list[str]:
    """The whole header, of the Input.* and Answer.* columns that there are: in the order of people, 2 before 10."""
    found = set(columns) - {*HEAD, *TAIL}
    inputs = sorted((c for c in found if c.startswith(INPUT)), key=lambda c: (c != f"{INPUT}id", c))
    answers = sorted((c for c in found if c.startswith(ANSWER)), key=_in_order)
    return [*HEAD, *inputs, *answers, *TAIL]


def _in_order(column: str) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (-1, part) for part in split(column)]


def write_lines(header: Sequence[str], rows: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """CSV with every cell in quotes, as the site writes it: no comma or semicolon in a text begins a cell."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for cells in [header], ([row.get(column, "") for column in header] for row in rows):
        for line in cells:
            writer.writerow(line)
            yield text.getvalue()
            text.seek(0)
            text.truncate()


# --- Reading a table ---------------------------------------------------------------------------------


class BadReading(ValueError):
    """A table or a map that cannot be followed; the message says what would be right."""


CHOSEN = ("true", "on", "yes", "1")


@dataclass(frozen=True)
class Work:
    """One row: what somebody answered about one item.

    answers: the answer in each way that it may be meant; the protocol takes one of them. inputs: the item's fields.
    """

    item: str
    worker: str
    assignment: str
    stage: str
    answers: tuple[dict[str, Any], ...]
    inputs: dict[str, Any]
    accepted_at: datetime | None
    submitted_at: datetime | None
    seconds: int | None
    uncounted: str
    said: str


@dataclass(frozen=True)
class Reading:
    """How a table is read. Columns may end in ".*" (of several columns, the one that is chosen), or lead on into JSON.

    names: of the answer and its parts -> column; none reads every Answer.* under its own name.
    inputs: field of an item -> column, where it has another name. values: (name, as it is there) -> as it is here.
    """

    item_column: str = f"{INPUT}id"
    names: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def check(self, header: Sequence[str]) -> None:
        """Raises BadReading for columns that are not there."""
        wanted = ["WorkerId", self.item_column, *self.inputs.values(), *self.names.values()]
        for column in wanted:
            if not _is_there(column, header):
                there = [name for name in header if name.startswith((INPUT, ANSWER))] or list(header)
                said = f"there are {', '.join(there[:20])}" if there else "the file is empty"
                raise BadReading(f"There is no column {column!r}; {said}.")
        if not self.names and STAGE not in header and not any(name.startswith(ANSWER) for name in header):
            raise BadReading(f"No column begins with {ANSWER}: say which one is what with --map COLUMN=NAME.")

    def read(self, row: Mapping[str, str]) -> Work:
        """Raises BadRow."""
        is_ours = STAGE in row
        status, reject = row.get("AssignmentStatus", "").strip().capitalize(), row.get("Reject", "").strip()
        if status and status not in STATUSES:
            raise BadRow(f"'AssignmentStatus' must be one of {', '.join(STATUSES)}; it was {status!r}")
        is_rejected = status == "Rejected" or bool(reject and status != "Approved")
        feedback = unguard(row.get("RequesterFeedback", "").strip() or reject)
        item = self._item(row, is_ours=is_ours)
        if not item:
            raise BadRow(f"'{self.item_column}' is empty: it should name the item")
        if not row["WorkerId"].strip():
            raise BadRow("'WorkerId' is empty")
        submitted_at = read_time(row.get("SubmitTime", ""), "SubmitTime")
        return Work(
            item=item,
            worker=row["WorkerId"].strip(),
            assignment=row.get("AssignmentId", "").strip(),
            stage=row.get(STAGE, ""),
            answers=self._answers(row, is_ours=is_ours),
            inputs=self._inputs(row, is_ours=is_ours),
            accepted_at=read_time(row.get("AcceptTime", ""), "AcceptTime"),
            submitted_at=read_time(row.get(SUBMITTED_AT, ""), SUBMITTED_AT) or submitted_at,
            seconds=_seconds(row, SECONDS if is_ours else "WorkTimeInSeconds"),
            uncounted=row.get(UNCOUNTED, "") or ("excluded" if is_rejected else ""),
            said=f"Rejected where it was made{f': {feedback}' if feedback else ''}"[:400] if is_rejected else "",
        )

    def _item(self, row: Mapping[str, str], *, is_ours: bool) -> str:
        cell = str(pick(row, self.item_column))
        if not (is_ours and self.item_column.startswith(INPUT)):
            return cell.strip()
        found = read_cell(cell)
        return found if isinstance(found, str) else cell

    def _inputs(self, row: Mapping[str, str], *, is_ours: bool) -> dict[str, Any]:
        renamed = set(self.inputs.values())
        found: dict[str, Any] = {
            column.removeprefix(INPUT): read_cell(cell) if is_ours else cell
            for column, cell in row.items()
            if column.startswith(INPUT) and column not in renamed and cell
        }
        found |= {name: pick(row, column) for name, column in self.inputs.items()}
        return found if is_ours else found | {"id": self._item(row, is_ours=False)}

    def _answers(self, row: Mapping[str, str], *, is_ours: bool) -> tuple[dict[str, Any], ...]:
        if self.names:
            given = {name: pick(row, column) for name, column in self.names.items()}
        else:
            given = {c.removeprefix(ANSWER): cell for c, cell in row.items() if c.startswith(ANSWER)}
        leaves = {
            split(name): self.values.get((name, value.strip()), value) if isinstance(value, str) else value
            for name, value in given.items()
            if value not in ("", None)
        }
        read = read_cell if is_ours else _literal
        meant = {path: read(value) if isinstance(value, str) else value for path, value in leaves.items()}
        return (nest(meant),) if is_ours or meant == leaves else (nest(leaves), nest(meant))


def _seconds(row: Mapping[str, str], name: str) -> int | None:
    text = row.get(name, "").strip()
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,10}(\.0*)?", text) or int(text.partition(".")[0]) > MAX_SECONDS:
        raise BadRow(f"'{name}' must be a whole number of seconds; it was {text[:20]!r}")
    return int(text.partition(".")[0])


def pick(row: Mapping[str, str], column: str) -> Any:
    """What a row has in a column; of "Answer.label.*", the end of the name of that column which is chosen.

    A longer name than any column's leads on into the JSON of one. "" where there is nothing. Raises BadRow.
    """
    if column in row:
        return row[column]
    if column.endswith(".*"):
        start = column[:-1]
        among: object = {name.removeprefix(start): cell for name, cell in row.items() if name.startswith(start)}
        among = among or pick(row, column[:-2])
        chosen = [n for n, on in among.items() if str(on).lower() in CHOSEN] if isinstance(among, Mapping) else []
        if len(chosen) > 1:
            raise BadRow(f"of '{column}' more than one is chosen: {', '.join(chosen)}")
        return chosen[0] if chosen else ""
    holder = _holder(column, row)
    if not row[holder]:
        return ""
    try:
        value = json.loads(row[holder])
    except (ValueError, RecursionError):
        raise BadRow(f"'{holder}' is not JSON") from None
    for part in split(column[len(holder) + 1 :]):
        if isinstance(value, Mapping):
            value = value.get(str(part), "")
        else:
            value = value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else ""
    return value


def _holder(column: str, header: Iterable[str]) -> str:
    """The longest column whose JSON may hold it, or ""."""
    return max((name for name in header if column.startswith(f"{name}.")), key=len, default="")


def _is_there(column: str, header: Sequence[str]) -> bool:
    group = column.endswith(".*") and any(name.startswith(column[:-1]) for name in header)
    return column in header or group or bool(_holder(column, header))


def read_reading(item_column: str, maps: Iterable[str], values: Iterable[str]) -> Reading:
    """Of what a person wrote: COLUMN=NAME, and NAME:THERE=HERE. Raises BadReading."""
    names: dict[str, str] = {}
    inputs: dict[str, str] = {}
    for text in maps:
        column, _, name = (part.strip() for part in text.rpartition("="))
        if not column or not name:
            raise BadReading(f"A map is written COLUMN=NAME, such as Answer.label=label; it was {text!r}.")
        side = inputs if column.startswith(INPUT) else names
        if side.setdefault(name, column) != column:
            raise BadReading(f"Both {side[name]} and {column} are mapped to {name}.")
    meanings = {}
    for text in values:
        name, colon, rest = text.partition(":")
        there, equals, here = rest.rpartition("=")
        if not (name and colon and equals):
            raise BadReading(f"A value is written NAME:THERE=HERE, such as label:no=normal; it was {text!r}.")
        meanings[name.strip(), there.strip()] = here.strip()
    return Reading(item_column, names, inputs, meanings)
