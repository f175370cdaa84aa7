"""What requesters do with submitted work: look, approve, reject."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from marketplace import faults, payment
from marketplace.errors import RequestError, does_not_exist, wrong_state
from marketplace.models import HIT, Assignment
from marketplace.operations.asked import Asked, operation
from marketplace.operations.hits import own
from marketplace.operations.hits import show as show_hit
from marketplace.paging import page

State = Assignment.State
VISIBLE = (State.SUBMITTED, State.APPROVED, State.REJECTED)
OVERRIDE = timedelta(days=30)


def show(assignment: Assignment) -> dict[str, Any]:
    times = {
        "AcceptTime": assignment.accepted_at,
        "SubmitTime": assignment.submitted_at,
        "Deadline": assignment.deadline,
        "AutoApprovalTime": assignment.approves_at,
        "ApprovalTime": assignment.approved_at,
        "RejectionTime": assignment.rejected_at,
    }
    return {
        "AssignmentId": assignment.assignment_id,
        "WorkerId": assignment.worker.worker_id if assignment.worker else "",
        "HITId": assignment.hit.hit_id,
        "AssignmentStatus": str(assignment.state),
        **{name: when.timestamp() for name, when in times.items() if when},
        "Answer": assignment.answer,
        **({"RequesterFeedback": assignment.feedback} if assignment.feedback else {}),
    }


@operation
def list_assignments_for_hit(asked: Asked) -> dict[str, Any]:
    """In the order of submission."""
    hit = own(asked)
    wanted = asked.get("AssignmentStatuses") or VISIBLE
    rows = Assignment.objects.filter(hit=hit, state__in=wanted).select_related("worker", "hit")
    account = asked.requester.account_id
    return page(asked.operation, account, asked.params, rows, ["submitted_at", "pk"], show, "Assignments")


def mine(asked: Asked, *, lock: bool = False) -> tuple[HIT, Assignment]:
    """An assignment of the caller's HIT, and the HIT; both as they are now, the HIT locked. Raises RequestError."""
    wanted = asked.params["AssignmentId"]
    hits = HIT.objects.filter(requester=asked.requester, assignments__assignment_id=wanted)
    hits = hits.select_related("hit_type", "requester")
    hit = (hits.select_for_update(of=("self",)) if lock else hits).first()
    if hit is None:
        raise does_not_exist("Assignment", wanted)
    return hit, Assignment.objects.select_related("worker", "hit").get(assignment_id=wanted)


def is_visible(assignment: Assignment, at: datetime) -> bool:
    """Work in somebody's hands has no state that a requester may see; on a lagging service, nor has the latest."""
    submitted = assignment.submitted_at
    return assignment.state in VISIBLE and submitted is not None and not faults.is_too_new(submitted, at)


def _refuse_unsubmitted(asked: Asked, assignment: Assignment) -> None:
    if not is_visible(assignment, asked.at) or assignment.state != State.SUBMITTED:
        shown = assignment.state if is_visible(assignment, asked.at) else "null"
        raise wrong_state("Assignment", assignment.assignment_id, shown, State.SUBMITTED)


@operation
def get_assignment(asked: Asked) -> dict[str, Any]:
    hit, assignment = mine(asked)
    if not is_visible(assignment, asked.at):  # listed as the service listed them
        raise wrong_state("Assignment", assignment.assignment_id, "null", "Reviewable,Approved,Rejected")
    return {"Assignment": show(assignment), "HIT": show_hit(hit, asked)}


@operation
@transaction.atomic
def approve_assignment(asked: Asked) -> dict[str, Any]:
    hit, assignment = mine(asked, lock=True)
    feedback = asked.get("RequesterFeedback", "")
    if asked.get("OverrideRejection") and assignment.state == State.REJECTED:
        if hit.disposed_at or (assignment.submitted_at and asked.at - assignment.submitted_at > OVERRIDE):
            raise RequestError(
                "InvalidAssignmentState", "A rejection can be overridden for 30 days, while the HIT is not deleted."
            )
        payment.pay_after_all(hit, assignment, feedback, at=asked.at)
    else:
        _refuse_unsubmitted(asked, assignment)
        payment.pay(hit, assignment, feedback, at=asked.at)
    asked.effect["approved"] = assignment.assignment_id
    return {}


@operation
@transaction.atomic
def reject_assignment(asked: Asked) -> dict[str, Any]:
    """The feedback may be empty: clients in the field always send it so."""
    hit, assignment = mine(asked, lock=True)
    _refuse_unsubmitted(asked, assignment)
    payment.refuse(hit, assignment, asked.params["RequesterFeedback"], at=asked.at)
    asked.effect["rejected"] = assignment.assignment_id
    return {}


@operation
def get_file_upload_url(asked: Asked) -> dict[str, Any]:
    mine(asked)
    raise RequestError("InvalidParameterValue", "This marketplace takes no files: there is no FileUploadAnswer.")
