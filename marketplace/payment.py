"""Approving and rejecting: the state, the counters and the money, in one step. Callers hold the HIT's lock."""

from datetime import datetime

from django.db.models import F, QuerySet

from marketplace import events, ledger
from marketplace.ledger import Kind
from marketplace.models import HIT, Assignment, Worker

State = Assignment.State


def pay(hit: HIT, assignment: Assignment, feedback: str, *, at: datetime) -> None:
    """Submitted becomes Approved: what is held goes to the worker, and the fee to the house."""
    assignment.state, assignment.feedback, assignment.approved_at = State.APPROVED, feedback, at
    assignment.save(update_fields=["state", "feedback", "approved_at"])
    HIT.objects.filter(pk=hit.pk).update(submitted=F("submitted") - 1, approved=F("approved") + 1)
    held = ledger.account(Kind.HELD, requester=hit.requester)
    _split(hit, assignment, held, at)
    _their(assignment).update(approved=F("approved") + 1)
    events.tell(hit, "AssignmentApproved", assignment, at=at)


def pay_after_all(hit: HIT, assignment: Assignment, feedback: str, *, at: datetime) -> None:
    """Rejected becomes Approved; its hold was given back, so it is held anew. Raises RequestError for lack of funds."""
    held = ledger.account(Kind.HELD, requester=hit.requester)
    ledger.spend(hit.requester, held, hit.hold, "hold", assignment.assignment_id, at=at)
    assignment.state, assignment.feedback, assignment.approved_at = State.APPROVED, feedback, at
    assignment.save(update_fields=["state", "feedback", "approved_at"])
    HIT.objects.filter(pk=hit.pk).update(rejected=F("rejected") - 1, approved=F("approved") + 1)
    _split(hit, assignment, held, at)
    _their(assignment).update(rejected=F("rejected") - 1, approved=F("approved") + 1)
    events.tell(hit, "AssignmentApproved", assignment, at=at)


def _split(hit: HIT, assignment: Assignment, held: ledger.Account, at: datetime) -> None:
    reward, reference = hit.hit_type.reward, assignment.assignment_id
    owed = ledger.account(Kind.OWED, worker=assignment.worker)
    ledger.move(held, owed, min(reward, hit.hold), "reward", reference, at=at)
    ledger.move(held, ledger.account(Kind.FEES), hit.hold - min(reward, hit.hold), "fee", reference, at=at)


def refuse(hit: HIT, assignment: Assignment, feedback: str, *, at: datetime) -> None:
    """Submitted becomes Rejected, and the requester has the money back."""
    assignment.state, assignment.feedback, assignment.rejected_at = State.REJECTED, feedback, at
    assignment.save(update_fields=["state", "feedback", "rejected_at"])
    HIT.objects.filter(pk=hit.pk).update(submitted=F("submitted") - 1, rejected=F("rejected") + 1)
    release(hit, 1, assignment.assignment_id, at=at)
    _their(assignment).update(rejected=F("rejected") + 1)
    events.tell(hit, "AssignmentRejected", assignment, at=at)


def _their(assignment: Assignment) -> QuerySet[Worker]:
    return Worker.objects.filter(assignments=assignment)


def hold(hit: HIT, places: int, *, at: datetime) -> None:
    """Raises RequestError (InsufficientFunds)."""
    held = ledger.account(Kind.HELD, requester=hit.requester)
    ledger.spend(hit.requester, held, places * hit.hold, "hold", hit.hit_id, at=at)


def release(hit: HIT, places: int, reference: str = "", *, at: datetime) -> None:
    """What was held for so many places is available again."""
    held = ledger.account(Kind.HELD, requester=hit.requester)
    available = ledger.account(Kind.AVAILABLE, requester=hit.requester)
    ledger.move(held, available, places * hit.hold, "release", reference or hit.hit_id, at=at)
