"""Take an answer once: drafts while it is written, then the whole sitting in one transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.errors import Closed, Invalid
from annotation.events import actor, event, record
from annotation.forms import AnswerForm
from annotation.leasing import lock, renew
from annotation.lifecycle import ASSIGNMENT, SITTING
from annotation.models import Annotation, Assignment, Item, Sitting
from annotation.models.sittings import State
from annotation.progress import advance, free_seat, seats_of
from annotation.protocols.base import Fields

LATE = "late"


def save_draft(
    assignment: Assignment, fields: Fields, *, active_seconds: int, at: datetime, page: str = "", edit: int = 0
) -> None:
    """Keep what is on the worker's screen, also when the lease has lapsed. Raises Closed once it was submitted.

    active_seconds: the page's own count so far; it never shrinks and never exceeds the time since the lease.
    page, edit: the page's own name and its count of edits; one that a later edit of the same page overtook is left out.
    """
    since_lease = int((at - assignment.sitting.opened_at).total_seconds())
    seconds = max(assignment.active_seconds, min(active_seconds, since_lease))
    mine = Assignment.objects.filter(pk=assignment.pk).exclude(state=State.SUBMITTED)
    overtaken = Q(draft_page=page, draft_edit__gt=edit) if page else Q(pk=None)
    kept = {"draft": dict(fields), "draft_at": at, "active_seconds": seconds, "draft_page": page, "draft_edit": edit}
    if mine.exclude(overtaken).update(**kept):
        for name, value in kept.items():
            setattr(assignment, name, value)
    elif not mine.exists():
        raise Closed("You have submitted this item; the answer you gave then is the one that counts.")
    renew(assignment.sitting, assignment.sitting.study, at=at)


def submit(sitting: Sitting, answers: Mapping[int, object], *, at: datetime) -> list[Annotation]:
    """Record the sitting's answers, all or none; a repeated call returns the first. Locks the items.

    answers: assignment id -> raw answer; an assignment that is not named is answered from its draft.
    An answer after the lease lapsed counts if its seat is still free, and is kept and marked otherwise.
    Raises Invalid (with the problems per assignment and field), or Closed for a sitting that was given back.
    """
    with transaction.atomic():
        assignments = sorted(lock([sitting]), key=lambda a: a.pk)
        items = {a.item_id: a.item for a in assignments}
        sitting.state, sitting.closed_at = assignments[0].sitting.state, assignments[0].sitting.closed_at
        if sitting.state == State.RETURNED:
            raise Closed("You gave this sitting back, so it was not submitted. What you wrote is kept.")
        if sitting.state != State.SUBMITTED:
            return _take(sitting, assignments, items, _read(sitting, assignments, items, answers), at=at)
    return list(Annotation.objects.filter(assignment__in=assignments).select_related("item").order_by("assignment"))


def _read(
    sitting: Sitting, assignments: list[Assignment], items: Mapping[int, Item], answers: Mapping[int, object]
) -> dict[int, dict[str, Any]]:
    """Checked answers by assignment id. Raises Invalid with everything that blocks, not only the first."""
    stage = sitting.study.protocol.stage(sitting.stage)
    clean: dict[int, dict[str, Any]] = {}
    problems: dict[int, dict[str, list[str]]] = {}
    for assignment in assignments:
        form = AnswerForm.of(stage, items[assignment.item_id].payload, answers.get(assignment.pk), assignment.draft)
        if form.is_valid():
            clean[assignment.pk] = form.answer
        else:
            problems[assignment.pk] = form.errors
    ours = {a.pk for a in assignments}
    problems |= {pk: {"": ["This assignment is not part of the sitting."]} for pk in answers if pk not in ours}
    if problems:
        raise Invalid(problems)
    return clean


def _take(
    sitting: Sitting,
    assignments: list[Assignment],
    items: Mapping[int, Item],
    answers: Mapping[int, dict[str, Any]],
    *,
    at: datetime,
) -> list[Annotation]:
    """Write the annotations, close the sitting, advance the items. The caller holds the items' locks."""
    study, worker = sitting.study, sitting.worker
    held = [a for a in assignments if a.state == State.LEASED]
    _seat_late([a for a in assignments if a.state == State.EXPIRED], items, at=at)
    ASSIGNMENT.move(held, State.SUBMITTED, closed_at=at)
    annotations = Annotation.objects.bulk_create(
        Annotation(
            study=study,
            item=items[assignment.item_id],
            worker=worker,
            assignment=assignment,
            stage=sitting.stage,
            answer=answers[assignment.pk],
            uncounted="" if assignment.seat is not None else LATE,
            protocol_version=study.protocol_version,
            active_seconds=assignment.active_seconds or None,
            submitted_at=at,
        )
        for assignment in assignments
    )
    SITTING.move([sitting], State.SUBMITTED, closed_at=at)
    events = [
        event(
            study,
            "submitted" if a.seat is not None else "submitted late",
            by=actor(worker),
            at=at,
            item=a.item_id,
            worker=worker,
            why="" if a.seat is not None else "The seat had been given to somebody else; the answer is kept.",
            stage=sitting.stage,
        )
        for a in assignments
    ]
    record(events + advance(study, list(items.values()), at=at))
    return annotations


def _seat_late(assignments: list[Assignment], items: Mapping[int, Item], *, at: datetime) -> None:
    """Give lapsed assignments their seat back where one is still free, and close all of them."""
    seats = seats_of(list(items.values()) if assignments else [])
    for assignment in assignments:
        item = items[assignment.item_id]
        free = item.stage == assignment.stage and item.open_seats > 0
        seat = free_seat(seats[item.pk].taken[assignment.stage]) if free else None
        ASSIGNMENT.move([assignment], State.SUBMITTED, closed_at=at, seat=seat)
