"""Batches as files of the trade: ours written for other people's scripts, theirs opened here."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from annotation.elsewhere import import_annotations
from annotation.errors import Refusal
from annotation.forms import AnswerForm
from annotation.intake import Counts, batched, import_items
from annotation.models import Annotation, Item, Study
from annotation.protocols.base import Answer, BadRow, Payload, Stage
from annotation.reading import Numbered, Row, read_csv
from hits import trade
from hits.errors import BadTerms
from hits.models import Batch, MarketWorker, Payment, Visit
from validation.exports import leaving

CHUNK = 1_000
VISIT = "assignment__sitting__visit"
COLUMNS = (
    *("item__ref", "item__role", "item__payload", "stage", "answer", "uncounted", "active_seconds", "submitted_at"),
    f"{VISIT}__pk",
)
PAID, REJECTED = Payment.State.PAID, Payment.State.REJECTED


class BadMap(Refusal):
    code, status = "bad_map", 422


# --- Out ------------------------------------------------------------------------------------------------


def sold(study: Study, batch: int | None = None) -> QuerySet[Annotation]:
    """Answers from sittings that were bought at a marketplace, and are proven to be their worker's.

    Raises BadTerms for a batch that is not there.
    """
    found = leaving(study).filter(**{f"{VISIT}__state": Visit.State.CONFIRMED})
    if batch is None:
        return found
    numbers = list(Batch.objects.filter(study=study).order_by("number").values_list("number", flat=True))
    if batch not in numbers:
        there = f"there are {', '.join(map(str, numbers))}" if numbers else "there is none yet"
        raise BadTerms(f"This study has no batch {batch}; {there}.")
    return found.filter(**{f"{VISIT}__hit__batch__number": batch})


def write_results(
    study: Study,
    out: Callable[[str], object],
    *,
    batch: int | None = None,
    at: datetime,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Batch results as CSV to `out`, one row per item answered; returns how many.

    The header names columns that only the last row may have, so all rows wait in a file on disk first.
    """
    columns = {f"{trade.INPUT}id"}
    with TemporaryFile("w+", encoding="utf-8") as waiting:
        for cells in _rows(sold(study, batch), study, at):
            columns |= cells.keys()
            waiting.write(json.dumps(cells) + "\n")
        waiting.seek(0)
        done = -1  # of the rows: the header is no row
        for lines in batched(trade.write_lines(trade.header_of(columns), map(json.loads, waiting)), CHUNK):
            out("".join(lines))
            done += len(lines)
            progress(done)
    return done


def _rows(found: QuerySet[Annotation], study: Study, at: datetime) -> Iterator[dict[str, str]]:
    rates = _rates(study, at)
    for rows in batched(found.values_list(*COLUMNS).iterator(chunk_size=CHUNK), CHUNK):
        visits = Visit.objects.select_related("hit__batch").in_bulk({row[-1] for row in rows})
        rewards = Payment.objects.filter(visit__in=visits, kind=Payment.Kind.REWARD)
        heads = {pk: _head(visits[pk], reward, rates) for reward in rewards for pk in [cast(int, reward.visit_id)]}
        for ref, role, payload, stage, answer, uncounted, seconds, submitted_at, pk in rows:
            head = heads.get(pk) or _head(visits[pk], None, rates)
            yield {
                **head,
                **_input_cells(study, role, {"id": ref, **payload}),
                **_answer_cells(study.protocol.stage(stage), payload, answer),
                trade.STAGE: stage,
                trade.UNCOUNTED: uncounted,
                trade.SECONDS: "" if seconds is None else str(seconds),
                trade.SUBMITTED_AT: submitted_at.isoformat(),
            }


def _input_cells(study: Study, role: str, payload: Payload) -> dict[str, str]:
    """Plain where the protocol makes the same item of plain cells again, as of nearly all; exact otherwise."""
    plain = _cells(payload, plain=True)
    try:
        again = study.protocol.read_row({name: trade.read_cell(cell) for name, cell in plain.items()}, role)
        is_same = again.payload == payload
    except BadRow:
        is_same = False
    cells = plain if is_same else _cells(payload, plain=False)
    return {trade.INPUT + name: cell for name, cell in cells.items()}


def _cells(payload: Payload, *, plain: bool) -> dict[str, str]:
    cells = {name: trade.write_cell(value, plain=plain) for name, value in payload.items()}
    return {name: cell for name, cell in cells.items() if cell}


def _answer_cells(stage: Stage, payload: Payload, answer: Answer) -> dict[str, str]:
    """As above."""
    cells = trade.flatten(answer, plain=True)
    again = trade.nest({trade.split(c.removeprefix(trade.ANSWER)): trade.read_cell(v) for c, v in cells.items()})
    form = _form(stage, payload, again)
    return cells if form and form.is_valid() and form.answer == answer else trade.flatten(answer, plain=False)


def _form(stage: Stage, payload: Payload, answer: object) -> AnswerForm | None:
    """None for an answer that cannot even be adopted."""
    stage = stage.fitted(payload)
    try:
        return AnswerForm(stage, payload, stage.adopt(answer))
    except BadRow:
        return None


