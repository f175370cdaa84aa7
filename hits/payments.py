"""The ledger: what each worker earned, and how it is paid, each sum exactly once.

A sum is owed once, because its key says what it is for; decided once, because it leaves DUE once; paid once, because an
intent pays it.
"""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum

from annotation import exclusion
from annotation.events import event, record
from annotation.models import Annotation, Sitting, Study, Worker
from annotation.models.sittings import State as SittingState
from annotation.models.workers import running_code
from hits import intents, places, pricing, spending
from hits.client import MTurkClient, MTurkRefused, NotThere, RemoteAssignment, Status
from hits.errors import BadTerms, NotNow, ReasonNeeded
from hits.intents import Kind, NotYet
from hits.models import Hit, Intent, Payment, Visit

State, KIND = Payment.State, Payment.Kind
SETTLED = (State.PAID, State.REJECTED, State.VOID)
MOST = Decimal(1000)


# --- Owing -----------------------------------------------------------------------------------------


def owe_reward(visit: Visit, hit: Hit, worker: Worker, *, at: datetime) -> Payment:
    """What submitted work earns, once; its seat is sold by that. In the caller's transaction, which holds the visit."""
    batch = hit.batch
    payment, is_new = Payment.objects.get_or_create(
        key=f"reward {visit.assignment_id} {visit.remote_worker}",
        defaults={
            "study": batch.study,
            "batch": batch,
            "visit": visit,
            "sitting": visit.sitting,
            "worker": worker,
            "kind": KIND.REWARD,
            "amount": batch.reward,
            "fee": batch.fee,
            "by": "marketplace",
            "created_at": at,
        },
    )
    if is_new:
        Hit.objects.filter(pk=hit.pk, unsold__gt=0).update(unsold=F("unsold") - 1)
    return payment


def owe_sittings(study: Study, *, at: datetime) -> int:
    """What people with personal links earn by finished sittings, where the study pays; returns how many are new.

    What was worked is owed, whatever the budget says.
    """
    amount = pricing.cents(Decimal(str(study.options.get("pay_per_sitting") or 0)))
    done = Sitting.objects.filter(
        study=study, purpose=Sitting.Purpose.WORK, state=SittingState.SUBMITTED, payments=None, worker__market=None
    ).exclude(leased_until=F("closed_at"))  # done elsewhere: nobody held it here, and whoever asked for it paid
    return sum(_owe_sitting(sitting, amount, at=at) for sitting in done.order_by("pk")) if amount else 0


def _owe_sitting(sitting: Sitting, amount: Decimal, *, at: datetime) -> bool:
    made = {"study_id": sitting.study_id, "sitting": sitting, "worker_id": sitting.worker_id, "kind": KIND.REWARD}
    made |= {"amount": amount, "by": "pay per sitting", "created_at": at}
    return Payment.objects.get_or_create(key=f"sitting {sitting.pk}", defaults=made)[1]


def offer(
    study: Study,
    worker: Worker,
    kind: str,
    amount: Decimal,
    reason: str,
    *,
    key: str,
    by: str,
    at: datetime,
    visit: Visit | None = None,
) -> Payment:
    """Decide a bonus, a top-up or a compensation: paid through the worker's newest confirmed work at the marketplace,
    or owed by hand to people with personal links. The same key again is the same payment.

    Raises BadTerms, ReasonNeeded, OverBudget, NotNow (nothing to pay it through). Locks the study's budget.
    """
    check(amount, reason)
    is_remote = hasattr(worker, "market")
    visit = visit or (newest(study, worker) if is_remote else None)
    if is_remote and visit is None:
        raise NotNow("This worker has no submitted work that a bonus could be paid through.")
    with transaction.atomic():
        if found := Payment.objects.filter(key=key).first():
            return found
        fee = pricing.bonus_fee(amount, settings.MTURK_FEES) if is_remote else Decimal("0.00")
        spending.reserve(study, amount + fee)
        if found := Payment.objects.filter(key=key).first():  # by whoever held the budget before us
            return found
        payment = Payment.objects.create(
            key=key,
            study=study,
            batch=visit.hit.batch if visit else None,
            visit=visit,
            worker=worker,
            kind=kind,
            amount=amount,
            fee=fee,
            reason=reason.strip()[:400],
            by=by,
            created_at=at,
        )
        if visit:
            _ask(payment, "bonus", {}, by=by, at=at)
        record([event(study, f"{kind} decided", by=by, at=at, worker=worker, why=reason, amount=str(amount))])
    return payment


