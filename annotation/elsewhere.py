"""Annotations made elsewhere come in: checked by the form, seated and counted as live work is."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils.timezone import is_naive, make_aware

from annotation import limits, parts, wordings
from annotation.events import event, record
from annotation.forms import AnswerForm
from annotation.intake import Counts, batched
from annotation.models import Annotation, Assignment, Enrolment, Event, Item, Sitting, Study, Worker
from annotation.models.sittings import State
from annotation.models.workers import running_code
from annotation.progress import advance, free_seat, seats_of
from annotation.protocols.base import BadRow
from annotation.qualification import qualify
from annotation.reading import Source, read_rows
from annotation.submission import LATE, UNCONFIRMED, UNCOUNTED, is_right

BATCH = 1_000
KEPT_SITTINGS = 200  # of one batch, for those that go on in the next
MAX_SECONDS = 2**31 - 1
MAX_CODE = 100  # as Worker.code
MAX_SAID = 450  # of the log's 500
TAKEN = (Item.Role.WORK, Item.Role.GOLD, Item.Role.FILLER)  # what answers may be about
RUNNING_CODE = re.compile(r"W(\d{3,9})")


@dataclass
class Given:
    """One row, read without looking at the study's items. uncounted: why it must not count, or "".

    sitting: a name for what was done in one go, from leased_at on; "" where that is not known. said: for the log.
    """

    number: int
    item: str
    worker: str
    stage: str
    answer: object
    submitted_at: datetime
    active_seconds: int | None
    uncounted: str
    sitting: str = ""
    leased_at: datetime | None = None
    said: str = ""


@dataclass
class Fresh:
    """A row that is new and fit to be kept."""

    given: Given
    item: Item
    worker: Worker
    answer: dict[str, Any]
    attempt: int = 0


@transaction.atomic
def import_annotations(
    study: Study,
    source: Source,
    *,
    skip_bad: bool = False,
    by: str,
    at: datetime,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Take rows `{"item", "worker", "stage", "answer", "submitted_at"?, "sitting"?, "leased_at"?}` in order; one
    transaction, constant memory.

    An answer counts while a seat is open, as in live work, unless its row says `"counted": false`; else it is kept and
    marked. The worker is one of the study (by code or running code), or a new one, SLUG:WORKER. A row that was imported
    before is left alone; a hidden item may have been answered several times by one worker, as often as one file says.
    A text that the study wants once, and has already, is kept and counted as `repeated`.
    Raises BadFile for bad rows, unless `skip_bad`; then nothing is kept. Live work on the study waits meanwhile.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    in_order = study.items.work().order_by("pk").select_for_update()
    deque(in_order.values_list("pk").iterator(), maxlen=0)
    people, repeats, counts, read = People(study, by=by, at=at), Repeats(), Counts(), 0
    sittings: dict[SittingKey, Sitting] = {}
    for batch in batched(read_rows(source), BATCH):
        bad: dict[int, object] = {}
        given = []
        for number, row in batch:
            try:
                given.append(_read(study, number, row, at))
            except BadRow as error:
                bad[number] = error
        for rows in _rounds(given):
            fresh = _check(study, rows, people, repeats, counts, bad)
            counts.repeated += _take(study, fresh, sittings, by=by, at=at)
            counts.created += len(fresh)
        sittings = dict(list(sittings.items())[-KEPT_SITTINGS:])
        for number in sorted(bad):
            counts.add_bad(number, bad[number])
        read += len(batch)
        if progress:
            progress(read)
    if counts.bad and not skip_bad:
        raise counts.refusal()
    record([event(study, "imported annotations", by=by, at=at, counts=counts.as_dict())])
    return counts


def _read(study: Study, number: int, row: Mapping[str, Any] | BadRow, at: datetime) -> Given:
    """Raises BadRow."""
    if isinstance(row, BadRow):
        raise row
    item = str(row["item"]) if type(row.get("item")) is int else row.get("item")
    for name, value in (("item", item), ("worker", row.get("worker")), ("stage", row.get("stage"))):
        if not isinstance(value, str) or not value.strip():
            raise BadRow(f"'{name}' is missing or not a text")
    stages = [s.name for s in study.protocol.stages]
    if row["stage"] not in stages:
        raise BadRow(f"there is no stage {row['stage']!r}, only {', '.join(stages)}")
    if "answer" not in row:
        raise BadRow("'answer' is missing")
    counted, why, seconds = row.get("counted", True), row.get("why") or LATE, row.get("active_seconds")
    if not isinstance(counted, bool) or not isinstance(why, str) or len(why) > 20:
        raise BadRow("'counted' must be true or false, and 'why' a text of at most 20 characters")
    if seconds is not None and (type(seconds) is not int or not 0 <= seconds <= MAX_SECONDS):
        raise BadRow("'active_seconds' must be a whole number from 0")
    sitting, said = row.get("sitting"), row.get("said") or ""
    if not isinstance(sitting, int | str | None) or not isinstance(said, str) or len(said) > MAX_SAID:
        raise BadRow(f"'sitting' must be a text or a number, and 'said' a text of at most {MAX_SAID} characters")
    return Given(
        number=number,
        item=str(item),
        worker=row["worker"],
        stage=row["stage"],
        answer=row["answer"],
        submitted_at=_time(row, "submitted_at") or at,
        active_seconds=seconds,
        uncounted="" if counted else why,
        sitting="" if sitting is None else str(sitting),
        leased_at=_time(row, "leased_at"),
        said=said,
    )


def _time(row: Mapping[str, Any], name: str) -> datetime | None:
    """An ISO 8601 time; without a zone, in the server's. Raises BadRow."""
    text = row.get(name)
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
        return (make_aware(when) if is_naive(when) else when).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise BadRow(f"'{name}' must be a time such as 2026-11-02T12:00:00Z") from None


