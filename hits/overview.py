"""How far batches are and what they cost: reads for pages, commands and the API."""

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum

from annotation.models import Study
from hits.models import Batch, Hit, Intent, Payment, Visit


@dataclass(frozen=True)
class Row:
    """One batch. hits: by state; submitted: seats that became work; quarantined and attention: for a person."""

    batch: Batch
    hits: Counter[str]
    unsold: int
    submitted: int
    approved: int
    paid: Decimal
    quarantined: int
    attention: int

    @property
    def total_hits(self) -> int:
        return sum(self.hits.values())

    @property
    def published(self) -> int:
        return self.total_hits - self.hits[Hit.State.PLANNED]

    def as_dict(self) -> dict[str, Any]:
        return {
            "batch": self.batch.number,
            "stage": self.batch.stage,
            "state": self.batch.state,
            "sittings": self.batch.sittings,
            "reward": f"{self.batch.reward:.2f}",
            "hits": {str(state): count for state, count in sorted(self.hits.items())},
            "unsold": self.unsold,
            "submitted": self.submitted,
            "approved": self.approved,
            "paid": f"{self.paid:.2f}",
            "quarantined": self.quarantined,
            "attention": self.attention,
            "created_at": self.batch.created_at.isoformat(),
        }


def batches(study: Study) -> list[Row]:
    """Newest first, in a fixed number of queries."""
    rows = list(Batch.objects.filter(study=study).select_related("study"))
    hits: dict[int, Counter[str]] = {row.pk: Counter() for row in rows}
    unsold: Counter[int] = Counter()
    for pk, state, count, free in (
        Hit.objects.filter(batch__study=study)
        .order_by()
        .values_list("batch", "state")
        .annotate(n=Count("pk"), free=Sum("unsold"))
    ):
        hits[pk][state] += count
        unsold[pk] += free
    rewards = Payment.objects.filter(study=study, kind=Payment.Kind.REWARD, batch__isnull=False).order_by()
    worked = {
        pk: (all_, paid)
        for pk, all_, paid in rewards.values_list("batch").annotate(n=Count("pk"), paid=Count("pk", Q(state="paid")))
    }
    sums = Payment.objects.filter(study=study, state="paid", batch__isnull=False).order_by().values_list("batch")
    paid = {pk: amount + fee for pk, amount, fee in sums.annotate(a=Sum("amount"), f=Sum("fee"))}
    odd = Visit.objects.filter(hit__batch__study=study, state=Visit.State.QUARANTINED).order_by()
    quarantined = dict(odd.values_list("hit__batch").annotate(n=Count("pk")))
    stuck = Intent.objects.filter(study=study, state__in=["failed", "parked"]).order_by()
    attention = dict(stuck.values_list("batch").annotate(n=Count("pk")))
    return [
        Row(
            row,
            hits[row.pk],
            unsold[row.pk],
            *worked.get(row.pk, (0, 0)),
            Decimal(paid.get(row.pk, 0)),
            quarantined.get(row.pk, 0),
            attention.get(row.pk, 0),
        )
        for row in rows
    ]