def check(amount: Decimal, reason: str) -> None:
    """Raises BadTerms, ReasonNeeded."""
    if not 0 < amount <= MOST or amount != pricing.cents(amount):
        raise BadTerms(f"An amount is dollars and cents, above 0 and at most {MOST}; it was {amount}.")
    if not reason.strip():
        raise ReasonNeeded("Say what it is for: the worker reads it.")


def newest(study: Study, worker: Worker) -> Visit | None:
    """Work through which a bonus can be paid: anything that the marketplace saw submitted."""
    seen = Visit.objects.filter(worker=worker, hit__batch__study=study).exclude(remote="")
    return seen.select_related("hit__batch").order_by("-submitted_at").first()


# --- Deciding ------------------------------------------------------------------------------------------


@transaction.atomic
def approve(payment: Payment, *, by: str, at: datetime) -> bool:
    """Decide to pay a reward; False when it was decided before. Of people with personal links: it is paid by hand."""
    if payment.visit_id is None:
        return settle(payment, State.PAID, [State.DUE], by=by, at=at)
    if not _leave_due(payment, by=by):
        return False
    _ask(payment, "approve", {}, by=by, at=at)
    return True


def approve_all(waiting: QuerySet[Payment], *, by: str, at: datetime) -> int:
    """Decide to pay all of these rewards that are still due; returns how many. A thousand at a time, each time all or
    none: what was decided before a fault stays decided.
    """
    approved = 0
    ids = list(waiting.filter(state=State.DUE).order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), 1000):
        approved += _approve_some(ids[start : start + 1000], by=by, at=at)
    return approved


@transaction.atomic
def _approve_some(ids: list[int], *, by: str, at: datetime) -> int:
    locked = Payment.objects.select_for_update(of=("self",)).select_related("visit__hit__batch").order_by("pk")
    rows = list(locked.filter(pk__in=ids, state=State.DUE))
    by_hand = [row.pk for row in rows if row.visit_id is None]
    Payment.objects.filter(pk__in=by_hand).update(state=State.PAID, by=by, settled_at=at)
    asked = [(row, row.visit) for row in rows if row.visit is not None]
    for place in {visit.hit.batch.place for _, visit in asked}:
        places.check(place)
    for row, visit in asked:
        batch, params = visit.hit.batch, {"payment": row.pk}
        made = {"study_id": row.study_id, "batch": batch, "visit": visit, "place": batch.place, "params": params}
        target = _target(row, visit, "approve")
        row.intent = Intent(kind="approve", target=target, **made, by=by, not_before=at, created_at=at)
        row.state, row.by = State.ASKED, by
    Intent.objects.bulk_create([row.intent for row, _ in asked if row.intent], batch_size=500)
    Payment.objects.bulk_update([row for row, _ in asked], ["state", "by", "intent"], batch_size=200)
    intents.wake()
    return len(rows)


@transaction.atomic
def reject(payment: Payment, reason: str, *, by: str, at: datetime) -> bool:
    """Decide not to pay a reward, which only a person does, with a reason that the worker reads. Its answers are taken
    out of the count. False when it was decided before. Raises ReasonNeeded, NotNow.
    """
    if not reason.strip():
        raise ReasonNeeded
    if payment.kind != KIND.REWARD or payment.visit is None:
        raise NotNow("Only rewards for work at a marketplace can be rejected.")
    if not _leave_due(payment, by=by, reason=reason.strip()[:400]):
        return False
    _ask(payment, "reject", {"feedback": reason.strip()[:400]}, by=by, at=at)
    leave_out(payment, reason, by=by, at=at)
    return True