def _rounds(rows: Iterable[Given]) -> Iterable[Sequence[Given]]:
    """The n-th row of every item: rows of different items cannot touch each other, so a round is taken in one step."""
    rounds: dict[int, list[Given]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for row in rows:
        rounds[seen[row.item]].append(row)
        seen[row.item] += 1
    return rounds.values()


class People:
    """Who a row means by "worker"; new ones join the study, and whoever imports vouches for them."""

    def __init__(self, study: Study, *, by: str, at: datetime) -> None:
        self.study, self.by, self.at = study, by, at
        enrolled = list(study.enrolments.select_related("worker"))
        self.numbers = {e.number for e in enrolled}
        # Later ones win: a running code, then a name of an earlier import, then a code of this server.
        self.workers = {e.running_code: e.worker for e in enrolled}
        self.workers |= {e.worker.code.removeprefix(f"{study.slug}:"): e.worker for e in enrolled}
        self.workers |= {e.worker.code: e.worker for e in enrolled}
        self.vouched: set[tuple[int, str]] = set()
        self.enrolments = {e.worker_id: e for e in enrolled}

    def find(self, name: str) -> Worker:
        """Raises BadRow."""
        if name not in self.workers:
            self.workers[name] = self._add(name)
        return self.workers[name]

    def _add(self, name: str) -> Worker:
        """A worker called W007 elsewhere becomes our W007, if that is free: then exports of both read alike."""
        code = f"{self.study.slug}:{name}"
        if len(code) > MAX_CODE:
            raise BadRow(f"the worker's name {name[:20]!r}... is too long")
        worker, _ = Worker.objects.get_or_create(code=code, defaults={"created_at": self.at})
        number = int(found[1]) if (found := RUNNING_CODE.fullmatch(name)) else 0
        if number and running_code(number) == name and number not in self.numbers:
            Enrolment.objects.create(study=self.study, worker=worker, number=number, created_at=self.at)
        return worker

    def vouch(self, worker: Worker, stage: str) -> None:
        """Raises BadRow for somebody whose work in this stage was ended."""
        if (worker.pk, stage) in self.vouched:
            return
        enrolment = qualify(worker, self.study, [stage], by=self.by, at=self.at)
        self.numbers.add(enrolment.number)
        self.enrolments[worker.pk] = enrolment
        if enrolment.state != Enrolment.State.ACTIVE:
            raise BadRow(f"the worker {enrolment.running_code} may not work in this study any more")
        self.vouched.add((worker.pk, stage))

    def bind(self, worker: Worker, item: Item) -> None:
        """Raises BadRow for somebody who belongs to another part of the study."""
        enrolment = self.enrolments[worker.pk]
        if not parts.bind(enrolment, item.part):
            whose = f"the worker {worker.code.removeprefix(f'{self.study.slug}:')!r} belongs to {enrolment.part!r}"
            raise BadRow(f"{whose}, and the item {item.ref!r} to {item.part!r}")


class Repeats:
    """Several answers of one worker to one hidden item: which of those that are kept a file has named so far."""

    def __init__(self) -> None:
        self.named: dict[tuple[int, int], list[object]] = defaultdict(list)

    def is_known(self, item: int, worker: int, kept: Sequence[object], answer: object) -> bool:
        named = self.named[item, worker]
        named.append(answer)
        return kept.count(answer) >= named.count(answer)


def _check(
    study: Study, rows: Sequence[Given], people: People, repeats: Repeats, counts: Counts, bad: dict[int, object]
) -> list[Fresh]:
    """The rows to keep; what was there before is counted, what cannot be is put into `bad`."""
    items = {item.ref: item for item in study.items.filter(ref__in=[row.item for row in rows])}
    met = Assignment.objects.filter(item__in=items.values()).order_by("attempt")
    known: dict[tuple[int, int], list[tuple[str, object]]] = defaultdict(list)
    for item, worker, stage, answer in met.values_list("item_id", "worker_id", "stage", "annotation__answer"):
        known[item, worker].append((stage, answer))
    fresh = []
    for row in rows:
        try:
            new = _fit(study, row, items.get(row.item), people)
            if _was_there(study, row, new, known[new.item.pk, new.worker.pk], repeats):
                counts.unchanged += 1
                continue
            people.vouch(new.worker, row.stage)
            if new.item.part and study.protocol.stage(row.stage).binds:
                people.bind(new.worker, new.item)
            fresh.append(new)
        except BadRow as error:
            bad[row.number] = error
    return fresh


def _was_there(study: Study, row: Given, new: Fresh, before: Sequence[tuple[str, object]], repeats: Repeats) -> bool:
    """Whether the row says what is kept already. Raises BadRow where it says something else."""
    given = (row.stage, new.answer)
    if new.item.role != Item.Role.WORK:
        new.attempt = len(before)
        return repeats.is_known(new.item.pk, new.worker.pk, before, given)
    if before and given not in before and not study.protocol.keeps_first:
        raise BadRow(f"the worker {row.worker!r} has met the item {row.item!r} before")
    return bool(before)


def _fit(study: Study, row: Given, item: Item | None, people: People) -> Fresh:
    """Raises BadRow."""
    if item is None:
        raise BadRow(f"there is no item {row.item!r}")
    if item.role not in TAKEN:
        raise BadRow(f"the item {row.item!r} is not for work but for {item.role}")
    stage = study.protocol.stage(row.stage).fitted(item.payload)
    form = AnswerForm(stage, item.payload, stage.adopt(row.answer))
    if not form.is_valid():
        field, said = next(iter(form.errors.items()))
        raise BadRow(f"'answer' cannot be taken: {f'{field}: ' if field else ''}{said[0]}")
    return Fresh(row, item, people.find(row.worker), form.answer)


def _take(study: Study, rows: Sequence[Fresh], known: dict["SittingKey", Sitting], *, by: str, at: datetime) -> int:
    """Seat and write answers to different items, and advance the items; returns how many repeat a text that the study
    wants once. The caller holds the items' locks.

    known: sittings that earlier rows began; those that begin here are added.
    """
    if not rows:
        return 0
    seats = seats_of([row.item for row in rows])
    sittings = _sittings(study, rows, known)
    assignments = []
    for row in rows:
        stage, taken = row.given.stage, seats[row.item.pk]
        free = row.item.stage == stage and row.item.open_seats > 0 and not row.given.uncounted
        free = free and row.item.role == Item.Role.WORK
        judged = study.protocol.stage(stage).judges
        assignments.append(
            Assignment(
                sitting=sittings[_sitting_key(row)],
                item=row.item,
                worker=row.worker,
                stage=stage,
                role=row.item.role,
                attempt=row.attempt,
                seat=free_seat(taken.taken[stage]) if free else None,
                state=State.SUBMITTED,
                judges=[counted.id for counted in taken.counted if counted.stage in judged],
                active_seconds=row.given.active_seconds or 0,
                closed_at=row.given.submitted_at,
            )
        )
    Assignment.objects.bulk_create(assignments)
    whys = [
        UNCOUNTED.get(row.item.role) or ("" if assignment.seat is not None else row.given.uncounted or LATE)
        for row, assignment in zip(rows, assignments, strict=True)
    ]
    annotations = Annotation.objects.bulk_create(
        Annotation(
            study=study,
            item=row.item,
            worker=row.worker,
            assignment=assignment,
            stage=row.given.stage,
            answer=row.answer,
            uncounted=why,
            unproven=why == UNCONFIRMED,
            is_right=is_right(study, study.protocol.stage(row.given.stage), row.item, row.answer),
            protocol_version=study.protocol_version,
            active_seconds=row.given.active_seconds,
            submitted_at=row.given.submitted_at,
        )
        for row, assignment, why in zip(rows, assignments, whys, strict=True)
    )
    repeats = _keep_wordings(study, annotations)
    work = [row for row in rows if row.item.role == Item.Role.WORK]
    for (worker, stage), count in sorted(Counter((row.worker.pk, row.given.stage) for row in work).items()):
        limits.count_taken(study, worker, stage, count)
    limits.note_met(study, ((row.worker.pk, row.item) for row in work))
    events = [
        _event(study, row, assignment, by, is_repeat=assignment.pk in repeats)
        for row, assignment in zip(rows, assignments, strict=True)
    ]
    record(events + advance(study, [row.item for row in work], at=at))
    return len(repeats)


def _keep_wordings(study: Study, annotations: Sequence[Annotation]) -> set[int]:
    """The ids of the assignments with a text that was there before."""
    repeats: set[int] = set()
    for stage in study.protocol.stages:
        if stage.sentences:
            mine = [a for a in annotations if a.stage == stage.name and a.uncounted == ""]
            repeats |= wordings.keep(stage, mine, repeats=True).keys()
    return repeats


SittingKey = tuple[int, str, str]


def _sitting_key(row: Fresh) -> SittingKey:
    return row.worker.pk, row.given.stage, row.given.sitting


def _sittings(study: Study, rows: Sequence[Fresh], known: dict[SittingKey, Sitting]) -> Mapping[SittingKey, Sitting]:
    """The closed sittings of these rows: those the rows name, or one per worker and stage."""
    times: dict[SittingKey, list[datetime]] = defaultdict(list)
    for row in rows:
        if _sitting_key(row) not in known:
            times[_sitting_key(row)] += [row.given.leased_at or row.given.submitted_at, row.given.submitted_at]
    sittings = {
        (worker, stage, name): Sitting(
            study=study,
            worker_id=worker,
            stage=stage,
            state=State.SUBMITTED,
            leased_until=max(when),
            opened_at=min(when),
            closed_at=max(when),
        )
        for (worker, stage, name), when in times.items()
    }
    Sitting.objects.bulk_create(sittings.values())
    found = {**known, **sittings}
    known |= {key: sitting for key, sitting in sittings.items() if key[2]}
    return found


def _event(study: Study, row: Fresh, assignment: Assignment, by: str, *, is_repeat: bool) -> Event:
    is_in = assignment.seat is not None or assignment.role != Item.Role.WORK
    what = "submitted" if is_in else "submitted late"
    why = "Made elsewhere." if is_in else "Made elsewhere, and there was no seat for it."
    if row.given.uncounted and not is_in:
        why = "Made elsewhere, where it did not count."
    if is_repeat:
        why += " The study has one of its texts already."
    why = f"{why} {row.given.said}".strip()
    given = row.given
    return event(
        study, what, by=by, at=given.submitted_at, item=row.item, worker=row.worker, why=why, stage=given.stage
    )
