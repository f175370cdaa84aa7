"""The way into a stage: consent, instructions, practice, test, review. What comes next is read off the facts."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotation.errors import Closed, Refusal
from annotation.events import SYSTEM, actor, event, record
from annotation.leasing import lock_qualifications, release
from annotation.lifecycle import QUALIFICATION
from annotation.models import (
    Assignment,
    Attempt,
    ConsentText,
    Enrolment,
    Item,
    Qualification,
    Sitting,
    Study,
    Try,
    Worker,
)
from annotation.models.sittings import State
from annotation.qualification import is_full, lock, practice, qualify, questions

NEVER = timedelta(days=36_500)  # practice and tests hold nobody's seats, so they need not lapse
IN = Qualification.State


class Step(StrEnum):
    """What somebody has to do next, or waits for."""

    REVOKED = "revoked"
    WITHDRAWN = "withdrawn"
    CONSENT = "consent"
    INSTRUCTIONS = "instructions"
    PRACTICE = "practice"
    TEST = "test"
    REVIEW = "review"
    FULL = "full"
    FAILED = "failed"
    WORK = "work"


class ConsentChanged(Refusal):
    code, status = "consent_changed", 409
    sentence = "The text was changed while you read it. Please read the new one; nothing was agreed to yet."


def next_step(qualification: Qualification, study: Study, *, practice_left: bool, is_full: bool) -> Step:
    """practice_left: whether a practice item is not answered right yet; is_full: whether all places are taken.

    The qualification comes with its enrolment.
    """
    enrolment, state = qualification.enrolment, qualification.state
    if enrolment.state != Enrolment.State.ACTIVE:
        return Step(enrolment.state)
    if state == IN.TRAINING and is_full:
        return Step.FULL
    if study.consent_version and enrolment.consent != study.consent_version:
        return Step.CONSENT
    if state == IN.TRAINING and qualification.instructed_at is None:
        return Step.INSTRUCTIONS
    if state == IN.TRAINING:
        return Step.PRACTICE if practice_left else Step.TEST
    return {IN.REVIEW: Step.REVIEW, IN.FULL: Step.FULL, IN.FAILED: Step.FAILED}.get(IN(state), Step.WORK)


def step_of(worker: Worker, study: Study, stage: str) -> Step:
    """Raises Qualification.DoesNotExist for somebody who has nothing to do with the stage."""
    found = Qualification.objects.select_related("enrolment").get(
        enrolment__worker=worker, enrolment__study=study, stage=stage
    )
    left = practice_left(worker, study).exists()
    return next_step(found, study, practice_left=left, is_full=is_full(study, stage))


def practice_left(worker: Worker, study: Study) -> QuerySet[Item]:
    """Practice items that this worker has not answered right."""
    right = Try.objects.filter(item=OuterRef("pk"), enrolment__worker=worker, is_right=True)
    return practice(study).exclude(Exists(right))


# --- Consent and instructions ---------------------------------------------------------------------


@transaction.atomic
def set_consent(study: Study, text: str, *, by: str, at: datetime) -> ConsentText:
    """A new version, which everybody is asked to agree to before their next sitting; the same text again is none.

    Locks the study.
    """
    lock(study)
    last = study.consent_texts.order_by("-version").first()
    if last and last.text == text:
        return last
    version = last.version + 1 if last else 1
    made = ConsentText.objects.create(study=study, version=version, text=text, created_at=at)
    Study.objects.filter(pk=study.pk).update(consent_version=made.version)
    study.consent_version = made.version
    record([event(study, "consent text changed", by=by, at=at, version=made.version)])
    return made


@transaction.atomic
def agree(worker: Worker, study: Study, version: int, *, at: datetime) -> None:
    """Once for each version, by people who may work. Raises ConsentChanged when that is not the version in force."""
    lock_qualifications(worker, study)
    in_force = Study.objects.values_list("consent_version", flat=True).get(pk=study.pk)
    if version != in_force:
        raise ConsentChanged
    mine = Enrolment.objects.filter(worker=worker, study=study, state=Enrolment.State.ACTIVE)
    if mine.exclude(consent=version).update(consent=version, consented_at=at):
        record([event(study, "consented", by=actor(worker), at=at, worker=worker, version=version)])


def read_instructions(worker: Worker, study: Study, stage: str, *, at: datetime) -> None:
    mine = Qualification.objects.filter(enrolment__worker=worker, enrolment__study=study, stage=stage)
    mine.filter(instructed_at=None).update(instructed_at=at)
    go_through(worker, study, stage, at=at)


# --- Practice and test -----------------------------------------------------------------------------


@transaction.atomic
def open_sitting(worker: Worker, study: Study, stage: str, step: Step, *, at: datetime) -> Sitting:
    """The sitting of the practice or the test: the open one, one that was taken back, or a new one. Raises Closed."""
    found = {q.stage: q for q in lock_qualifications(worker, study)}[stage]
    if found.state != IN.TRAINING or found.enrolment.state != Enrolment.State.ACTIVE:
        raise Closed("This has changed in the meantime. Here is how it stands now.")
    purpose = Sitting.Purpose.PRACTICE if step == Step.PRACTICE else Sitting.Purpose.TEST
    for sitting in Sitting.objects.filter(worker=worker, study=study, stage=stage, state=State.LEASED):
        if sitting.purpose == purpose:
            return sitting
        release([sitting], State.RETURNED, by=actor(worker), at=at)  # a practice that was right but not handed in
    if purpose == Sitting.Purpose.PRACTICE:
        return _begin(purpose, practice_left(worker, study), found, goes_on=True, at=at)
    taken_back = found.attempts.filter(state=Attempt.State.OPEN).first()
    if is_full(study, stage):
        raise Closed("All places are taken, so the test is closed. Thank you for coming.")
    if not taken_back and found.attempts.count() >= found.attempts_allowed:
        raise Closed("You have taken this test. The study's team can allow you another try.")
    sitting = _begin(purpose, questions(study), found, goes_on=taken_back is not None, at=at)
    if taken_back:
        Attempt.objects.filter(pk=taken_back.pk).update(sitting=sitting)
    else:
        Attempt.objects.create(qualification=found, sitting=sitting, number=found.attempts.count() + 1)
    return sitting


def _begin(
    purpose: Sitting.Purpose, items: QuerySet[Item], qualification: Qualification, *, goes_on: bool, at: datetime
) -> Sitting:
    """A sitting of these items; what goes on takes the drafts of last time along. Raises Closed for no items."""
    study, worker, stage = qualification.enrolment.study, qualification.enrolment.worker, qualification.stage
    there = list(items.order_by("pk"))
    if not there:
        raise Closed("There is nothing to do here right now. Please look again later.")
    if study.protocol.shuffled and purpose == Sitting.Purpose.TEST:
        Random(f"test {worker.code}").shuffle(there)
    sitting = Sitting.objects.create(
        study=study, worker=worker, stage=stage, purpose=purpose, leased_until=at + NEVER, opened_at=at
    )
    met = Assignment.objects.filter(worker=worker, item__in=there).order_by("attempt")
    last = {assignment.item_id: assignment for assignment in met}
    attempt = max((a.attempt + 1 for a in last.values()), default=0)
    Assignment.objects.bulk_create(
        Assignment(
            sitting=sitting,
            item=item,
            worker=worker,
            stage=stage,
            role=item.role,
            attempt=attempt,
            **(_kept(last[item.pk]) if goes_on and item.pk in last else {}),
        )
        for item in there
    )
    record([event(study, f"{purpose} begun", by=actor(worker), at=at, worker=worker, stage=stage)])
    return sitting


def _kept(assignment: Assignment) -> dict[str, Any]:
    return {name: getattr(assignment, name) for name in ("draft", "draft_at", "active_seconds", "signs")}


def unlearnt(assignments: Iterable[Assignment]) -> set[int]:
    """The ids of those of one worker's practice assignments that were never answered right."""
    by_item = {a.item_id: a for a in assignments if a.role == Item.Role.PRACTICE}
    workers = {a.worker_id for a in by_item.values()}
    tries = Try.objects.filter(item__in=by_item, enrolment__worker__in=workers, is_right=True)
    right = set(tries.values_list("item", flat=True)) if by_item else set()
    return {a.pk for item, a in by_item.items() if item not in right}


