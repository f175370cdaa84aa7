"""Ending a worker's work in a study, proposing and undoing it; appeals; a worker's own withdrawal.

What happens to finished work is a separate choice, made then or later: see `exclusion`. Locks: the worker's
qualifications (so that nothing is leased meanwhile), then what `leasing.release` locks.
"""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from annotation import exclusion
from annotation.errors import Refusal
from annotation.events import actor, event, record
from annotation.exclusion import Effect
from annotation.leasing import lock, lock_qualifications, release
from annotation.lifecycle import ASSIGNMENT, SITTING
from annotation.models import Annotation, Appeal, Enrolment, Revocation, Sitting, Study
from annotation.models.sittings import State

MAX_WHY = 500
MAX_APPEAL = 4_000
IN_FORCE, PROPOSED = Revocation.State.IN_FORCE, Revocation.State.PROPOSED


class NotNow(Refusal):
    """Somebody else decided first, or there is nothing to decide."""

    code, status = "not_now", 409


class ReasonNeeded(Refusal):
    code, status = "reason_needed", 422
    sentence = "Say why, in a sentence: the worker reads it, and it stays in the log."


def revoke(
    enrolment: Enrolment,
    *,
    why: str,
    work: str = Revocation.Work.KEEP,
    by: str,
    at: datetime,
    rule: str = "",
    numbers: Mapping[str, object] | None = None,
) -> Revocation:
    """End the worker's work in the study at once: open sittings are taken back, and drafts stay. A proposal becomes it.

    Finished work is left as it is: `apply_work` does what `work` says. Raises ReasonNeeded, or NotNow.
    """
    why = _reason(why)
    with transaction.atomic():
        study = enrolment.study
        lock_qualifications(enrolment.worker, study)
        returned = _take_back(enrolment, by=by, at=at)
        moved = Enrolment.objects.filter(pk=enrolment.pk, state=Enrolment.State.ACTIVE)
        if not moved.update(state=Enrolment.State.REVOKED):
            raise NotNow(f"{enrolment.running_code} was revoked, or has withdrawn, before.")
        proposal = Revocation.objects.filter(enrolment=enrolment, state=PROPOSED).first()
        if proposal is None:
            proposal = Revocation(enrolment=enrolment, rule=rule, numbers=dict(numbers or {}), by=by, at=at)
        proposal.state, proposal.why, proposal.work = IN_FORCE, why, work
        proposal.decided_by, proposal.decided_at = by, at
        proposal.save()
        told = {"rule": proposal.rule, "numbers": proposal.numbers, "work": work, "sittings": returned}
        record([event(study, "revoked", by=by, at=at, worker=enrolment.worker_id, why=why, **told)])
    enrolment.state = Enrolment.State.REVOKED
    return proposal


def _reason(why: str) -> str:
    if not why.strip():
        raise ReasonNeeded
    return why.strip()[:MAX_WHY]


def _take_back(enrolment: Enrolment, *, by: str, at: datetime) -> int:
    """Close the worker's open and lapsed sittings, so that nothing can be handed in; returns how many were open."""
    mine = Sitting.objects.filter(worker=enrolment.worker, study=enrolment.study)
    unfinished = list(mine.filter(state__in=[State.LEASED, State.EXPIRED]).select_related("study").order_by("pk"))
    if not unfinished:
        return 0
    held = release(unfinished, State.WITHDRAWN, by=by, at=at)
    lapsed = [a for a in lock(unfinished) if a.state == State.EXPIRED]
    ASSIGNMENT.move(lapsed, State.WITHDRAWN)
    SITTING.move(
        {a.sitting_id: a.sitting for a in lapsed if a.sitting.state == State.EXPIRED}.values(), State.WITHDRAWN
    )
    return held


def apply_work(
    revocation: Revocation, *, by: str, at: datetime, progress: exclusion.Progress = lambda done, total: None
) -> Effect:
    """Do with the worker's finished work what the revocation says. May be called again."""
    enrolment, to = revocation.enrolment, {"hold": Annotation.Why.HELD, "exclude": Annotation.Why.EXCLUDED}
    if revocation.work not in to:
        return Effect()
    mine = Annotation.objects.filter(study=enrolment.study, worker=enrolment.worker).values_list("pk", flat=True)
    return exclusion.set_aside(
        enrolment.study, list(mine), to[revocation.work], by=by, why=revocation.why, at=at, progress=progress
    )


def reinstate_work(
    enrolment: Enrolment, *, by: str, why: str, at: datetime, progress: exclusion.Progress = lambda done, total: None
) -> Effect:
    """Let the worker's held and excluded work count again, where nobody has taken its seat. May be called again."""
    mine = Annotation.objects.filter(study=enrolment.study, worker=enrolment.worker).values_list("pk", flat=True)
    return exclusion.reinstate(enrolment.study, list(mine), by=by, why=why, at=at, progress=progress)


@transaction.atomic
def propose(
    enrolment: Enrolment, *, rule: str, numbers: Mapping[str, object], why: str, work: str, at: datetime
) -> Revocation | None:
    """A rule is met: ask a person. Once while it is undecided, and not again on the same numbers after a dismissal."""
    lock_qualifications(enrolment.worker, enrolment.study)
    there = Revocation.objects.filter(enrolment=enrolment).first()
    if enrolment.state != Enrolment.State.ACTIVE or (there and there.state in (PROPOSED, IN_FORCE)):
        return None
    if there and there.numbers == dict(numbers) and there.rule == rule:
        return None
    record([event(enrolment.study, "revocation proposed", by="system", at=at, worker=enrolment.worker_id, why=why)])
    return Revocation.objects.create(
        enrolment=enrolment, state=PROPOSED, rule=rule, numbers=dict(numbers), why=why, work=work, by="system", at=at
    )


