"""Lease, renew, give back, expire.

Locks are taken in one order: the study (where places are given out, or the rules declared), the worker's
qualifications, items (by primary key), sittings, then assignments. A lease skips items that somebody else has locked,
and waits for them only before it would say that there is nothing left.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from annotation import hidden, limits, parts
from annotation.declaration import declare
from annotation.errors import (
    Closed,
    ConsentNeeded,
    LimitReached,
    NothingLeft,
    NotQualified,
    Revoked,
    UnknownStage,
    Withdrawn,
)
from annotation.events import SYSTEM, actor, event, record
from annotation.lifecycle import ASSIGNMENT, SITTING
from annotation.models import Assignment, Enrolment, Item, Qualification, Sitting, Study, Worker
from annotation.models.sittings import State
from annotation.progress import advance, free_seat, seats_of
from annotation.qualification import lock as lock_study

# An import queues its items a microsecond apart: a worker's place in the queue is noted every fifty items or so, and a
# lease walks over no more than these.
STRIDE = timedelta(microseconds=50)
# Where a limit on groups leaves out some items of a sitting, so many times its size are looked at for others.
MORE = 4


def lease(worker: Worker, study: Study, stage: str, *, at: datetime) -> tuple[Sitting, bool]:
    """The worker's sitting in this stage, and whether it is new: the open one, a lapsed one taken up, or new seats.

    Raises UnknownStage, NotQualified, Revoked, Withdrawn, ConsentNeeded, LimitReached, or NothingLeft (only when no
    seat that this worker may take is free).
    """
    if stage not in {s.name for s in study.protocol.stages}:
        raise UnknownStage(
            f"This study has no stage {stage!r}; it has {', '.join(s.name for s in study.protocol.stages)}."
        )
    with transaction.atomic():
        if study.declared_at is None:  # the first lease declares the rules
            lock_study(study)
        qualification = _lock_qualification(worker, study, stage)
        if sitting := _resume(worker, study, stage, at=at):
            return sitting, False
        if sitting := _take(qualification, worker, study, stage, at=at):
            return sitting, True
    # Overdue leases hold seats that are free in truth. Freeing them takes other people's locks: its own transaction.
    if expire(at=at, study=study):
        with transaction.atomic():
            qualification = _lock_qualification(worker, study, stage)
            if sitting := _take(qualification, worker, study, stage, at=at):
                return sitting, True
    raise NothingLeft


def _lock_qualification(worker: Worker, study: Study, stage: str) -> Qualification:
    """Who may lease, and with their enrolment. One worker leases in one place at a time."""
    found = {q.stage: q for q in lock_qualifications(worker, study)}
    enrolment = next(iter(found.values())).enrolment if found else None
    if enrolment and enrolment.state == Enrolment.State.REVOKED:
        raise Revoked
    if enrolment and enrolment.state == Enrolment.State.WITHDRAWN:
        raise Withdrawn
    if stage not in found or found[stage].state != Qualification.State.QUALIFIED:
        raise NotQualified
    if study.consent_version and found[stage].enrolment.consent != study.consent_version:
        raise ConsentNeeded
    return found[stage]


def lock_qualifications(worker: Worker, study: Study) -> list[Qualification]:
    """All of the worker's qualifications in the study, with their enrolment; whoever holds them alone may lease."""
    held = Qualification.objects.filter(enrolment__worker=worker, enrolment__study=study).order_by("pk")
    found = list(held.select_for_update(of=("self",)))
    if found:
        # Read once the locks are held: joined to the query above, it would be as it was before the wait for them.
        enrolment = Enrolment.objects.get(pk=found[0].enrolment_id)
        for qualification in found:
            qualification.enrolment = enrolment
    return found


def _resume(worker: Worker, study: Study, stage: str, *, at: datetime) -> Sitting | None:
    """The open sitting, or one that lapsed and whose seats (some of them) are still free."""
    mine = Sitting.objects.filter(worker=worker, study=study, stage=stage)
    there = list(mine.filter(state__in=[State.LEASED, State.EXPIRED]).order_by("-pk"))
    unfinished = [sitting for sitting in there if sitting.purpose == Sitting.Purpose.WORK]
    if left := [s for s in there if s.purpose != Sitting.Purpose.WORK]:  # a practice or test they need no more
        release(left, State.RETURNED, by=actor(worker), at=at)
    for sitting in unfinished:
        if sitting.state == State.LEASED:
            renew(sitting, study, at=at)
            return sitting
    free = Assignment.objects.filter(
        sitting__in=unfinished, state=State.EXPIRED, item__stage=stage, item__open_seats__gt=0
    )
    lapsed = free.order_by("-pk").select_related("sitting").first() if unfinished else None
    if lapsed is None:
        return None
    with transaction.atomic():
        if _revive(lapsed.sitting, study, worker, at=at):
            return lapsed.sitting
        transaction.set_rollback(True)  # lets go of the items: for others one waits with empty hands
    return None


