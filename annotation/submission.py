"""Take an answer once: drafts while it is written, then the whole sitting in one transaction."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation import exclusion, fitting, limits, qualification, signs, way_in, wordings
from annotation.errors import Closed, Invalid, NotYetRight
from annotation.events import SYSTEM, actor, event, record
from annotation.forms import AnswerForm, by_field
from annotation.leasing import lock, lock_qualifications, renew
from annotation.lifecycle import ASSIGNMENT, SITTING
from annotation.models import Annotation, Assignment, Enrolment, Item, Revocation, Sitting, Study, Worker
from annotation.models.sittings import State
from annotation.progress import advance, free_seat, seats_of
from annotation.protocols.base import Fields, Stage

LATE, UNCONFIRMED = Annotation.Why.LATE, Annotation.Why.UNCONFIRMED
HELD, EXCLUDED = Annotation.Why.HELD, Annotation.Why.EXCLUDED


def save_draft(
    assignment: Assignment,
    fields: Fields,
    *,
    active_seconds: int,
    at: datetime,
    page: str = "",
    edit: int = 0,
    noticed: Mapping[str, int] | None = None,
) -> None:
    """Keep what is on the worker's screen, also when the lease has lapsed. Raises Closed once it was submitted.

    active_seconds: the page's own count so far; it never shrinks and never exceeds the time since the lease.
    noticed: what the page noticed (see `signs`); kept unless the study switches that off.
    page, edit: the page's own name and its count of edits; one that a later edit of the same page overtook is left out.
    """
    since_lease = int((at - assignment.sitting.opened_at).total_seconds())
    seconds = max(assignment.active_seconds, min(active_seconds, since_lease))
    mine = Assignment.objects.filter(pk=assignment.pk).exclude(state=State.SUBMITTED)
    overtaken = Q(draft_page=page, draft_edit__gt=edit) if page else Q(pk=None)
    kept: dict[str, Any] = {"draft": dict(fields), "draft_at": at, "active_seconds": seconds}
    kept |= {"draft_page": page, "draft_edit": edit}
    if noticed and assignment.sitting.study.options.get("signs") == "on":
        kept["signs"] = signs.merge(assignment.signs, noticed)
    if mine.exclude(overtaken).update(**kept):
        for name, value in kept.items():
            setattr(assignment, name, value)
    elif not mine.exists():
        raise Closed("You have submitted this item; the answer you gave then is the one that counts.")
    renew(assignment.sitting, assignment.sitting.study, at=at)


def submit(
    sitting: Sitting, answers: Mapping[int, object], *, at: datetime, confirmed: bool = True
) -> list[Annotation]:
    """Record the sitting's answers, all or none; a repeated call returns the first. Locks the items; of a practice or
    test, which may change what somebody is qualified for, first the study and the worker's qualifications.

    answers: assignment id -> raw answer; an assignment that is not named is answered from its draft.
    An answer after the lease lapsed counts if its seat is still free, and is kept and marked otherwise.
    confirmed: whether it is proven that the worker gave them. Work that is not counts only once `confirm` says so;
    practice and tests are taken either way.
    Raises Invalid (with the problems per assignment and field), Closed for a sitting that was given back, or
    NotYetRight for a practice.
    """
    with transaction.atomic():
        if sitting.purpose != Sitting.Purpose.WORK:
            qualification.lock(sitting.study)
            lock_qualifications(sitting.worker, sitting.study)
        assignments = sorted(lock([sitting]), key=lambda a: a.pk)
        items = {a.item_id: a.item for a in assignments}
        sitting.state, sitting.closed_at = assignments[0].sitting.state, assignments[0].sitting.closed_at
        if sitting.state == State.RETURNED:
            raise Closed("You gave this sitting back, so it was not submitted. What you wrote is kept.")
        if sitting.state == State.WITHDRAWN:
            raise Closed("Your access was withdrawn before this was submitted. What you wrote is kept.")
        if sitting.state != State.SUBMITTED:
            clean = _read(sitting, assignments, items, answers)
            unproven = not confirmed and sitting.purpose == Sitting.Purpose.WORK
            return _take(sitting, assignments, items, clean, unproven=unproven, at=at)
    return list(Annotation.objects.filter(assignment__in=assignments).select_related("item").order_by("assignment"))


def _read(
    sitting: Sitting, assignments: list[Assignment], items: Mapping[int, Item], answers: Mapping[int, object]
) -> dict[int, dict[str, Any]]:
    """Checked answers by assignment id. Raises Invalid with everything that blocks, not only the first."""
    asked = fitting.stages_of(sitting.study.protocol.stage(sitting.stage), assignments)
    clean: dict[int, dict[str, Any]] = {}
    problems: dict[int, dict[str, list[str]]] = {}
    for assignment in assignments:
        payload = items[assignment.item_id].payload
        form = AnswerForm.of(asked[assignment.pk], payload, answers.get(assignment.pk), assignment.draft)
        if form.is_valid():
            clean[assignment.pk] = form.answer
        else:
            problems[assignment.pk] = form.errors
    stage = sitting.study.protocol.stage(sitting.stage)
    if stage.sentences and sitting.purpose == Sitting.Purpose.WORK:
        given = {a.pk: (a.item_id, stage.sentences(clean[a.pk])) for a in assignments if a.pk in clean}
        for pk, repeated in wordings.repeated(sitting.study, given).items():
            problems[pk] = by_field(repeated)
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
    unproven: bool,
    at: datetime,
) -> list[Annotation]:
    """Write the annotations, close the sitting, advance the items. The caller holds the items' locks."""
    study, worker = sitting.study, sitting.worker
    if sitting.purpose == Sitting.Purpose.TEST and qualification.is_full(study, sitting.stage):
        raise Closed("All places were taken while you worked, so the test is closed. What you wrote is kept.")
    if sitting.purpose == Sitting.Purpose.PRACTICE and way_in.unlearnt(assignments):
        raise NotYetRight
    stage, consent = study.protocol.stage(sitting.stage), _consent(study, worker)
    held = [a for a in assignments if a.state == State.LEASED]
    _seat_late(study, [a for a in assignments if a.state == State.EXPIRED], items, at=at)
    obsolete = _obsolete(held) if stage.judges else set()
    ASSIGNMENT.move([a for a in held if a.pk in obsolete], State.SUBMITTED, closed_at=at, seat=None)
    ASSIGNMENT.move([a for a in held if a.pk not in obsolete], State.SUBMITTED, closed_at=at)
    annotations = Annotation.objects.bulk_create(
        Annotation(
            study=study,
            item=items[assignment.item_id],
            worker=worker,
            assignment=assignment,
            stage=sitting.stage,
            answer=answers[assignment.pk],
            uncounted=Annotation.Why.OBSOLETE if assignment.pk in obsolete else _why_uncounted(assignment, unproven),
            unproven=unproven,
            is_right=is_right(study, stage, items[assignment.item_id], answers[assignment.pk]),
            consent=consent,
            protocol_version=study.protocol_version,
            active_seconds=assignment.active_seconds or None,
            signs=assignment.signs,
            submitted_at=at,
        )
        for assignment in assignments
    )
    if lost := wordings.keep(stage, annotations):  # somebody handed in the same text while this was looked at
        raise Invalid({pk: by_field(problems) for pk, problems in lost.items()})
    SITTING.move([sitting], State.SUBMITTED, closed_at=at)
    events = [
        event(study, what, by=actor(worker), at=at, item=a.item_id, worker=worker, why=why, stage=sitting.stage)
        for a in assignments
        for what, why in [_said(a, unproven)]
    ]
    work = [item for item in items.values() if item.role == Item.Role.WORK]
    record(events + (advance(study, work, at=at) if work else []))
    if sitting.purpose == Sitting.Purpose.TEST:
        qualification.score(sitting, annotations, at=at)
    if sitting.purpose == Sitting.Purpose.PRACTICE:
        way_in.go_through(worker, study, sitting.stage, at=at)
    return annotations


