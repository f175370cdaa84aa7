"""Move money between accounts, once, whole, and never below nothing. Callers are inside a transaction."""

from datetime import datetime

from django.db.models import F, Sum

from marketplace.cents import to_text
from marketplace.errors import RequestError
from marketplace.models import Account, Requester, Transfer, Worker

Kind = Account.Kind


class Overdrawn(Exception):
    """The account holds less than that."""


def account(kind: str, *, requester: Requester | None = None, worker: Worker | None = None) -> Account:
    owner = requester or worker
    key = f"{kind} {owner.pk}" if owner else str(kind)
    found, _ = Account.objects.get_or_create(key=key, defaults={"kind": kind, "requester": requester, "worker": worker})
    return found


def move(debit: Account, credit: Account, cents: int, what: str, reference: str = "", *, at: datetime) -> None:
    """From one account to another; nothing for 0 cents. Locks both, the lower key first. Raises Overdrawn."""
    if not cents:
        return
    changes = sorted([(debit.pk, -cents), (credit.pk, cents)])
    for pk, change in changes:
        rows = Account.objects.filter(pk=pk)
        if change < 0 and debit.kind != Kind.OUTSIDE:
            rows = rows.filter(balance__gte=cents)
        if not rows.update(balance=F("balance") + change):
            raise Overdrawn(f"{debit} holds less than {to_text(cents)}")
    Transfer.objects.create(debit=debit, credit=credit, cents=cents, what=what, reference=reference, at=at)


def spend(requester: Requester, credit: Account, cents: int, what: str, reference: str = "", *, at: datetime) -> None:
    """Out of what a requester has available. Raises RequestError (InsufficientFunds)."""
    try:
        move(account(Kind.AVAILABLE, requester=requester), credit, cents, what, reference, at=at)
    except Overdrawn:
        raise RequestError(
            "InsufficientFunds",
            f"This Requester has insufficient funds in their account to complete this transaction: it costs "
            f"${to_text(cents)}.",
        ) from None


def deposit(requester: Requester, cents: int, *, at: datetime) -> None:
    move(account(Kind.OUTSIDE), account(Kind.AVAILABLE, requester=requester), cents, "deposit", at=at)


def pay_out(worker: Worker, cents: int, reference: str, *, at: datetime) -> None:
    """What was sent to a worker. Raises Overdrawn for more than is owed."""
    move(account(Kind.OWED, worker=worker), account(Kind.OUTSIDE), cents, "payout", reference, at=at)


def is_balanced() -> bool:
    """Whether all accounts together hold nothing, and each what its movements come to."""
    if Account.objects.aggregate(total=Sum("balance"))["total"]:
        return False
    given = dict(Transfer.objects.values_list("debit").annotate(n=Sum("cents")).order_by())
    got = dict(Transfer.objects.values_list("credit").annotate(n=Sum("cents")).order_by())
    return all(
        balance == got.get(pk, 0) - given.get(pk, 0) for pk, balance in Account.objects.values_list("pk", "balance")
    )