def _revive(sitting: Sitting, study: Study, worker: Worker, *, at: datetime) -> bool:
    """Take up a lapsed sitting again, with those of its items that are still to be had."""
    # All of its items, free or not: everybody who locks a sitting has locked these before.
    lapsed = {a.item_id: a for a in lock([sitting]) if a.state == State.EXPIRED}
    items = list(_free(study, sitting.stage).filter(pk__in=lapsed).order_by("pk"))
    if not items:
        return False
    ASSIGNMENT.move([a for a in lapsed.values() if a.role != Item.Role.WORK], State.LEASED, closed_at=None)
    seats = seats_of(items)
    for item in items:
        seat = free_seat(seats[item.pk].taken[sitting.stage])
        ASSIGNMENT.move([lapsed[item.pk]], State.LEASED, seat=seat, closed_at=None)
    Item.objects.filter(pk__in=[i.pk for i in items]).update(open_seats=F("open_seats") - 1)
    SITTING.move([sitting], State.LEASED, closed_at=None, leased_until=_until(study, at))
    limits.count_taken(study, worker.pk, sitting.stage, len(items))
    record(event(study, "resumed", by=actor(worker), at=at, item=i, worker=worker, stage=sitting.stage) for i in items)
    return True


def _until(study: Study, at: datetime) -> datetime:
    return at + timedelta(minutes=study.options["lease_minutes"])


def _free(study: Study, stage: str) -> QuerySet[Item]:
    return Item.objects.filter(study=study, stage=stage, open_seats__gt=0)


def _take(qualification: Qualification, worker: Worker, study: Study, stage: str, *, at: datetime) -> Sitting | None:
    """Take seats on the next items this worker has not met, and open a sitting with them."""
    items = _claim(qualification, worker, study, stage)
    if not items:
        return None
    if study.declared_at is None:
        declare(study, at=at)
    sitting = Sitting.objects.create(
        study=study, worker=worker, stage=stage, leased_until=_until(study, at), opened_at=at
    )
    judged = study.protocol.stage(stage).judges
    # Where nobody sits yet, and nothing was written that is judged here, there is nothing to look up.
    seats = seats_of([item for item in items if judged or item.open_seats < item.votes_wanted])
    sitting.bundle = Assignment.objects.bulk_create(
        Assignment(
            sitting=sitting,
            item=item,
            worker=worker,
            stage=stage,
            role=item.role,
            seat=free_seat(seats[item.pk].taken[stage]) if item.role == Item.Role.WORK else None,
            judges=[a.id for a in seats[item.pk].counted if a.stage in judged],
        )
        for item in hidden.mixed(items, worker, study, stage)
    )
    Item.objects.filter(pk__in=[item.pk for item in items]).update(open_seats=F("open_seats") - 1)
    limits.count_taken(study, worker.pk, stage, len(items))
    record(event(study, "leased", by=actor(worker), at=at, item=i, worker=worker, stage=stage) for i in items)
    return sitting


def _claim(qualification: Qualification, worker: Worker, study: Study, stage: str) -> list[Item]:
    """Lock as many items as a sitting has and limits leave: from the worker's place in the queue, then from all of it.
    They are of one part of the study, to which the worker is bound by them where the stage binds. Raises LimitReached.

    Locks of others are waited for only with empty hands, and in the order of primary keys: no two leases can deadlock.
    """
    enrolment = qualification.enrolment
    binds, refusal = study.protocol.stage(stage).binds, None
    met = Assignment.objects.filter(item=OuterRef("pk"), worker=worker)
    unmet = limits.allowed(_free(study, stage).exclude(Exists(met)), enrolment, study)
    for part, there in parts.turns(unmet, enrolment, study, stage, qualification.queue_seen_until):
        try:
            count = limits.room(enrolment, study, stage, part)
        except LimitReached as reached:  # of this part; another may be larger
            refusal = reached
            continue
        picked = (_pick(some, count, qualification, study) for some in limits.in_turn(there, enrolment, study))
        if items := next(filter(None, picked), []):
            if binds and part and not parts.bind(enrolment, part):
                return _claim(qualification, worker, study, stage)  # bound meanwhile by what came from elsewhere
            return items
    if refusal:
        raise refusal
    return []


