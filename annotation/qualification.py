"""Who may work in which stage."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from annotation.errors import UnknownStage
from annotation.events import SYSTEM, event, record
from annotation.lifecycle import ATTEMPT, QUALIFICATION
from annotation.models import Annotation, Attempt, Enrolment, Item, Qualification, Sitting, Study, Worker


@transaction.atomic
def qualify(worker: Worker, study: Study, stages: Iterable[str], *, by: str, at: datetime) -> Enrolment:
    """Enrol a worker and let them work in `stages`; what is already so stays. Locks the study. Raises UnknownStage."""
    stages, known = list(stages), [s.name for s in study.protocol.stages]
    for stage in stages:
        if stage not in known:
            raise UnknownStage(f"This study has no stage {stage!r}; it has {', '.join(known)}.")
    lock(study)
    enrolment = _enrolment(worker, study, at)
    has = {q.stage: q for q in enrolment.qualifications.all()}
    new = [stage for stage in dict.fromkeys(stages) if stage not in has]
    Qualification.objects.bulk_create(Qualification(enrolment=enrolment, stage=s, created_at=at) for s in new)
    for stage in dict.fromkeys(stages):
        if stage in has and has[stage].state != Qualification.State.QUALIFIED:
            QUALIFICATION.move([has[stage]], Qualification.State.QUALIFIED, changed_at=at)
            new.append(stage)
    record(event(study, "qualified", by=by, at=at, worker=worker, stage=stage) for stage in new)
    return enrolment


def lock(study: Study) -> None:
    """Numbers of people and places are given out by one at a time. Rows that point at the study may still be made."""
    Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)


def _enrolment(worker: Worker, study: Study, at: datetime) -> Enrolment:
    """The caller holds the study's lock."""
    if enrolment := Enrolment.objects.filter(study=study, worker=worker).first():
        return enrolment
    last = study.enrolments.aggregate(last=Max("number"))["last"] or 0
    return Enrolment.objects.create(study=study, worker=worker, number=last + 1, created_at=at)


@transaction.atomic
def enrol(worker: Worker, study: Study, stage: str, *, by: str, at: datetime) -> Qualification:
    """Put somebody on the way into a stage; who is on it, or through, stays there. Locks the study.

    Where there is no practice and no test, they are through at once; instructions and consent are asked for later.
    """
    lock(study)
    enrolment = _enrolment(worker, study, at)
    found = enrolment.qualifications.filter(stage=stage).first()
    if found:
        return found
    trains = practice(study).exists() or questions(study).exists()
    state = Qualification.State.TRAINING if trains else Qualification.State.QUALIFIED
    made = Qualification.objects.create(enrolment=enrolment, stage=stage, state=state, created_at=at)
    record([event(study, "enrolled" if trains else "qualified", by=by, at=at, worker=worker, stage=stage)])
    return made


def practice(study: Study) -> QuerySet[Item]:
    """The items people practise on: those with a known answer."""
    return study.items.filter(role=Item.Role.PRACTICE, gold__isnull=False)


def questions(study: Study) -> QuerySet[Item]:
    """The items of the test: those with a known answer."""
    return study.items.filter(role=Item.Role.QUALIFICATION, gold__isnull=False)


def score(sitting: Sitting, annotations: Sequence[Annotation], *, at: datetime) -> None:
    """Score a test that was handed in: below the pass mark it is failed; else a person reads the writings, if the study
    wants that and the stage has any; else it is passed. In the transaction that takes the answers.
    """
    attempt = Attempt.objects.select_related("qualification__enrolment__study", "qualification__enrolment__worker").get(
        sitting=sitting
    )
    study = sitting.study
    right, total = sum(bool(a.is_right) for a in annotations), len(annotations)
    Attempt.objects.filter(pk=attempt.pk).update(right=right, total=total)
    stage, mark = study.protocol.stage(sitting.stage), float(study.options.get("pass_mark", 0.8))
    if right < mark * total - 1e-9:
        why = f"{right} of {total} answers were right; {mark:.0%} are needed."
        decide(attempt, passed=False, by=SYSTEM, why=why, at=at)
    elif study.options.get("review_tests") == "on" and any(stage.texts(a.answer) for a in annotations):
        ATTEMPT.move([attempt], Attempt.State.REVIEW)
        _move(attempt.qualification, Qualification.State.REVIEW, at=at)
    else:
        decide(attempt, passed=True, by=SYSTEM, why=f"{right} of {total} answers were right.", at=at)


