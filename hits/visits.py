"""What happens in a HIT's frame: arrive, work, leave. Nothing here is believed until the marketplace confirms it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from secrets import token_hex
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Max

from annotation import leasing, links, qualification, way_in
from annotation.errors import BadLink, Closed, LinkExpired, Refusal
from annotation.events import actor
from annotation.models import Qualification, Sitting, Study
from annotation.models.sittings import State as SittingState
from annotation.way_in import Step
from hits import people
from hits.models import Hit, Visit

SALT = "touchstone.visit"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
IDLE = timedelta(minutes=3)  # a sitting that was not touched for so long may be begun anew from another HIT
SPARE = timedelta(hours=1)  # beyond the HIT's own time, in which what was written can still be handed in
OVER = (Hit.State.ENDED, Hit.State.DELETED, Hit.State.FAILED)
CLOSED = (SittingState.SUBMITTED, SittingState.RETURNED, SittingState.WITHDRAWN)


class NotOurs(Refusal):
    code, status = "not_ours", 404
    sentence = "This HIT is not one of ours, or it is over. Please return it; nothing you did is lost."


class BadFrame(Refusal):
    code, status = "bad_frame", 400
    sentence = "The marketplace did not say who is here. Please open the HIT from its own page again."


class ForeignSite(Refusal):
    code, status = "foreign_site", 400
    sentence = "This page was opened by a site that it does not know, so nothing is sent there."


class Busy(Refusal):
    code, status = "busy", 409
    sentence = (
        "You have another HIT of this study open. Finish that one first. If you returned it, "
        "wait three minutes, then open this one again."
    )


class Ended(Refusal):
    code, status = "ended", 409
    sentence = "This work was taken back or given back, so it cannot go on. Please return the HIT."


class Where(StrEnum):
    """What the frame shows next."""

    CONSENT = "consent"
    INSTRUCTIONS = "instructions"
    WORK = "work"
    LEAVE = "leave"
    STOP = "stop"


@dataclass(frozen=True)
class Onward:
    """Where a visit goes on. said: the sentence of a stop."""

    where: Where
    sitting: Sitting | None = None
    said: str = ""


def is_known(submit_to: str) -> bool:
    """Whether a form may be sent there: a site of the allow-list, by http(s), with nothing but a path."""
    try:
        parts = urlsplit(submit_to)
        origin = f"{parts.scheme}://{parts.netloc}"
    except ValueError:
        return False
    return origin in settings.TASK_FRAME_HOSTS and not (parts.query or parts.fragment or "@" in parts.netloc)


def arrive(hit: Hit, assignment_id: str, hit_id: str, remote_worker: str, submit_to: str, *, at: datetime) -> Visit:
    """The visit of this worker in this slot, found again however often the frame is opened.

    Raises NotOurs, BadFrame, ForeignSite.
    """
    if hit.state in OVER or (hit.hit_id and hit_id != hit.hit_id):
        raise NotOurs
    if not all(people.is_id(text) for text in (assignment_id, hit_id, remote_worker)):
        raise BadFrame
    if not is_known(submit_to):
        raise ForeignSite
    market = people.find_or_make(hit.batch.place, remote_worker, at=at)
    fields = {"hit": hit, "worker": market.worker, "submit_to": submit_to, "opened_at": at, "reference": token_hex(6)}
    visit, _ = Visit.objects.select_related("hit__batch__study", "worker", "sitting").get_or_create(
        assignment_id=assignment_id, remote_worker=remote_worker, defaults=fields
    )
    if visit.hit_id != hit.pk:
        raise NotOurs
    return visit


def token_of(visit: Visit) -> str:
    return signing.dumps(visit.pk, salt=SALT)


def find(token: str) -> Visit:
    """Raises BadLink, or LinkExpired once the HIT's time is long over."""
    try:
        pk = signing.loads(token, salt=SALT, max_age=timedelta(days=30))
    except signing.SignatureExpired:
        raise LinkExpired from None
    except signing.BadSignature:
        raise BadLink from None
    return Visit.objects.select_related("hit__batch__study", "worker", "sitting").get(pk=pk)


def until(visit: Visit) -> datetime:
    """When its links stop working."""
    return visit.opened_at + timedelta(minutes=visit.hit.batch.duration_minutes) + SPARE