@transaction.atomic
def reject_softly(payment: Payment, reason: str, *, by: str, at: datetime) -> bool:
    """Pay for it, and leave its answers out of the data; the worker is told nothing. Raises ReasonNeeded."""
    if not reason.strip():
        raise ReasonNeeded("Say why: the log keeps it.")
    paid = approve(payment, by=by, at=at)
    leave_out(payment, reason, by=by, at=at)
    return paid


def leave_out(payment: Payment, reason: str, *, by: str, at: datetime) -> None:
    """The answers it is for are kept, and count no more."""
    if payment.sitting_id is not None:
        ids = Annotation.objects.filter(assignment__sitting=payment.sitting_id).values_list("pk", flat=True)
        exclusion.set_aside(payment.study, list(ids), Annotation.Why.EXCLUDED, by=by, why=reason, at=at)


@transaction.atomic
def override(payment: Payment, *, by: str, at: datetime) -> bool:
    """Pay a rejected reward after all, within 30 days of its submission."""
    if not Payment.objects.filter(pk=payment.pk, state=State.REJECTED).update(
        state=State.ASKED, settled_at=None, by=by, intent=None
    ):
        return False
    _ask(payment, "override", {}, by=by, at=at)
    return True


def _leave_due(payment: Payment, *, by: str, **fields: Any) -> bool:
    """Of all who decide at once, one does."""
    moved = Payment.objects.filter(pk=payment.pk, state=State.DUE).update(state=State.ASKED, by=by, **fields)
    if moved:
        payment.state = State.ASKED
    return bool(moved)


def _ask(payment: Payment, kind: str, params: dict[str, Any], *, by: str, at: datetime) -> None:
    """The intent that carries a decision out. In the decision's transaction."""
    visit = payment.visit
    assert visit is not None
    batch = visit.hit.batch
    places.check(batch.place)
    intent = intents.decide(
        kind,
        _target(payment, visit, kind),
        study=payment.study,
        batch=batch,
        visit=visit,
        place=batch.place,
        params={"payment": payment.pk, **params},
        by=by,
        at=at,
    )
    Payment.objects.filter(pk=payment.pk).update(intent=intent, state=State.ASKED)
    payment.state = State.ASKED


def _target(payment: Payment, visit: Visit, kind: str) -> str:
    return f"{payment.pk}" if kind == "bonus" else f"{visit.assignment_id} {visit.remote_worker}"


def settle(payment: Payment, to: str, before: list[str], *, at: datetime, by: str = "") -> bool:
    """Once."""
    open_one = Payment.objects.filter(pk=payment.pk, state__in=before)
    moved = open_one.update(state=to, settled_at=at, **({"by": by} if by else {}))
    if moved:
        payment.state, payment.settled_at = State(to), at
    return bool(moved)


def note_remote(payment: Payment, remote: RemoteAssignment, *, at: datetime) -> None:
    """What the marketplace has paid is paid, whoever decided it: auto-approval asks nobody."""
    unsettled: list[str] = [State.DUE, State.ASKED, State.ATTENTION]
    if remote.status == Status.APPROVED:
        settle(payment, State.PAID, [*unsettled, State.REJECTED], at=at)
    elif remote.status == Status.REJECTED:
        settle(payment, State.REJECTED, unsettled, at=at)


# --- Reading -------------------------------------------------------------------------------------------------


def due(study: Study) -> QuerySet[Payment]:
    """Rewards that wait for a decision."""
    waiting = Payment.objects.filter(study=study, state=State.DUE)
    return waiting.select_related("visit__hit__batch", "worker", "study").order_by("pk")