@transaction.atomic
def decide(attempt: Attempt, *, passed: bool, by: str, why: str, at: datetime) -> None:
    """Pass or fail a test, once. Passed with all places taken is `full`. Locks the study. Raises LostRace.

    Of somebody whom the team vouched for meanwhile the result is kept, and changes nothing.
    """
    study, worker = attempt.qualification.enrolment.study, attempt.qualification.enrolment.worker
    stage = attempt.qualification.stage
    lock(study)
    ATTEMPT.move(
        [attempt], Attempt.State.PASSED if passed else Attempt.State.FAILED, decided_by=by, decided_at=at, why=why
    )
    state = Qualification.State.FAILED
    if passed:
        state = Qualification.State.FULL if is_full(study, stage) else Qualification.State.QUALIFIED
    moved = _move(attempt.qualification, state, at=at)
    record(
        [event(study, "test passed" if passed else "test failed", by=by, at=at, worker=worker, why=why, stage=stage)]
    )
    if moved and state == Qualification.State.QUALIFIED:
        record([event(study, "qualified", by=by, at=at, worker=worker, stage=stage)])


def _move(qualification: Qualification, to: str, *, at: datetime) -> bool:
    """What a test makes of a qualification; False for somebody who is through already."""
    qualification.refresh_from_db(fields=["state"])
    if qualification.state == Qualification.State.QUALIFIED:
        return False
    QUALIFICATION.move([qualification], to, changed_at=at)
    return True


def is_full(study: Study, stage: str) -> bool:
    """Whether as many people as the study takes have passed its test for the stage."""
    places = int(study.options.get("max_qualified", 0))
    return bool(places) and places_taken(study, stage) >= places


def places_taken(study: Study, stage: str) -> int:
    """People who passed the stage's test and may work; who was revoked, or left, takes no place."""
    return places_by_stage([study.pk]).get((study.pk, stage), 0)


def places_by_stage(studies: Iterable[int]) -> dict[tuple[int, str], int]:
    """Places taken of these studies (ids), by study and stage, in one query."""
    passed = Attempt.objects.filter(
        qualification__enrolment__study__in=studies,
        qualification__enrolment__state=Enrolment.State.ACTIVE,
        qualification__state=Qualification.State.QUALIFIED,
        state=Attempt.State.PASSED,
    ).order_by()
    counted = passed.values_list("qualification__enrolment__study", "qualification__stage")
    rows = counted.annotate(n=Count("qualification", distinct=True))
    return {(study, stage): n for study, stage, n in rows}


def add_worker(study: Study, code: str, stages: Iterable[str], *, by: str, at: datetime) -> Worker:
    """The worker with this code, made if new, qualified for `stages`: whoever adds them vouches for them."""
    with transaction.atomic():
        worker, _ = Worker.objects.get_or_create(code=code, defaults={"created_at": at})
        qualify(worker, study, stages, by=by, at=at)
    return worker


def join(study: Study, *, at: datetime) -> Worker:
    """A new person through the open enrolment link; they begin on the way into the protocol's first stage."""
    with transaction.atomic():
        worker = Worker.objects.create(code=f"{study.slug}-{secrets.token_hex(4)}", created_at=at)
        enrol(worker, study, study.protocol.stages[0].name, by="enrolment link", at=at)
    return worker


def revoke_links(worker: Worker) -> None:
    """Every link and token of this worker stops working; new ones can be made at once."""
    worker.link_serial += 1
    worker.save(update_fields=["link_serial"])