# What becomes of work of somebody whose revocation is in force by the time it is confirmed.
REVOKED: Mapping[str, str] = {Revocation.Work.HOLD: HELD, Revocation.Work.EXCLUDE: EXCLUDED}


@transaction.atomic
def confirm(sitting: Sitting, *, at: datetime) -> int:
    """It is proven now that the worker gave these answers: make the unconfirmed ones what they would have been, or, of
    a worker revoked meanwhile, what the revocation says of their work. Returns how many; a repeated call does nothing.

    Locks the worker's qualifications, as revoking does, then what submitting locks.
    """
    study, worker = sitting.study, sitting.worker
    lock_qualifications(worker, study)
    assignments = lock([sitting])
    unproven = Annotation.objects.filter(assignment__in=assignments, unproven=True).order_by("pk")
    rows = list(unproven.select_related("assignment"))
    if not rows:
        return 0
    record(event(study, "confirmed", by=SYSTEM, at=at, item=r.item_id, worker=worker, stage=r.stage) for r in rows)
    mine = Revocation.objects.filter(enrolment__worker=worker, enrolment__study=study)
    in_force = mine.filter(state=Revocation.State.IN_FORCE).first()
    instead = REVOKED.get(in_force.work, "") if in_force else ""
    unconfirmed: dict[str, list[Annotation]] = defaultdict(list)
    for row in rows:
        if row.uncounted == UNCONFIRMED:
            unconfirmed[_why_uncounted(row.assignment) or instead].append(row)
    for why, some in unconfirmed.items():
        if why != EXCLUDED:
            Annotation.objects.filter(pk__in=[row.pk for row in some]).update(uncounted=why, unproven=False)
    if in_force:
        by, why, held = in_force.decided_by, in_force.why, unconfirmed[HELD]
        exclusion.set_aside(study, [row.pk for row in unconfirmed[EXCLUDED]], EXCLUDED, by=by, why=why, at=at)
        record(event(study, HELD, by=by, at=at, item=r.item_id, worker=worker, why=why, stage=r.stage) for r in held)
    Annotation.objects.filter(pk__in=[row.pk for row in rows]).update(unproven=False)
    counted = {row.item_id for row in unconfirmed[""]}
    if counted:
        # Anew: the item may have been closed without this answer, under options that ask for fewer.
        record(advance(study, [a.item for a in assignments if a.item_id in counted], at=at, anew=True))
    return sum(map(len, unconfirmed.values()))


