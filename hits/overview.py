"""How far batches are and what they cost: reads for pages, commands and the API."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet, Sum

from annotation.events import event, record
from annotation.models import Study
from hits.models import Batch, Hit, Intent, Payment, Visit


@dataclass(frozen=True)
class Row:
    """One batch. hits: by state; submitted: seats that became work, of which `waiting` are not decided yet;
    quarantined and attention: for a person. calls: decided, and not known to have happened yet.
    """

    batch: Batch
    hits: Counter[str]
    unsold: int
    submitted: int
    approved: int
    rejected: int
    waiting: int
    paid: Decimal
    quarantined: int
    attention: int
    calls: int = 0

    @property
    def total_hits(self) -> int:
        return sum(self.hits.values())

    @property
    def published(self) -> int:
        return self.total_hits - self.hits[Hit.State.PLANNED]

    @property
    def is_busy(self) -> bool:
        """HITs are being published."""
        return bool(self.hits[Hit.State.PLANNED]) and self.batch.state == Batch.State.OPEN

    @property
    def on_its_way(self) -> int:
        """Decided, and not known to be paid or rejected yet."""
        return self.submitted - self.approved - self.rejected - self.waiting

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
            "rejected": self.rejected,
            "waiting": self.waiting,
            "paid": f"{self.paid:.2f}",
            "quarantined": self.quarantined,
            "attention": self.attention,
            "created_at": self.batch.created_at.isoformat(),
        }


def batches(study: Study, number: int | None = None) -> list[Row]:
    """Newest first, or the one with this number; in a fixed number of queries."""
    found = Batch.objects.filter(study=study).select_related("study")
    rows = list(found if number is None else found.filter(number=number))
    mine = [row.pk for row in rows]
    invited = {row.pk for row in rows if row.invited_id}
    hits: dict[int, Counter[str]] = {pk: Counter() for pk in mine}
    unsold: Counter[int] = Counter()
    for pk, state, count, free in (
        Hit.objects.filter(batch__in=mine)
        .order_by()
        .values_list("batch", "state")
        .annotate(n=Count("pk"), free=Sum("unsold"))
    ):
        hits[pk][state] += count
        unsold[pk] += free
    worked: dict[int, Counter[str]] = {pk: Counter() for pk in mine}
    paid: Counter[int] = Counter()
    sums = Payment.objects.filter(batch__in=mine).exclude(visit=None).order_by().values_list("batch", "kind", "state")
    for pk, kind, state, count, amount, fee in sums.annotate(n=Count("pk"), a=Sum("amount"), f=Sum("fee")):
        worked[pk][state] += count if kind == Payment.Kind.REWARD or pk in invited else 0
        paid[pk] += amount + fee if state == Payment.State.PAID else 0
    quarantined = _counted(odd_visits(study).values_list("hit__batch"))
    attention = _counted(stuck(study).values_list("batch"))
    calls = _counted(Intent.objects.filter(study=study, closed_at=None).values_list("batch"))
    return [
        Row(
            row,
            hits[row.pk],
            unsold[row.pk],
            worked[row.pk].total(),
            worked[row.pk][Payment.State.PAID],
            worked[row.pk][Payment.State.REJECTED],
            worked[row.pk][Payment.State.DUE],
            Decimal(paid[row.pk]),
            quarantined.get(row.pk, 0),
            attention.get(row.pk, 0),
            calls.get(row.pk, 0),
        )
        for row in rows
    ]


def _counted(grouped: QuerySet[Any, Any]) -> dict[int | None, int]:
    return dict(grouped.order_by().annotate(n=Count("pk")))


# --- What needs a person ------------------------------------------------------------------------------


def odd_visits(study: Study) -> QuerySet[Visit]:
    """Work that the marketplace's word does not prove, until a person has looked at it."""
    return Visit.objects.filter(hit__batch__study=study, state=Visit.State.QUARANTINED, seen_at=None)


def stuck(study: Study) -> QuerySet[Intent]:
    """What was refused or may have happened, until a person has decided; HITs of a batch that ended are not missed."""
    closed = Intent.objects.filter(study=study, state__in=[Intent.State.FAILED, Intent.State.PARKED], seen_at=None)
    return closed.exclude(kind="create", batch__state=Batch.State.CLOSED)


@dataclass(frozen=True)
class Attention:
    """For a person: at most so many of each, and how many there are in all."""

    visits: list[Visit]
    intents: list[Intent]
    total: int


def attention(study: Study, batch: Batch | None = None, most: int = 25) -> Attention:
    """In a fixed number of queries."""
    visits, intents = odd_visits(study), stuck(study)
    if batch is not None:
        visits, intents = visits.filter(hit__batch=batch), intents.filter(batch=batch)
    shown = visits.select_related("hit__batch", "worker").order_by("pk")[:most]
    called = intents.select_related("hit", "batch", "payment__worker", "visit__worker").order_by("pk")[:most]
    return Attention(list(shown), list(called), visits.count() + intents.count())


def leave_visit(visit: Visit, *, by: str, at: datetime) -> None:
    """A person has looked at a quarantined visit: it stays quarantined, and is not shown as open any more."""
    if odd_visits(visit.hit.batch.study).filter(pk=visit.pk).update(seen_at=at):
        record([event(visit.hit.batch.study, "quarantine seen", by=by, at=at, worker=visit.worker_id, why=visit.why)])