def _head(visit: Visit, reward: Payment | None, rates: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, str]:
    """What the site says of an assignment, which all its rows repeat."""
    hit, batch = visit.hit, visit.hit.batch
    state = reward.state if reward else ""
    status = "Approved" if state == PAID else "Rejected" if state == REJECTED else visit.remote or "Submitted"
    settled = trade.write_time(reward.settled_at) if reward else ""
    taken = visit.submitted_at and visit.accepted_at and (visit.submitted_at - visit.accepted_at)
    cells: dict[str, object] = {
        "HITId": hit.hit_id or "",
        "HITTypeId": hit.hit_type_id,
        "Title": trade.guard(batch.title),
        "Description": trade.guard(batch.description),
        "Keywords": trade.guard(batch.keywords),
        "Reward": f"${batch.reward:.2f}",
        "CreationTime": trade.write_time(batch.created_at),
        "MaxAssignments": hit.seats,
        "RequesterAnnotation": f"BatchId:{batch.number};",
        "AssignmentDurationInSeconds": batch.duration_minutes * 60,
        "AutoApprovalDelayInSeconds": batch.auto_approval_hours * 3600,
        "Expiration": trade.write_time(hit.expires_at),
        "LifetimeInSeconds": batch.lifetime_hours * 3600,
        "AssignmentId": visit.assignment_id,
        "WorkerId": trade.guard(visit.remote_worker),
        "AssignmentStatus": status,
        "AcceptTime": trade.write_time(visit.accepted_at or visit.opened_at),
        "SubmitTime": trade.write_time(visit.submitted_at or visit.left_at),
        "AutoApprovalTime": trade.write_time(visit.approves_at),
        "ApprovalTime": settled if state == PAID else "",
        "RejectionTime": settled if state == REJECTED else "",
        "RequesterFeedback": trade.guard(reward.reason) if reward else "",
        "WorkTimeInSeconds": int(taken.total_seconds()) if taken else "",
        **rates.get((batch.place, visit.remote_worker), {}),
    }
    return {name: str(cell) for name, cell in cells.items()}


def _rates(study: Study, at: datetime) -> dict[tuple[str, str], dict[str, str]]:
    """(place, worker there) -> the rates of approval as the site writes them: "50% (1/2)", over all that this server
    decided there.
    """
    places = Batch.objects.filter(study=study).values("place")
    decided = Payment.objects.filter(kind=Payment.Kind.REWARD, state__in=[PAID, REJECTED], batch__place__in=places)
    spans = {"Lifetime": Q(), "Last30Days": Q(settled_at__gt=at - timedelta(30))}
    spans["Last7Days"] = Q(settled_at__gt=at - timedelta(7))
    wanted = {f"{name}_all": Count("pk", filter=span) for name, span in spans.items()}
    wanted |= {f"{name}_paid": Count("pk", filter=Q(state=PAID) & span) for name, span in spans.items()}
    rows = decided.order_by().values("batch__place", "visit__remote_worker").annotate(**wanted)
    columns = ("batch__place", "visit__remote_worker", *wanted)
    return {
        (place, worker): {
            f"{name}ApprovalRate": _rate(approved, both)
            for name, both, approved in zip(spans, counts[: len(spans)], counts[len(spans) :], strict=True)
        }
        for place, worker, *counts in rows.values_list(*columns).iterator(chunk_size=CHUNK)
    }


def _rate(approved: int, decided: int) -> str:
    return f"{100 * approved // decided if decided else 0}% ({approved}/{decided})"


# --- In -------------------------------------------------------------------------------------------------


def read_map(item_column: str, maps: Iterable[str], values: Iterable[str]) -> trade.Reading:
    """Raises BadMap."""
    try:
        return trade.read_reading(item_column, maps, values)
    except trade.BadReading as error:
        raise BadMap(str(error)) from error


@transaction.atomic
def import_results(
    study: Study,
    file: BinaryIO,
    reading: trade.Reading,
    *,
    stage: str = "",
    make_items: bool = False,
    skip_bad: bool = False,
    by: str,
    at: datetime,
    progress: Callable[[int], None] | None = None,
) -> tuple[Counts, Counts]:
    """Take batch results as annotations made elsewhere; returns what became of the rows, and of their items.

    stage: of all rows; a file of ours names it in each. make_items: items that are not there are made of Input.*;
    the file is then read twice, and must be at its beginning. One transaction, constant memory.
    Raises BadMap and BadFile; then nothing is kept. With `skip_bad`, bad rows are counted and the others kept.
    """
    stages = [known.name for known in study.protocol.stages]
    if stage and stage not in stages:
        raise BadMap(f"This study has no stage {stage!r}; it has {', '.join(stages)}.")
    made = Counts()
    with TemporaryFile("w+b") as kept:
        if make_items and not file.seekable():
            copyfileobj(file, kept)
            kept.seek(0)
            file = cast(BinaryIO, kept)
        if make_items:
            made = _make_items(study, file, reading, by=by, at=at, progress=progress)
            file.seek(0)
        opened = _Opened(study, reading, stage, make_items, _worker_codes(study))
        rows = Numbered(opened.rows(_open(file, reading, needs_stage=not stage)))
        counts = import_annotations(study, rows, skip_bad=skip_bad, by=by, at=at, progress=progress)
    return counts, made


