"""The way into a stage: consent, instructions, practice, test, review. What comes next is read off the facts."""

from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from annotation.errors import Closed, Refusal
from annotation.events import actor, event, record
from annotation.leasing import lock_qualifications
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
from annotation.qualification import is_full, lock, qualify

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


def next_step(qualification: Qualification, study: Study, *, practice_left: bool) -> Step:
    """practice_left: whether a practice item is not answered right yet. The qualification comes with its enrolment."""
    enrolment, state = qualification.enrolment, qualification.state
    if enrolment.state != Enrolment.State.ACTIVE:
        return Step(enrolment.state)
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
    return next_step(found, study, practice_left=practice_left(worker, study).exists())


def practice_left(worker: Worker, study: Study) -> QuerySet[Item]:
    """Practice items that this worker has not answered right."""
    right = Try.objects.filter(item=OuterRef("pk"), enrolment__worker=worker, is_right=True)
    return study.items.filter(role=Item.Role.PRACTICE, gold__isnull=False).exclude(Exists(right))


# --- Consent and instructions ---------------------------------------------------------------------


@transaction.atomic
def set_consent(study: Study, text: str, *, by: str, at: datetime) -> ConsentText:
    """A new version, which everybody is asked to agree to before their next sitting. Locks the study."""
    lock(study)
    last = study.consent_texts.aggregate(last=Max("version"))["last"] or 0
    made = ConsentText.objects.create(study=study, version=last + 1, text=text, created_at=at)
    Study.objects.filter(pk=study.pk).update(consent_version=made.version)
    study.consent_version = made.version
    record([event(study, "consent text changed", by=by, at=at, version=made.version)])
    return made


@transaction.atomic
def agree(worker: Worker, study: Study, version: int, *, at: datetime) -> None:
    """Raises ConsentChanged when that is not the version in force."""
    lock_qualifications(worker, study)
    in_force = Study.objects.values_list("consent_version", flat=True).get(pk=study.pk)
    if version != in_force:
        raise ConsentChanged
    mine = Enrolment.objects.filter(worker=worker, study=study, state=Enrolment.State.ACTIVE)
    mine.update(consent=version, consented_at=at)
    record([event(study, "consented", by=actor(worker), at=at, worker=worker, version=version)])


def read_instructions(worker: Worker, study: Study, stage: str, *, at: datetime) -> None:
    mine = Qualification.objects.filter(enrolment__worker=worker, enrolment__study=study, stage=stage)
    mine.filter(instructed_at=None).update(instructed_at=at)
    _through(mine.select_related("enrolment").get(), study, at=at)


# --- Practice and test -----------------------------------------------------------------------------


@transaction.atomic
def open_sitting(worker: Worker, study: Study, stage: str, step: Step, *, at: datetime) -> Sitting:
    """The sitting of the practice or the test: the open one, or a new one. Raises Closed."""
    found = {q.stage: q for q in lock_qualifications(worker, study)}[stage]
    purpose = Sitting.Purpose.PRACTICE if step == Step.PRACTICE else Sitting.Purpose.TEST
    mine = Sitting.objects.filter(worker=worker, study=study, stage=stage, state=State.LEASED)
    if sitting := mine.filter(purpose=purpose).first():
        return sitting
    items, attempt = practice_left(worker, study), 0
    if purpose == Sitting.Purpose.TEST:
        items = study.items.filter(role=Item.Role.QUALIFICATION, gold__isnull=False)
        attempt = found.attempts.count()
        if is_full(study, stage):
            raise Closed("All places are taken, so the test is closed. Thank you for coming.")
        if attempt >= found.attempts_allowed:
            raise Closed("You have taken this test. The study's team can allow you another try.")
    there = list(items.order_by("pk"))
    if not there:
        raise Closed("There is nothing to do here right now. Please look again later.")
    until = at + NEVER
    sitting = Sitting.objects.create(
        study=study, worker=worker, stage=stage, purpose=purpose, leased_until=until, opened_at=at
    )
    if purpose == Sitting.Purpose.TEST:
        Attempt.objects.create(qualification=found, sitting=sitting, number=attempt + 1)
    else:  # practised before and wrong: taken up again
        attempt = Assignment.objects.filter(worker=worker, item__in=there).aggregate(n=Max("attempt"))["n"]
        attempt = 0 if attempt is None else attempt + 1
    Assignment.objects.bulk_create(
        Assignment(sitting=sitting, item=item, worker=worker, stage=stage, role=item.role, attempt=attempt)
        for item in there
    )
    record([event(study, f"{purpose} begun", by=actor(worker), at=at, worker=worker, stage=stage)])
    return sitting


def is_learnt(assignment: Assignment) -> bool:
    """Whether the worker has answered this practice item right."""
    tries = Try.objects.filter(item=assignment.item_id, enrolment__worker=assignment.worker_id, is_right=True)
    return tries.exists()


def attempt_practice(assignment: Assignment, answer: dict[str, object], *, at: datetime) -> bool:
    """Log a try at a practice item, and say whether it is right."""
    study, item = assignment.sitting.study, assignment.item
    is_right = study.protocol.stage(assignment.stage).matches(item.gold or {}, answer)
    enrolment = Enrolment.objects.get(worker=assignment.worker_id, study=study)
    Try.objects.create(enrolment=enrolment, item=item, answer=answer, is_right=is_right, at=at)
    return is_right


def end_practice(sitting: Sitting, *, at: datetime) -> None:
    """After the practice was handed in: where there is no test, the worker is through."""
    mine = Qualification.objects.filter(
        enrolment__worker=sitting.worker, enrolment__study=sitting.study, stage=sitting.stage
    )
    _through(mine.select_related("enrolment").get(), sitting.study, at=at)


@transaction.atomic
def _through(qualification: Qualification, study: Study, *, at: datetime) -> None:
    """Somebody with nothing left to do on the way in is qualified."""
    worker = qualification.enrolment.worker
    left = practice_left(worker, study).exists() or study.items.filter(role=Item.Role.QUALIFICATION).exists()
    if qualification.state == IN.TRAINING and not left:
        QUALIFICATION.move([qualification], IN.QUALIFIED, changed_at=at)
        record([event(study, "qualified", by="system", at=at, worker=worker, stage=qualification.stage)])


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
    """Tests that a person has to read, the longest waiting first."""
    found = Attempt.objects.filter(qualification__enrolment__study=study, state=Attempt.State.REVIEW)
    return found.select_related("qualification__enrolment__worker", "sitting").order_by("pk")