def proven(study: Study) -> QuerySet[Payment]:
    """Those of them whose answers are known to be the worker's: a quarantined one is looked at by itself."""
    return due(study).filter(Q(visit=None) | Q(visit__state=Visit.State.CONFIRMED))


def total(found: QuerySet[Payment]) -> tuple[int, Decimal, Decimal]:
    """How many, and what they come to: for the workers, and fees."""
    sums = found.order_by().aggregate(n=Count("pk"), amount=Sum("amount"), fee=Sum("fee"))
    return sums["n"], Decimal(sums["amount"] or 0), Decimal(sums["fee"] or 0)


def ledger(study: Study) -> Iterator[dict[str, Any]]:
    """Every sum with its state, oldest first."""
    rows = Payment.objects.filter(study=study).select_related("worker", "intent", "visit", "batch").order_by("pk")
    for row in rows.iterator(chunk_size=1000):
        remote_id = row.intent.remote_id if row.intent else ""
        yield {
            "id": row.pk,
            "kind": row.kind,
            "worker": row.visit.remote_worker if row.visit else row.worker.code,
            "amount": f"{row.amount:.2f}",
            "fee": f"{row.fee:.2f}",
            "state": row.state,
            "remote_id": remote_id or (row.visit.assignment_id if row.visit else ""),
            "intent": row.intent.token if row.intent else "",
            "batch": row.batch.number if row.batch else None,
            "reason": row.reason,
            "at": row.created_at.isoformat(),
        }


RECEIPT = ("worker", "marketplace id", "kind", "amount", "fee", "state", "batch", "reference", "reason", "by", "at")


def receipts(study: Study) -> Iterator[tuple[Any, ...]]:
    """RECEIPT, then a row for every sum, oldest first; who it went to by running code."""
    yield RECEIPT
    numbers = dict(study.enrolments.values_list("worker", "number"))
    rows = Payment.objects.filter(study=study).select_related("intent", "visit", "batch").order_by("pk")
    for row in rows.iterator(chunk_size=1000):
        reference = (row.intent and row.intent.remote_id) or (row.visit and row.visit.assignment_id) or ""
        yield (
            running_code(numbers[row.worker_id]) if row.worker_id in numbers else "",
            row.visit.remote_worker if row.visit else "",
            row.kind,
            f"{row.amount:.2f}",
            f"{row.fee:.2f}",
            row.state,
            row.batch.number if row.batch else "",
            reference,
            row.reason,
            row.by,
            (row.settled_at or row.created_at).isoformat(timespec="seconds"),
        )


def totals(study: Study) -> dict[str, Decimal]:
    """Dollars by state, fees included."""
    found: dict[str, Decimal] = {}
    for state, amount, fee in Payment.objects.filter(study=study).values_list("state", "amount", "fee"):
        found[state] = found.get(state, Decimal(0)) + amount + fee
    return found


# --- Carrying out -----------------------------------------------------------------------------------------------


def _visit(intent: Intent) -> Visit:
    return Visit.objects.select_related("hit").get(intents=intent)


def _payment(intent: Intent) -> Payment:
    return Payment.objects.get(pk=intent.params["payment"])


def _approve(intent: Intent, mturk: MTurkClient) -> str:
    assignment = _visit(intent).assignment_id
    mturk.approve(assignment, override=intent.kind == "override")
    return assignment


def _reject(intent: Intent, mturk: MTurkClient) -> str:
    assignment = _visit(intent).assignment_id
    mturk.reject(assignment, intent.params["feedback"])
    return assignment


def _status(intent: Intent, mturk: MTurkClient) -> Status:
    """As it is there. Raises NotYet for what lags behind, and MTurkRefused if the slot went to somebody else."""
    visit = _visit(intent)
    try:
        remote = mturk.get_assignment(visit.assignment_id)
    except NotThere as error:
        raise NotYet(error.sentence) from error
    if remote.worker_id != visit.remote_worker:
        raise MTurkRefused("This assignment is another worker's now.")
    return remote.status