def _consent(study: Study, worker: Worker) -> int | None:
    """The version of the study's text that the worker agreed to."""
    if not study.consent_version:
        return None
    return Enrolment.objects.values_list("consent", flat=True).get(study=study, worker=worker)


# Why an answer to such an item is not counted: it is there to test people, not to be collected.
UNCOUNTED: Mapping[str, str] = {
    Item.Role.GOLD: Annotation.Why.GOLD,
    Item.Role.FILLER: Annotation.Why.FILLER,
    Item.Role.PRACTICE: Annotation.Why.PRACTICE,
    Item.Role.QUALIFICATION: Annotation.Why.TEST,
}


def _why_uncounted(assignment: Assignment, unproven: bool = False) -> str:
    why = UNCOUNTED.get(assignment.role) or ("" if assignment.seat is not None else LATE)
    return UNCONFIRMED if unproven and why != LATE else why


def is_right(study: Study, stage: Stage, item: Item, answer: Mapping[str, Any]) -> bool | None:
    """Whether the answer is the known one; None for work, whose answer nobody knows, and where it is not asked."""
    if item.role == Item.Role.WORK or item.gold is None:
        return None
    return stage.matches(item.gold, answer, study.options)


def _said(assignment: Assignment, unproven: bool) -> tuple[str, str]:
    """What the event log says of an answer that was handed in, and why."""
    if assignment.seat is not None or assignment.role != Item.Role.WORK:
        return "submitted", "Who gave it is not proven yet." if unproven else ""
    return "submitted late", "The seat had been given to somebody else; the answer is kept."


def _obsolete(assignments: list[Assignment]) -> set[int]:
    """The ids of those that judge answers which were excluded meanwhile: nobody asks for this judgement any more."""
    judged = {pk for a in assignments for pk in a.judges}
    standing = Annotation.objects.filter(pk__in=judged, uncounted__in=["", Annotation.Why.HELD])
    there = set(standing.values_list("pk", flat=True))
    return {a.pk for a in assignments if not there.issuperset(a.judges)}


def _seat_late(study: Study, assignments: list[Assignment], items: Mapping[int, Item], *, at: datetime) -> None:
    """Give lapsed assignments their seat back where one is still free, and close all of them."""
    work = [a for a in assignments if a.role == Item.Role.WORK]
    seats = seats_of([items[a.item_id] for a in work])
    for assignment in assignments:
        item = items[assignment.item_id]
        free = assignment in work and item.stage == assignment.stage and item.open_seats > 0
        seat = free_seat(seats[item.pk].taken[assignment.stage]) if free else None
        ASSIGNMENT.move([assignment], State.SUBMITTED, closed_at=at, seat=seat)
    if work:
        limits.count_taken(study, work[0].worker_id, work[0].stage, len(work))
