"""What workers do: accept, submit, give back."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.urls import reverse

from marketplace import events, questions, requirements
from marketplace.clock import free
from marketplace.models import HIT, Assignment, Block, Worker
from marketplace.status import ASSIGNABLE, status

State = Assignment.State


class Refused(Exception):
    """What a worker asked for cannot be; the sentence says why. status: HTTP's."""

    status = 409

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class NotThere(Refused):
    status = 404


class NotQualified(Refused):
    status = 403


def find(hit_id: str) -> HIT:
    """Raises NotThere."""
    found = HIT.objects.select_related("hit_type", "requester").filter(hit_id=hit_id).first()
    if found is None:
        raise NotThere("There is no such HIT.")
    return found


def mine(worker: Worker, assignment_id: str) -> Assignment:
    """Raises NotThere, also for somebody else's."""
    found = Assignment.objects.select_related("hit__hit_type", "hit__requester")
    assignment = found.filter(assignment_id=assignment_id, worker=worker).first()
    if assignment is None:
        raise NotThere("You do not hold this assignment.")
    return assignment


def open_to(worker: Worker, *, at: datetime) -> QuerySet[HIT]:
    """HITs with something free, annotated with how much (`left`), which this worker has not met, of requesters who let
    them.
    """
    taken = F("accepted") + F("submitted") + F("approved") + F("rejected")
    found = HIT.objects.annotate(left=F("max_assignments") - taken).filter(disposed_at=None, expires_at__gt=at)
    found = found.filter(max_assignments__gt=taken)
    return found.exclude(assignments__worker=worker).exclude(requester__blocks__worker=worker)


@transaction.atomic
def accept(worker: Worker, hit_id: str, *, at: datetime) -> Assignment:
    """A place in the HIT; the one this worker holds already, if so. Locks the HIT. Raises Refused."""
    hit = (
        HIT.objects.select_for_update(of=("self",))
        .select_related("hit_type", "requester")
        .filter(hit_id=hit_id)
        .first()
    )
    if hit is None:
        raise NotThere("There is no such HIT.")
    present = Assignment.objects.filter(hit=hit, worker=worker).first()
    if present and present.state == State.ACCEPTED:
        present.hit = hit
        return present
    if present:
        raise Refused("You have done this HIT.")
    _refuse_unqualified(worker, hit)
    if status(hit, at) != ASSIGNABLE:
        raise Refused("No assignment of this HIT is left.")
    assignment = _place(hit)
    assignment.worker, assignment.state, assignment.accepted_at = worker, State.ACCEPTED, at
    assignment.deadline = at + timedelta(seconds=hit.hit_type.assignment_seconds)
    assignment.save()
    HIT.objects.filter(pk=hit.pk).update(accepted=F("accepted") + 1)
    events.tell(hit, "AssignmentAccepted", assignment, at=at)
    return assignment


def _refuse_unqualified(worker: Worker, hit: HIT) -> None:
    if Block.objects.filter(requester=hit.requester, worker=worker).exists():
        raise NotQualified("This requester does not let you accept their HITs.")
    if not requirements.allow(requirements.judge(worker, hit.hit_type.requirements), "Accept"):
        raise NotQualified("You do not have every qualification that this HIT asks for.")


def _place(hit: HIT) -> Assignment:
    """One that was given back, or a new one. The caller holds the HIT's lock."""
    given_back = Assignment.objects.filter(hit=hit, state=State.FREE).order_by("number").first()
    if given_back:
        given_back.hit = hit
        return given_back
    last = Assignment.objects.filter(hit=hit).aggregate(last=Max("number"))["last"] or 0
    return Assignment(hit=hit, number=last + 1)


