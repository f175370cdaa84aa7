"""Balance and bonuses."""

from typing import Any

from django.conf import settings
from django.db import transaction

from marketplace import cents, ledger
from marketplace.errors import ParameterValidationError, RequestError, does_not_exist
from marketplace.ledger import Kind
from marketplace.models import Bonus
from marketplace.operations.asked import Asked, operation
from marketplace.operations.assignments import is_visible, mine
from marketplace.operations.hits import own
from marketplace.paging import page


@operation
def get_account_balance(asked: Asked) -> dict[str, Any]:
    kinds = {"AvailableBalance": Kind.AVAILABLE, "OnHoldBalance": Kind.HELD}
    return {
        name: cents.to_text(ledger.account(kind, requester=asked.requester).balance) for name, kind in kinds.items()
    }


@operation
@transaction.atomic
def send_bonus(asked: Asked) -> dict[str, Any]:
    """To whoever did the assignment, reviewed or not."""
    amount = asked.cents("BonusAmount")
    if not amount:
        raise ParameterValidationError('The value "0" is not valid for the parameter BonusAmount.')
    if not asked.params["Reason"].strip():
        raise ParameterValidationError('The value "" is not valid for the parameter Reason.')
    _, assignment = mine(asked, lock=True)
    worker = assignment.worker
    if worker is None or not is_visible(assignment, asked.at):
        raise does_not_exist("Assignment", assignment.assignment_id)  # as long as somebody works on it
    if worker.worker_id != asked.params["WorkerId"]:
        raise RequestError(
            "InvalidParameterValue",
            f"Worker {asked.params['WorkerId']} did not submit the assignment {assignment.assignment_id}.",
        )
    asked.once()
    reference = assignment.assignment_id
    owed = ledger.account(Kind.OWED, worker=worker)
    ledger.spend(asked.requester, owed, amount, "bonus", reference, at=asked.at)
    fee = cents.bonus_fee(amount, preset=settings.MARKETPLACE_FEES)
    ledger.spend(asked.requester, ledger.account(Kind.FEES), fee, "fee", reference, at=asked.at)
    bonus = Bonus.objects.create(
        assignment=assignment,
        worker=worker,
        requester=asked.requester,
        cents=amount,
        reason=asked.params["Reason"],
        at=asked.at,
    )
    asked.effect |= {"bonus": bonus.pk, "assignment": reference, "amount": cents.to_text(amount)}
    return {}


@operation
def list_bonus_payments(asked: Asked) -> dict[str, Any]:
    """Of a HIT, or of an assignment."""
    if bool(asked.get("HITId")) == bool(asked.get("AssignmentId")):
        raise ParameterValidationError("Exactly one of HITId and AssignmentId must be given.")
    rows = Bonus.objects.filter(requester=asked.requester).select_related("assignment", "worker")
    of = {"assignment__hit": own(asked)} if asked.get("HITId") else {"assignment": mine(asked)[1]}
    rows = rows.filter(**of)
    return page(asked.operation, asked.requester.account_id, asked.params, rows, ["pk"], _show, "BonusPayments")


def _show(bonus: Bonus) -> dict[str, Any]:
    return {
        "WorkerId": bonus.worker.worker_id,
        "BonusAmount": cents.to_text(bonus.cents),
        "AssignmentId": bonus.assignment.assignment_id,
        "Reason": bonus.reason,
        "GrantTime": bonus.at.timestamp(),
    }
