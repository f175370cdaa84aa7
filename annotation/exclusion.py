"""Finished work that is not to count: held back, excluded, or withdrawn by its writer. Nothing is ever deleted.

An excluded answer gives its seat up and the item is collected again; one that is held keeps its seat, so nobody is
asked anew while somebody decides. Judgements about an answer that is taken out of the count are obsolete, and give
their seats up too. All of this can be called again: what is as it should be is left alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation import wordings
from annotation.events import event, record
from annotation.intake import batched
from annotation.models import Annotation, Assignment, Event, Item, Study
from annotation.progress import advance, free_seat, seats_of

WHY = Annotation.Why
CHUNK = 500  # items in one transaction
TAKEN_OUT = (WHY.EXCLUDED, WHY.WITHDRAWN, WHY.OBSOLETE)
SEATED = ("", WHY.HELD, WHY.UNCONFIRMED)
# What may become what: an answer that is late, or withdrawn by its writer, stays so, and answers to hidden items are
# never excluded.
FROM: dict[str, Q] = {
    WHY.HELD: Q(uncounted=""),
    WHY.EXCLUDED: Q(uncounted__in=["", WHY.HELD]) | Q(uncounted=WHY.UNCONFIRMED, item__role=Item.Role.WORK),
    WHY.WITHDRAWN: ~Q(uncounted=WHY.WITHDRAWN),
}


@dataclass
class Effect:
    """What was done: annotations that changed, items they are on, seats that were opened by it."""

    annotations: int = 0
    items: int = 0
    seats: int = 0

    def add(self, other: "Effect") -> None:
        self.annotations += other.annotations
        self.items += other.items
        self.seats += other.seats


Progress = Callable[[int, int], None]


def set_aside(
    study: Study,
    annotations: Iterable[int],
    to: str,
    *,
    by: str,
    why: str,
    at: datetime,
    progress: Progress = lambda done, total: None,
) -> Effect:
    """Take these annotations (ids) out of the count as `to`: held, excluded or withdrawn.

    In steps of CHUNK items, each a transaction that locks its items: cut off, the rest is done by calling it again.
    """
    found = Annotation.objects.filter(FROM[to], study=study, pk__in=annotations)
    return _in_steps(study, found, lambda items, chunk: _take_out(study, items, chunk, to, by, why, at), progress)


def reinstate(
    study: Study,
    annotations: Iterable[int],
    *,
    by: str,
    why: str,
    at: datetime,
    progress: Progress = lambda done, total: None,
) -> Effect:
    """Let held and excluded annotations count again, those whose seat (or wording) nobody has taken since; the others
    stay out.

    So do those that are unproven, until they are confirmed.
    """
    given = Annotation.objects.filter(study=study, pk__in=annotations, unproven=False)
    found = given.filter(uncounted__in=[WHY.HELD, WHY.EXCLUDED])
    return _in_steps(study, found, lambda items, chunk: _let_in(study, items, chunk, by, why, at), progress)


Step = Callable[[list[Item], list[Annotation]], Effect]


def _in_steps(study: Study, found: QuerySet[Annotation], step: Step, progress: Progress) -> Effect:
    pks = list(found.order_by("item_id").values_list("item_id", flat=True).distinct())
    effect = Effect()
    for chunk in batched(pks, CHUNK):
        with transaction.atomic():
            items = list(Item.objects.filter(pk__in=chunk).order_by("pk").select_for_update(of=("self",)))
            effect.add(step(items, list(found.filter(item__in=chunk).select_related("assignment").order_by("pk"))))
        progress(effect.items, len(pks))
    return effect


def _take_out(
    study: Study, items: list[Item], chunk: list[Annotation], to: str, by: str, why: str, at: datetime
) -> Effect:
    _mark(chunk, to)
    obsolete = [] if to == WHY.HELD else _judging(items, {a.pk for a in chunk})
    _mark(obsolete, WHY.OBSOLETE)
    events = [
        event(study, row.uncounted, by=by, at=at, item=row.item_id, worker=row.worker_id, why=why, stage=row.stage)
        for row in (*chunk, *obsolete)
    ]
    return _advance(study, items, len(chunk), events, at)


def _mark(rows: list[Annotation], to: str) -> None:
    Annotation.objects.filter(pk__in=[row.pk for row in rows]).update(uncounted=to)
    if to != WHY.HELD:
        wordings.free([row.pk for row in rows])
        Assignment.objects.filter(pk__in=[row.assignment_id for row in rows]).update(seat=None)
    for row in rows:
        row.uncounted = to


def _judging(items: list[Item], judged: set[int]) -> list[Annotation]:
    """Judgements of these items that have a seat and are about any of these annotations."""
    seated = Annotation.objects.filter(item__in=items, uncounted__in=SEATED).select_related("assignment")
    return [row for row in seated.order_by("pk") if judged.intersection(row.assignment.judges)]


def _let_in(study: Study, items: list[Item], chunk: list[Annotation], by: str, why: str, at: datetime) -> Effect:
    held = [row for row in chunk if row.uncounted == WHY.HELD]
    Annotation.objects.filter(pk__in=[row.pk for row in held]).update(uncounted="")
    events, let_in = [], list(held)
    open_items = {item.pk: item for item in items}
    for row in (row for row in chunk if row.uncounted == WHY.EXCLUDED and row.assignment.role == Item.Role.WORK):
        item, taken = open_items[row.item_id], seats_of([open_items[row.item_id]])[row.item_id].taken[row.stage]
        is_free = item.stage == row.stage and item.open_seats > 0 and not row.assignment.judges
        if is_free and wordings.reclaim(study.protocol.stage(row.stage), row):
            Assignment.objects.filter(pk=row.assignment_id).update(seat=free_seat(taken))
            Annotation.objects.filter(pk=row.pk).update(uncounted="")
            Item.objects.filter(pk=item.pk).update(open_seats=item.open_seats - 1)
            item.open_seats -= 1
            let_in.append(row)
    events += [
        event(study, "reinstated", by=by, at=at, item=row.item_id, worker=row.worker_id, why=why, stage=row.stage)
        for row in let_in
    ]
    return _advance(study, items, len(let_in), events, at)


def _advance(study: Study, items: list[Item], annotations: int, events: list[Event], at: datetime) -> Effect:
    work = [item for item in items if item.role == Item.Role.WORK]
    before = {item.pk: item.open_seats for item in work}
    record(events + advance(study, work, at=at, anew=True))
    opened = {item.pk: item.open_seats - before[item.pk] for item in work if item.open_seats > before[item.pk]}
    Item.objects.filter(pk__in=opened, recollected=False).update(recollected=True)
    return Effect(annotations, len(items), sum(opened.values()))