def _is_approved(intent: Intent, mturk: MTurkClient) -> str | None:
    status = _status(intent, mturk)
    if status == Status.REJECTED and intent.kind == "approve":
        raise MTurkRefused("It was rejected at the marketplace before it could be approved.")
    return _visit(intent).assignment_id if status == Status.APPROVED else None


def _is_rejected(intent: Intent, mturk: MTurkClient) -> str | None:
    status = _status(intent, mturk)
    if status == Status.APPROVED:
        raise MTurkRefused("It was approved, perhaps by itself, before it could be rejected: the worker is paid.")
    return _visit(intent).assignment_id if status == Status.REJECTED else None


def _approved(intent: Intent, at: datetime) -> None:
    settle(_payment(intent), State.PAID, [State.ASKED, State.DUE, State.ATTENTION], at=at)


def _rejected(intent: Intent, at: datetime) -> None:
    settle(_payment(intent), State.REJECTED, [State.ASKED, State.DUE, State.ATTENTION], at=at)


def _needs_a_look(intent: Intent, sentence: str, at: datetime) -> None:
    """What was refused is not paid and not rejected: the next look at the marketplace settles it, or a person does."""
    Payment.objects.filter(pk=intent.params["payment"], state=State.ASKED).update(state=State.ATTENTION)
    Hit.objects.filter(visits=intent.visit_id).update(look_at=at)


def _parked(intent: Intent, at: datetime) -> None:
    _needs_a_look(intent, "", at)


def reference_of(intent: Intent) -> str:
    """A short mark that tells this bonus from every other; the worker sees it too."""
    return f"ref {intent.token[:8].upper()}"


def _bonus(intent: Intent, mturk: MTurkClient) -> str:
    visit, payment = _visit(intent), _payment(intent)
    if payment.state == State.VOID:
        raise MTurkRefused("It was given up, and its money may be promised to others.")
    reason = f"{payment.reason} ({reference_of(intent)})"
    mturk.bonus(visit.remote_worker, visit.assignment_id, payment.amount, reason, token=intent.token)
    return reference_of(intent)


def _find_bonus(intent: Intent, mturk: MTurkClient) -> str | None:
    mark = reference_of(intent)
    return next((mark for row in mturk.bonuses_of(_visit(intent).assignment_id) if mark in row.reason), None)


def _bonus_refused(intent: Intent, sentence: str, at: datetime) -> None:
    """Not paid, surely: nothing is owed by this decision any more."""
    settle(_payment(intent), State.VOID, [State.ASKED], at=at)


def _bonus_again(intent: Intent, at: datetime) -> None:
    """It is owed once more. Raises OverBudget."""
    payment = _payment(intent)
    spending.reserve(intent.study, payment.amount + payment.fee)
    Payment.objects.filter(pk=payment.pk, state=State.VOID).update(state=State.ASKED, settled_at=None)


def unsettled(study: Study) -> QuerySet[Payment]:
    """What a person should look at."""
    odd = Q(state=State.ATTENTION) | Q(intent__state__in=[Intent.State.FAILED, Intent.State.PARKED])
    found = Payment.objects.filter(odd, study=study).exclude(state__in=SETTLED)
    return found.select_related("visit", "intent", "worker")


intents.KINDS |= {
    "approve": Kind(send=_approve, look=_is_approved, done=_approved, refused=_needs_a_look, parked=_parked),
    "override": Kind(send=_approve, look=_is_approved, done=_approved, refused=_needs_a_look, parked=_parked),
    "reject": Kind(send=_reject, look=_is_rejected, done=_rejected, refused=_needs_a_look, parked=_parked),
    "bonus": Kind(
        send=_bonus,
        look=_find_bonus,
        done=_approved,
        refused=_bonus_refused,
        parked=_parked,
        again=_bonus_again,
        has_token=True,
    ),
}
