"""What a study has spent and may still have to pay, beside what it may spend."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import DecimalField, ExpressionWrapper, F, Sum

from annotation.events import event, record
from annotation.models import Study
from hits.errors import BadTerms, OverBudget
from hits.models import Budget, Hit, Payment

GONE = (Payment.State.REJECTED, Payment.State.VOID)
SELLING = (Hit.State.PLANNED, Hit.State.OPEN, Hit.State.ENDING)
MOST, MOST_HOURLY = Decimal(99_999_999), Decimal(1000)


@dataclass(frozen=True)
class Standing:
    """Dollars. budget, left: None where no budget is set. target_hourly: the wage the team wants people to earn."""

    budget: Decimal | None
    committed: Decimal
    target_hourly: Decimal | None

    @property
    def left(self) -> Decimal | None:
        return None if self.budget is None else self.budget - self.committed

    def as_dict(self) -> dict[str, Any]:
        found = {**vars(self), "left": self.left}
        return {name: None if value is None else f"{value:.2f}" for name, value in found.items()}


def standing(study: Study) -> Standing:
    budget = Budget.objects.filter(study=study).first()
    return Standing(
        None if budget is None else budget.amount,
        committed(study),
        None if budget is None else budget.target_hourly,
    )


def committed(study: Study) -> Decimal:
    """All that is paid, owed or on its way, and every seat that may be taken: what is not known counts as spent."""
    money = DecimalField(max_digits=14, decimal_places=2)
    paid = (
        Payment.objects.filter(study=study)
        .exclude(state__in=GONE)
        .aggregate(sum=Sum(F("amount") + F("fee"), output_field=money))
    )
    cost = ExpressionWrapper(F("unsold") * (F("batch__reward") + F("batch__fee")), output_field=money)
    # What is for one person is counted where it is owed to them.
    open_seats = Hit.objects.filter(batch__study=study, batch__invited=None, state__in=SELLING).aggregate(sum=Sum(cost))
    return Decimal(paid["sum"] or 0) + Decimal(open_seats["sum"] or 0)


def left(study: Study) -> Decimal | None:
    """What the budget still allows; None without one."""
    budget = Budget.objects.filter(study=study).first()
    return None if budget is None or budget.amount is None else budget.amount - committed(study)


def reserve(study: Study, amount: Decimal) -> None:
    """Make sure that the study may spend so much more. In the transaction that commits it: one at a time for a study.

    Raises OverBudget.
    """
    hold(study)
    check(study, amount)


def hold(study: Study) -> None:
    """Lock what the study may spend. In the caller's transaction."""
    Budget.objects.get_or_create(study=study)
    Budget.objects.select_for_update().get(study=study)


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


@transaction.atomic
def set_target(study: Study, hourly: Decimal | None, *, by: str, at: datetime) -> None:
    """The wage, in dollars an hour of active time, beside which people's pay is shown. Raises BadTerms."""
    if hourly is not None and not 0 < hourly <= MOST_HOURLY:
        raise BadTerms(f"The wage is dollars for an hour, above 0 and at most {MOST_HOURLY}; it was {hourly}.")
    changed = {"target_hourly": hourly, "changed_by": by, "changed_at": at}
    Budget.objects.update_or_create(study=study, defaults=changed)
    record([event(study, "target wage set", by=by, at=at, hourly=str(hourly))])
