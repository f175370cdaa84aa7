"""Ask the protocol what an item needs next; keep its open seats in step. Nothing else decides."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from annotation import signals
from annotation.events import event
from annotation.models import Assignment, Event, Item, Study
from annotation.protocols.base import Collect, Counted, Drop, Settle, Step

CLOSED = {Settle: Item.State.SETTLED, Drop: Item.State.DROPPED}


@dataclass
class Seats:
    """Who sits where on one item: the answers that count, and per stage the seats taken by them, by answers that are
    held back, and by leases.
    """

    counted: list[Counted] = field(default_factory=list)
    taken: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))


def seats_of(items: Collection[Item], without: Collection[int] = ()) -> dict[int, Seats]:
    """Every taken seat of these items, in one query; counted answers in order of submission.

    without: workers who are thought away, with their seats, their answers, and judgements of these.
    """
    seats: dict[int, Seats] = defaultdict(Seats)
    if not items:
        return seats
    rows = (
        Assignment.objects.filter(item__in=items, seat__isnull=False)
        .order_by("annotation__submitted_at", "annotation__pk")
        .values_list(
            "item_id",
            "stage",
            "seat",
            "judges",
            "annotation__pk",
            "annotation__answer",
            "annotation__uncounted",
            "worker_id",
        )
    )
    gone: set[int] = set()
    for item_id, stage, seat, judges, annotation_id, answer, uncounted, worker in rows:
        if worker in without or (annotation_id and gone.intersection(judges)):
            gone.add(annotation_id)
            continue
        seats[item_id].taken[stage].add(seat)  # type: ignore[arg-type]  # null was filtered out
        if uncounted == "":
            seats[item_id].counted.append(Counted(annotation_id, stage, answer, tuple(judges), worker))
    return seats


def free_seat(taken: set[int]) -> int:
    """The lowest seat number nobody holds."""
    return next(n for n in range(len(taken) + 1) if n not in taken)


def wanted(step: Step, taken: dict[str, set[int]]) -> tuple[str, str, int, int]:
    """(state, stage, votes_wanted, open_seats) an item should have after `step`."""
    if isinstance(step, Collect):
        return Item.State.OPEN, step.stage, step.votes, max(0, step.votes - len(taken.get(step.stage, ())))
    return CLOSED.get(type(step), Item.State.UNRESOLVED), "", 0, 0


def advance(study: Study, items: Sequence[Item], *, at: datetime, anew: bool = False) -> list[Event]:
    """Bring items in step with their counted answers; returns the events to record. The caller holds their locks.

    anew: counted answers were taken away or given back, so what was settled is settled again, with what counts now.
    """
    seats = seats_of(items)
    protocol, changed = study.protocol, defaultdict(list)
    settled: list[tuple[Item, Step]] = []
    reopened: list[Item] = []
    events = []
    for item in items:
        step = protocol.step(item.payload, seats[item.pk].counted, study.options, item.ruling)
        now = wanted(step, seats[item.pk].taken)
        before = (item.state, item.stage, item.votes_wanted, item.open_seats)
        if now[0] != before[0] or (anew and now[0] != Item.State.OPEN):
            settled.append((item, step))
        if now == before:
            continue
        changed[now].append(item)
        if now[3] > 0 and (now[1] != before[1] or now[3] > before[3]):
            reopened.append(item)
        if now[:2] != before[:2]:
            events.append(_moved(study, item, step, now, at))
    for now, rows in changed.items():
        _write(rows, now)
    _requeue(reopened, at)
    signals.answers_counted.send(Item, study=study, items=items, counted={i.pk: seats[i.pk].counted for i in items})
    if settled:
        signals.item_settled.send(Item, study=study, steps=settled, at=at)
    return events


def _write(rows: list[Item], now: tuple[str, str, int, int]) -> None:
    fields = dict(zip(("state", "stage", "votes_wanted", "open_seats"), now, strict=True))
    Item.objects.filter(pk__in=[row.pk for row in rows]).update(**fields)
    for row in rows:
        for name, value in fields.items():
            setattr(row, name, value)


def _requeue(items: list[Item], at: datetime) -> None:
    """To the end of the queue, a microsecond apart as at import, so that the queue has one order in every database."""
    for n, item in enumerate(items):
        item.queued_at = at + timedelta(microseconds=n)
    Item.objects.bulk_update(items, ["queued_at"], batch_size=500)


def _moved(study: Study, item: Item, step: Step, now: tuple[str, str, int, int], at: datetime) -> Event:
    what = f"moved to {now[1]}" if isinstance(step, Collect) else str(now[0])
    why = f"{step.votes} votes wanted" if isinstance(step, Collect) else step.why
    return event(study, what, by="system", at=at, item=item, why=why)