def _open(file: BinaryIO, reading: trade.Reading, *, needs_stage: bool) -> Iterator[Row]:
    header, rows = read_csv(file)
    try:
        reading.check(header)
    except trade.BadReading as error:
        raise BadMap(f"This cannot be read as batch results. {error}") from error
    if needs_stage and trade.STAGE not in header:
        raise BadMap("The file does not say in which stage this was done: say it with --stage.")
    return rows


def _make_items(
    study: Study,
    file: BinaryIO,
    reading: trade.Reading,
    *,
    by: str,
    at: datetime,
    progress: Callable[[int], None] | None,
) -> Counts:
    """What cannot be made is left out here; the rows about it are refused when they are taken, with the reason."""

    def inputs() -> Iterator[Mapping[str, Any]]:
        before: object = None
        for _, row in _open(file, reading, needs_stage=False):
            if isinstance(row, BadRow):
                continue
            try:
                found = reading.read(row).inputs
            except BadRow:
                continue
            if found != before:  # a HIT's rows follow each other
                yield found
            before = found

    return import_items(study, inputs(), skip_bad=True, by=by, at=at, progress=progress)


def _worker_codes(study: Study) -> dict[str, str]:
    """Worker at a marketplace -> who that is here; of those who are in the study."""
    there = MarketWorker.objects.filter(worker__enrolments__study=study).order_by("pk")
    return dict(there.values_list("remote_worker", "worker__code"))


@dataclass
class _Opened:
    """Rows of batch results as rows that `import_annotations` takes."""

    study: Study
    reading: trade.Reading
    stage: str
    make_items: bool
    codes: Mapping[str, str]
    assignment: str = ""  # of the row before

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for batch in batched(rows, CHUNK):
            read = [(number, self._read(row)) for number, row in batch]
            refs = {work.item for _, work in read if isinstance(work, trade.Work)}
            items = {item.ref: item for item in self.study.items.filter(ref__in=refs)}
            yield from ((number, self._row(work, items.get(getattr(work, "item", "")))) for number, work in read)

    def _read(self, row: Mapping[str, Any] | BadRow) -> trade.Work | BadRow:
        try:
            return row if isinstance(row, BadRow) else self.reading.read(row)
        except BadRow as error:
            return error

    def _row(self, work: trade.Work | BadRow, item: Item | None) -> Mapping[str, Any] | BadRow:
        if isinstance(work, BadRow):
            return work
        try:
            self._check_item(work, item)
            stage = self._stage(work)
        except BadRow as error:
            return error
        # Of several rows of one assignment, the first has its time.
        is_first = not work.assignment or work.assignment != self.assignment
        self.assignment = work.assignment
        row = {
            "item": work.item,
            "worker": self.codes.get(work.worker, work.worker),
            "stage": stage.name,
            "answer": _meant(stage, item.payload if item else {}, work.answers),
            "active_seconds": work.seconds if is_first or work.stage else None,
            "counted": not work.uncounted,
            "why": work.uncounted,
            "said": work.said,
            "sitting": work.assignment,
        }
        times = {"submitted_at": work.submitted_at, "leased_at": work.accepted_at}
        return row | {name: time.isoformat() for name, time in times.items() if time}

    def _stage(self, work: trade.Work) -> Stage:
        """Raises BadRow."""
        name = work.stage or self.stage
        if self.stage and name != self.stage:
            raise BadRow(f"this was done in the stage {name!r}, not in {self.stage!r}; without --stage both are taken")
        try:
            return self.study.protocol.stage(name)
        except KeyError:
            known = ", ".join(known.name for known in self.study.protocol.stages)
            raise BadRow(f"there is no stage {name!r}, only {known}") from None

    def _check_item(self, work: trade.Work, item: Item | None) -> None:
        """With items that are made of the file, the answer must be about what the row shows. Raises BadRow."""
        if not self.make_items:
            if item is None:
                raise BadRow(f"there is no item {work.item!r}; with --make-items it is made of the Input columns")
        elif item is None or item.role == Item.Role.WORK:
            payload = self.study.protocol.read_row(work.inputs, Item.Role.WORK).payload
            if item and payload != item.payload:
                raise BadRow(f"the item {work.item!r} is there already, with other content")


def _meant(stage: Stage, payload: Payload, answers: Sequence[Answer]) -> Answer:
    """The first that the protocol takes; else the last, of which it says what is wrong."""
    forms = ((answer, _form(stage, payload, answer)) for answer in answers)
    return next((answer for answer, form in forms if form and form.is_valid()), answers[-1])