def go_on(visit: Visit, *, at: datetime) -> Onward:
    """What comes next in this visit. Raises a Refusal with a sentence where the worker should return the HIT."""
    study, stage, worker = visit.hit.batch.study, visit.hit.batch.stage, visit.worker
    assert worker is not None
    if invited := visit.hit.batch.invited_id:
        return Onward(Where.LEAVE) if worker.pk == invited else Onward(Where.STOP, said=NOT_FOR_YOU)
    sitting = visit.sitting
    if sitting and sitting.state == SittingState.SUBMITTED and _is_the_end(sitting):
        return Onward(Where.LEAVE, sitting)
    if visit.state in (Visit.State.CONFIRMED, Visit.State.QUARANTINED):
        raise Ended
    if not Qualification.objects.filter(enrolment__worker=worker, enrolment__study=study, stage=stage).exists():
        if _is_taught_elsewhere(study, stage):
            return Onward(Where.STOP, said=CHOSEN)
        qualification.enrol(worker, study, stage, by=f"HIT {visit.hit.key[:8]}", at=at)
    step = way_in.step_of(worker, study, stage)
    if step == Step.CONSENT:
        return Onward(Where.CONSENT)
    if step == Step.INSTRUCTIONS:
        return Onward(Where.INSTRUCTIONS)
    if step in (Step.PRACTICE, Step.TEST):
        return Onward(Where.WORK, _bind(visit, way_in.open_sitting(worker, study, stage, step, at=at), at=at))
    if step == Step.WORK:
        return Onward(Where.WORK, _sitting(visit, at=at))
    return Onward(Where.STOP, said=SAID[step])


NOT_FOR_YOU = "This HIT is for somebody else. Please return it."
CHOSEN = "This part of the study is for people whom its team has chosen. Please return this HIT."
SAID = {
    Step.REVOKED: "Your access to this study has been withdrawn. Please return this HIT.",
    Step.WITHDRAWN: "You have withdrawn from this study. Please return this HIT.",
    Step.REVIEW: "A person reads your test within 24 hours. Please return this HIT; you can take another one then.",
    Step.FULL: "All places in this study are taken. Please return this HIT.",
    Step.FAILED: "The test of this study was not passed, so there is no work here. Please return this HIT.",
}


def _is_taught_elsewhere(study: Study, stage: str) -> bool:
    """Practice and tests ask for the first stage's answers: they cannot lead into another one."""
    trains = qualification.practice(study).exists() or qualification.questions(study).exists()
    return trains and stage != study.protocol.stages[0].name


def _is_the_end(sitting: Sitting) -> bool:
    """Work ends a visit. So does a test that leads no further: the time it took is paid as the HIT."""
    if sitting.purpose == Sitting.Purpose.WORK:
        return True
    if sitting.purpose == Sitting.Purpose.PRACTICE:
        return False
    return way_in.step_of(sitting.worker, sitting.study, sitting.stage) in (Step.FAILED, Step.REVIEW, Step.FULL)


def _sitting(visit: Visit, *, at: datetime) -> Sitting:
    """The visit's own sitting, or a new one. Raises what leasing raises, Busy, or Ended."""
    mine = visit.sitting
    if mine and mine.purpose == Sitting.Purpose.WORK:
        if mine.state in CLOSED:
            raise Ended
        return mine
    assert visit.worker is not None
    study, stage = visit.hit.batch.study, visit.hit.batch.stage
    sitting, _ = leasing.lease(visit.worker, study, stage, at=at)
    if Visit.objects.filter(sitting=sitting).exclude(pk=visit.pk).exists():
        _refuse_touched(sitting, at)
        # A claim alone must not show what was written in another HIT.
        with transaction.atomic():
            leasing.release([sitting], SittingState.RETURNED, by=actor(visit.worker), at=at)
        sitting, _ = leasing.lease(visit.worker, study, stage, at=at)
    return _bind(visit, sitting, at=at)


def _refuse_touched(sitting: Sitting, at: datetime) -> None:
    """Nobody ends, from another HIT, what somebody is at. Raises Busy."""
    last = sitting.assignments.aggregate(last=Max("draft_at"))["last"] or sitting.opened_at
    if at - last < IDLE:
        raise Busy


def _bind(visit: Visit, sitting: Sitting, *, at: datetime) -> Sitting:
    """One sitting belongs to one visit; a practice or test that was left goes on in the next one."""
    with transaction.atomic():
        if other := Visit.objects.select_for_update(of=("self",)).filter(sitting=sitting).exclude(pk=visit.pk).first():
            _refuse_touched(sitting, at)
            Visit.objects.filter(pk=other.pk).update(sitting=None)
        Visit.objects.filter(pk=visit.pk).update(sitting=sitting)
    visit.sitting = sitting
    return sitting


def leave(visit: Visit, *, at: datetime) -> Visit:
    """The answer is kept, and the form is about to leave: from now on the marketplace is asked who it was.

    Raises Closed while there is nothing to hand in.
    """
    if not visit.hit.batch.invited_id and (visit.sitting is None or visit.sitting.state != SittingState.SUBMITTED):
        raise Closed("There is nothing to hand in yet.")
    with transaction.atomic():
        if Visit.objects.filter(pk=visit.pk, state=Visit.State.OPEN).update(state=Visit.State.LEFT, left_at=at):
            Hit.objects.filter(pk=visit.hit_id).update(look_at=at)
            visit.state, visit.left_at = Visit.State.LEFT, at
    return visit


def scope(visit: Visit, sitting: Sitting | None, then: str) -> str:
    """A link to this sitting alone (or to consent and instructions), which leads back to `then`."""
    assert visit.worker is not None
    study, stage = visit.hit.batch.study, visit.hit.batch.stage
    return links.sign_scope(visit.worker, study, stage, sitting=sitting, then=then, until=until(visit))