@transaction.atomic
def dismiss(revocation: Revocation, *, by: str, why: str, at: datetime) -> None:
    """The proposal was looked at, and the worker goes on. Raises ReasonNeeded, or NotNow."""
    why, enrolment = _reason(why), revocation.enrolment
    undecided = Revocation.objects.filter(pk=revocation.pk, state=PROPOSED)
    if not undecided.update(state=Revocation.State.DISMISSED, decided_by=by, decided_at=at):
        raise NotNow("This proposal was decided before.")
    record([event(enrolment.study, "proposal dismissed", by=by, at=at, worker=enrolment.worker_id, why=why)])


@transaction.atomic
def restore(enrolment: Enrolment, *, by: str, why: str, at: datetime) -> Revocation:
    """Let a revoked worker go on. Work that was set aside stays so until it is reinstated. Raises NotNow."""
    why = _reason(why)
    lock_qualifications(enrolment.worker, enrolment.study)
    revoked = Enrolment.objects.filter(pk=enrolment.pk, state=Enrolment.State.REVOKED)
    if not revoked.update(state=Enrolment.State.ACTIVE):
        raise NotNow(f"{enrolment.running_code} is not revoked.")
    revocation = Revocation.objects.get(enrolment=enrolment, state=IN_FORCE)
    Revocation.objects.filter(pk=revocation.pk).update(state=Revocation.State.RESTORED, decided_by=by, decided_at=at)
    record([event(enrolment.study, "restored", by=by, at=at, worker=enrolment.worker_id, why=why)])
    enrolment.state = Enrolment.State.ACTIVE
    return revocation


@transaction.atomic
def appeal(enrolment: Enrolment, text: str, *, at: datetime) -> Appeal:
    """The worker's answer to the revocation in force, once. Raises ReasonNeeded, or NotNow."""
    if not text.strip():
        raise ReasonNeeded("Write what you want the study's team to know.")
    lock_qualifications(enrolment.worker, enrolment.study)
    revocation = Revocation.objects.filter(enrolment=enrolment, state=IN_FORCE).first()
    if revocation is None:
        raise NotNow("Your access to this study is not withdrawn, so there is nothing to appeal.")
    if Appeal.objects.filter(revocation=revocation).exists():
        raise NotNow("You have answered already. The team reads every answer, and theirs will stand on this page.")
    record([event(enrolment.study, "appealed", by=actor(enrolment.worker), at=at, worker=enrolment.worker_id)])
    return Appeal.objects.create(revocation=revocation, text=text.strip()[:MAX_APPEAL], at=at)


@transaction.atomic
def decide_appeal(appeal: Appeal, *, granted: bool, answer: str, by: str, at: datetime) -> None:
    """Once; granting restores the worker. Raises ReasonNeeded, or NotNow."""
    answer, enrolment = _reason(answer), appeal.revocation.enrolment
    outcome = Appeal.Outcome.GRANTED if granted else Appeal.Outcome.REFUSED
    undecided = Appeal.objects.filter(pk=appeal.pk, outcome=Appeal.Outcome.OPEN)
    if not undecided.update(outcome=outcome, answer=answer, decided_by=by, decided_at=at):
        raise NotNow("This appeal was decided before.")
    record([event(enrolment.study, f"appeal {outcome}", by=by, at=at, worker=enrolment.worker_id, why=answer)])
    if granted and enrolment.state == Enrolment.State.REVOKED:
        restore(enrolment, by=by, why=answer, at=at)


def withdraw(enrolment: Enrolment, *, at: datetime) -> Effect:
    """The worker takes consent back, for good: their texts leave every export, and the items are collected again.

    What payment law needs stays: that they worked, when, and for what pay. May be called again after it was cut off.
    """
    study, by = enrolment.study, actor(enrolment.worker)
    with transaction.atomic():
        lock_qualifications(enrolment.worker, study)
        _take_back(enrolment, by=by, at=at)
        going = Enrolment.objects.filter(pk=enrolment.pk).exclude(state=Enrolment.State.WITHDRAWN)
        if going.update(state=Enrolment.State.WITHDRAWN):
            record([event(study, "withdrew", by=by, at=at, worker=enrolment.worker_id)])
    mine = Annotation.objects.filter(study=study, worker=enrolment.worker).values_list("pk", flat=True)
    return exclusion.set_aside(
        study, list(mine), Annotation.Why.WITHDRAWN, by=by, why="The writer withdrew consent.", at=at
    )


def enrolment_of(study: Study, worker: str) -> Enrolment:
    """By running code or the worker's own. Raises Enrolment.DoesNotExist."""
    enrolled = study.enrolments.select_related("worker", "study")
    number = worker[1:] if worker[:1] == "W" and worker[1:].isdecimal() else ""
    found = enrolled.filter(number=int(number)).first() if number else None
    return found if found and found.running_code == worker else enrolled.get(worker__code=worker)
