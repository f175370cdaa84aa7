"""A HIT for one person: how somebody is compensated whose work never reached the marketplace.

A bonus can only be paid through submitted work. Whoever met a fault before that, or left, has none; so they alone are
let into a HIT that asks for nothing, and whose reward is the compensation.
"""

from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max

from annotation.events import event, record
from annotation.models import Study, Worker
from hits import payments, places, pricing, publishing, qualifications, spending
from hits.models import Batch, Hit, Payment, Visit

State = Payment.State
DAYS, MINUTES = 30, 60  # so long it is on offer, and so long it may be held


def is_needed(study: Study, worker: Worker, kind: str) -> bool:
    """Whether this can be paid through nothing that the worker did."""
    is_remote = hasattr(worker, "market")
    return kind == Payment.Kind.COMPENSATION and is_remote and payments.newest(study, worker) is None


def invite(study: Study, worker: Worker, amount: Decimal, reason: str, *, key: str, by: str, at: datetime) -> Payment:
    """Offer the worker a HIT that is worth `amount`, for thirty days. The same key again is the same payment.

    Raises BadTerms, ReasonNeeded, OverBudget, NoAccount. Locks the study's budget.
    """
    payments.check(amount, reason)
    place, fee = places.here(), pricing.reward_fee(amount, 1, settings.MTURK_FEES)
    with transaction.atomic():
        spending.hold(study)
        if found := Payment.objects.filter(key=key).first():
            return found
        spending.check(study, amount + fee)
        last = Batch.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        batch = Batch.objects.create(
            study=study,
            number=last + 1,
            place=place,
            invited=worker,
            title=f"Compensation: {study.title}"[:128],
            description=reason.strip()[:2000],
            reward=amount,
            fee=fee,
            sittings=1,
            per_hit=1,
            duration_minutes=MINUTES,
            lifetime_hours=24 * DAYS,
            auto_approval_hours=publishing.Terms.auto_approval_hours,
            created_by=by,
            created_at=at,
        )
        payment = Payment.objects.create(
            key=key,
            study=study,
            batch=batch,
            worker=worker,
            kind=Payment.Kind.COMPENSATION,
            amount=amount,
            fee=fee,
            reason=reason.strip()[:400],
            state=State.ASKED,
            by=by,
            created_at=at,
        )
        qualifications.ensure(study, [qualifications.purpose_of(worker)], place, at=at)
        publishing.add_hits(batch, [1], by=by, at=at)
        record([event(study, "compensation offered", by=by, at=at, worker=worker, why=reason, amount=str(amount))])
    return payment


def take(visit: Visit, hit: Hit) -> Payment:
    """The compensation of a HIT that its worker has submitted, now to be decided. In the caller's transaction."""
    payment = Payment.objects.select_for_update(of=("self",)).get(batch=hit.batch, visit=None)
    # Work that comes in after all is owed, also if its HIT was taken to be over.
    payment.visit, payment.state, payment.settled_at = visit, State.DUE, None
    payment.save(update_fields=["visit", "state", "settled_at"])
    Hit.objects.filter(pk=hit.pk, unsold__gt=0).update(unsold=F("unsold") - 1)
    return payment


def is_taken_by(visit: Visit, hit: Hit) -> Payment | None:
    """What its submission by the one it is for is worth; None for everything else."""
    if hit.batch.invited_id is None or visit.worker_id != hit.batch.invited_id:
        return None
    return Payment.objects.filter(batch=hit.batch, visit=visit).first() or take(visit, hit)


def lapse(hit: Hit, *, at: datetime) -> None:
    """Its HIT is over, and nobody came: the money is the study's again."""
    Payment.objects.filter(batch=hit.batch, batch__invited__isnull=False, visit=None, state=State.ASKED).update(
        state=State.VOID, settled_at=at
    )