def _pick(unmet: QuerySet[Item], count: int, qualification: Qualification, study: Study) -> list[Item]:
    """The next `count` of these items, locked."""
    enrolment = qualification.enrolment
    queue = unmet.order_by("queued_at")  # the order of the index `item_queue`, so that nothing is sorted
    unlocked = queue.select_for_update(of=("self",), skip_locked=connection.features.has_select_for_update_skip_locked)
    seen = qualification.queue_seen_until
    items = list(unlocked.filter(queued_at__gte=seen)[:count]) if seen else []
    if len(items) < count:
        items += unlocked.exclude(pk__in=[item.pk for item in items])[: count - len(items)]
    while not items and (candidates := list(queue.values_list("pk", flat=True)[:count])):
        items = list(unmet.filter(pk__in=candidates).order_by("pk").select_for_update(of=("self",)))
    tried, items = items, limits.fit(items, enrolment, study)
    if len(items) < count == len(tried):  # neighbours are often of one group: look further along the queue
        more = unlocked.filter(queued_at__gt=tried[-1].queued_at)[: MORE * count]
        items += limits.fit(list(more), enrolment, study, at_most=count - len(items))
    first = min((item.queued_at for item in items), default=None)
    if first and not (seen and timedelta(0) <= first - seen < STRIDE):
        Qualification.objects.filter(pk=qualification.pk).update(queue_seen_until=first)
    return items


def renew(sitting: Sitting, study: Study, *, at: datetime) -> None:
    """Activity keeps the seats: move the end of the lease on. No effect on a closed sitting."""
    until = _until(study, at)
    if Sitting.objects.filter(pk=sitting.pk, state=State.LEASED, leased_until__lt=until).update(leased_until=until):
        sitting.leased_until = until


def give_back(sitting: Sitting, *, at: datetime) -> None:
    """The worker returns what is open; drafts are kept. Raises Closed when there is nothing open to return."""
    if sitting.purpose != Sitting.Purpose.WORK:
        raise Closed("Practice and tests are not given back: leave them as they are, and go on whenever you like.")
    with transaction.atomic():
        if not release([sitting], State.RETURNED, by=actor(sitting.worker), at=at):
            raise Closed("This sitting was closed before; nothing was given back.")


def expire(*, at: datetime, study: Study | None = None) -> int:
    """Give back every overdue sitting (of one study, or of all); returns how many. Each in a transaction of its own."""
    overdue = Sitting.objects.filter(state=State.LEASED, leased_until__lt=at).select_related("study", "worker")
    if study:
        overdue = overdue.filter(study=study)
    expired = 0
    for sitting in overdue.order_by("pk"):
        with transaction.atomic():
            expired += release([sitting], State.EXPIRED, by=SYSTEM, at=at)
    return expired


def release(sittings: Sequence[Sitting], to: State, *, by: str, at: datetime) -> int:
    """Close one study's open sittings without an answer and free their seats; returns how many were still open.

    Locks the sittings' items, which serialises it with submitting; a sitting renewed meanwhile is left alone.
    """
    study = sittings[0].study
    held = lock(sittings)
    found = {a.sitting_id: a.sitting for a in held if a.sitting.state == State.LEASED}
    still = {pk: s for pk, s in found.items() if to != State.EXPIRED or s.leased_until < at}
    assignments = [a for a in held if a.sitting_id in still and a.state == State.LEASED]
    ASSIGNMENT.move(assignments, to, seat=None, closed_at=at)
    SITTING.move(still.values(), to, closed_at=at)
    if assignments:
        work = [a for a in assignments if a.role == Item.Role.WORK]
        events = advance(study, [a.item for a in work], at=at)
        for (worker, stage), count in sorted(Counter((a.worker_id, a.stage) for a in work).items()):
            limits.count_taken(study, worker, stage, -count)
        gone = [
            event(study, str(to), by=by, at=at, item=a.item_id, worker=a.worker_id, stage=a.stage) for a in assignments
        ]
        record([*gone, *events])
    return len(still)


def lock(sittings: Sequence[Sitting]) -> list[Assignment]:
    """The assignments of these sittings with their items and sittings, as they are now, all locked in the one order."""
    held = Assignment.objects.filter(sitting__in=sittings).select_related("item", "sitting").order_by("item_id")
    return list(held.select_for_update(of=("item", "sitting", "self")))
