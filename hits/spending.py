"""What a study has spent and may still have to pay, beside what it may spend."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import DecimalField, ExpressionWrapper, F, Sum

from annotation.events import event, record
from annotation.models import Study
from hits.errors import BadTerms, OverBudget
from hits.models import Budget, Hit, Payment

GONE = (Payment.State.REJECTED, Payment.State.VOID)
SELLING = (Hit.State.PLANNED, Hit.State.OPEN, Hit.State.ENDING)
MOST = Decimal(99_999_999)


def committed(study: Study) -> Decimal:
    """All that is paid, owed or on its way, and every seat that may be taken: what is not known counts as spent."""
    money = DecimalField(max_digits=14, decimal_places=2)
    paid = (
        Payment.objects.filter(study=study)
        .exclude(state__in=GONE)
        .aggregate(sum=Sum(F("amount") + F("fee"), output_field=money))
    )
    cost = ExpressionWrapper(F("unsold") * (F("batch__reward") + F("batch__fee")), output_field=money)
    open_seats = Hit.objects.filter(batch__study=study, state__in=SELLING).aggregate(sum=Sum(cost))
    return Decimal(paid["sum"] or 0) + Decimal(open_seats["sum"] or 0)


def left(study: Study) -> Decimal | None:
    """What the budget still allows; None without one."""
    budget = Budget.objects.filter(study=study).first()
    return None if budget is None or budget.amount is None else budget.amount - committed(study)


def reserve(study: Study, amount: Decimal) -> None:
    """Make sure that the study may spend so much more. In the transaction that commits it: one at a time for a study.

    Raises OverBudget.
    """
    Budget.objects.get_or_create(study=study)
    Budget.objects.select_for_update().get(study=study)
    check(study, amount)


def check(study: Study, amount: Decimal) -> None:
    """Raises OverBudget if the study may not spend so much more as things stand; commits nothing."""
    free = left(study)
    if free is not None and amount > free:
        raise OverBudget(f"This costs ${amount:.2f}, and the study's budget has ${free:.2f} left. Nothing was bought.")


@transaction.atomic
def set_budget(study: Study, amount: Decimal | None, *, by: str, at: datetime) -> None:
    """What the study may spend from now on; less than is committed already only stops what is new. Raises BadTerms."""
    if amount is not None and not 0 <= amount <= MOST:
        raise BadTerms(f"A budget is from 0 to {MOST:,} dollars; it was {amount}.")
    Budget.objects.update_or_create(study=study, defaults={"amount": amount, "changed_by": by, "changed_at": at})
    record([event(study, "budget set", by=by, at=at, amount=str(amount))])