@transaction.atomic
def submit(worker: Worker, assignment_id: str, fields: questions.Sent, *, at: datetime) -> Assignment:
    """Take the answer, once. Locks the HIT. Raises Refused: too late, twice, for somebody else, without an answer."""
    hit, assignment = _locked(worker, assignment_id)
    if assignment.state != State.ACCEPTED:
        raise Refused("This assignment was submitted before.")
    if assignment.deadline and assignment.deadline <= at:
        raise Refused("The time for this assignment has run out, and it is no longer yours.")
    answers = {name: value for name, value in fields.items() if name not in questions.RESERVED}
    if not answers:
        raise Refused("There is no answer: a form needs at least one field besides assignmentId.")
    assignment.answer = questions.answers_xml(answers)
    assignment.state, assignment.submitted_at = State.SUBMITTED, at
    assignment.approves_at = at + timedelta(seconds=hit.hit_type.auto_approval_seconds)
    assignment.save()
    HIT.objects.filter(pk=hit.pk).update(accepted=F("accepted") - 1, submitted=F("submitted") + 1)
    Worker.objects.filter(pk=worker.pk).update(submitted=F("submitted") + 1)
    events.tell(hit, "AssignmentSubmitted", assignment, at=at)
    events.tell_if_reviewable(hit.pk, at=at)
    return assignment


@transaction.atomic
def give_back(worker: Worker, assignment_id: str, *, at: datetime) -> None:
    """The place is free for others. Raises Refused."""
    hit, assignment = _locked(worker, assignment_id)
    if not free(hit, assignment.pk):
        raise Refused("This assignment was submitted before.")
    events.tell(hit, "AssignmentReturned", assignment, at=at)
    events.tell_if_reviewable(hit.pk, at=at)


def _locked(worker: Worker, assignment_id: str) -> tuple[HIT, Assignment]:
    held = mine(worker, assignment_id)
    hit = HIT.objects.select_for_update(of=("self",)).select_related("hit_type", "requester").get(pk=held.hit_id)
    return hit, mine(worker, assignment_id)


def submit_to() -> str:
    """Where task pages post: `<this>/mturk/externalSubmit`."""
    return f"{settings.SITE_URL}/marketplace"


def task_url(hit: HIT, assignment_id: str, worker: Worker, *, until: datetime) -> str:
    """The address of the frame, with its four parameters; a path where the question is not another site's, which opens
    until then.
    """
    asked = questions.read(hit.question)
    key = _frame_signer(hit.hit_id).sign(str(int(until.timestamp())))
    return questions.task_url(
        asked.text if asked.kind == "external" else reverse("marketplace:frame", args=[hit.hit_id, key]),
        assignment_id=assignment_id,
        hit_id=hit.hit_id,
        worker_id=worker.worker_id,
        submit_to=submit_to(),
    )


def framed(hit_id: str, key: str, *, at: datetime) -> HIT:
    """What a frame shows whose address `task_url` made: no cookie comes along. Raises NotThere."""
    try:
        until = int(_frame_signer(hit_id).unsign(key))
    except (signing.BadSignature, ValueError):
        raise NotThere("There is no such task.") from None
    if until < int(at.timestamp()):
        raise NotThere("This page was open for too long. Load the page around it again.")
    return find(hit_id)


def _frame_signer(hit_id: str) -> signing.Signer:
    return signing.Signer(salt=f"marketplace.frame.{hit_id}")


def shown(assignment: Assignment, worker: Worker) -> dict[str, Any]:
    """As the worker's API gives an accepted assignment."""
    assert assignment.deadline  # it is somebody's
    url = task_url(assignment.hit, assignment.assignment_id, worker, until=assignment.deadline)
    return {
        "assignment_id": assignment.assignment_id,
        "hit_id": assignment.hit.hit_id,
        "worker_id": worker.worker_id,
        "turk_submit_to": submit_to(),
        "task_url": urljoin(settings.SITE_URL, url),
        "deadline": assignment.deadline.isoformat(),
    }


# --- Who somebody is, without a cookie --------------------------------------------------------------


def token_of(worker: Worker) -> str:
    """For programs and personal links; raising `token_serial` makes earlier ones useless."""
    return signing.dumps([worker.worker_id, worker.token_serial], salt="marketplace.worker")


def worker_of(token: str) -> Worker | None:
    try:
        worker_id, serial = signing.loads(token, salt="marketplace.worker", max_age=timedelta(days=90))
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return Worker.objects.filter(worker_id=worker_id, token_serial=serial).first()