@transaction.atomic
def attempt_practice(assignment: Assignment, answer: dict[str, object], *, at: datetime) -> bool:
    """Log a try at a practice item, and say whether it is right. The last right one may be all there is to do."""
    study, item = assignment.sitting.study, assignment.item
    is_right = bool(study.protocol.stage(assignment.stage).matches(item.gold or {}, answer, study.options))
    enrolment = Enrolment.objects.get(worker=assignment.worker_id, study=study)
    Try.objects.create(enrolment=enrolment, item=item, answer=answer, is_right=is_right, at=at)
    if is_right:
        go_through(assignment.sitting.worker, study, assignment.stage, at=at)
    return is_right


@transaction.atomic
def go_through(worker: Worker, study: Study, stage: str, *, at: datetime) -> None:
    """Somebody with nothing left to do on the way in is qualified."""
    found = {q.stage: q for q in lock_qualifications(worker, study)}[stage]
    if found.state != IN.TRAINING or found.instructed_at is None:
        return
    if not practice_left(worker, study).exists() and not questions(study).exists():
        QUALIFICATION.move([found], IN.QUALIFIED, changed_at=at)
        record([event(study, "qualified", by=SYSTEM, at=at, worker=worker, stage=stage)])


@transaction.atomic
def allow_again(qualification: Qualification, *, by: str, at: datetime) -> None:
    """One more attempt at the test for somebody who failed. Raises IllegalMove, or LostRace."""
    enrolment = qualification.enrolment
    QUALIFICATION.move([qualification], IN.TRAINING, attempts_allowed=qualification.attempts.count() + 1, changed_at=at)
    worker, stage = enrolment.worker_id, qualification.stage
    record([event(enrolment.study, "another attempt allowed", by=by, at=at, worker=worker, stage=stage)])


def carry_over(earlier: Study, study: Study, stage: str, *, by: str, at: datetime) -> int:
    """Qualify for a stage here everybody who is qualified for it in an earlier study; returns how many are new."""
    there = Qualification.objects.filter(
        enrolment__study=earlier, enrolment__state=Enrolment.State.ACTIVE, stage=stage, state=IN.QUALIFIED
    )
    here = Qualification.objects.filter(enrolment__study=study, stage=stage, state=IN.QUALIFIED)
    new = there.exclude(enrolment__worker__in=here.values("enrolment__worker")).select_related("enrolment__worker")
    people = [q.enrolment.worker for q in new.order_by("enrolment__number")]
    for worker in people:
        qualify(worker, study, [stage], by=by, at=at)
    return len(people)


def waiting(study: Study) -> QuerySet[Attempt]:
    """Tests that a person has to read, the longest waiting first; of nobody who is through already, or gone."""
    found = Attempt.objects.filter(
        qualification__enrolment__study=study,
        qualification__enrolment__state=Enrolment.State.ACTIVE,
        qualification__state=IN.REVIEW,
        state=Attempt.State.REVIEW,
    )
    return found.select_related("qualification__enrolment__worker", "sitting").order_by("pk")
