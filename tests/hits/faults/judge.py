"""Whether the promises were kept, by what the marketplace itself recorded: HITs, assignments, bonuses, transfers."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.utils import timezone

from annotation.models import Annotation, Study
from hits.models import Hit, Intent, Payment, Visit
from marketplace import ledger
from marketplace.models import HIT, Account, Assignment, Bonus, Call, Requester, Transfer

REMOTE = {"Submitted": {"due", "asked", "attention"}, "Approved": {"paid"}, "Rejected": {"rejected"}}


def problems(study: Study, *, budget: Decimal | None = None, at: datetime | None = None) -> list[str]:
    """Every promise that was broken, as a sentence; none is what a test hopes for. at: the marketplace's time."""
    requester = Requester.objects.get(access_key=settings.MTURK_ACCESS_KEY)
    return [
        *_hits(study, requester, at or timezone.now()),
        *_work(study, requester),
        *_money(study, requester, budget),
        *_open(study),
    ]


def calls(operation: str, **more: object) -> int:
    """How many calls of it the marketplace saw."""
    return Call.objects.filter(operation=operation, **more).count()


def _hits(study: Study, requester: Requester, at: datetime) -> Iterator[str]:
    """P1: one HIT for one intent, and both sides agree on its state."""
    remote: dict[str, HIT] = {}
    for there in HIT.objects.filter(requester=requester):
        if there.annotation in remote:
            yield f"{there.annotation} was published twice"
        remote[there.annotation] = there
    for intent in Intent.objects.filter(kind="create", study=study).select_related("hit"):
        yield from _same_hit(intent.hit, remote.pop(intent.token, None), at)
    yield from (f"{mark} was published, and nobody decided it" for mark in remote)


def _same_hit(here: Hit, there: HIT | None, at: datetime) -> Iterator[str]:
    if there is None:
        if here.state not in ("planned", "failed"):
            yield f"{here} is {here.state}, and was never published"
        return
    if here.hit_id != there.hit_id:
        yield f"{here} is {here.hit_id} here and {there.hit_id} there"
    is_offered = there.disposed_at is None and there.expires_at > at and there.taken < there.max_assignments
    is_right = {
        "open": there.disposed_at is None and there.expires_at > at,
        "ending": there.disposed_at is None and not is_offered,
        "ended": there.disposed_at is None and not is_offered,
        "deleted": there.disposed_at is not None,
    }
    if not is_right.get(here.state, False):
        yield f"{here} is {here.state} here; there it expires {there.expires_at}, disposed {there.disposed_at}"


def _work(study: Study, requester: Requester) -> Iterator[str]:
    """P2, P3, P6: all submitted work is here, credited to who did it, and in the same state of payment."""
    rewards = Payment.objects.filter(study=study, kind="reward").exclude(visit=None).select_related("visit")
    here = {(row.visit.assignment_id, row.visit.remote_worker): row for row in rewards if row.visit}
    done = Assignment.objects.filter(hit__requester=requester, state__in=REMOTE).select_related("worker")
    for there in done:
        payment = here.pop((there.assignment_id, there.worker.worker_id if there.worker else ""), None)
        if payment is None:
            yield f"{there} was submitted, and is owed nothing here"
            continue
        if payment.state not in REMOTE[there.state]:
            yield f"{there} is {there.state} there and {payment.state} here"
        visit = payment.visit
        if visit and visit.reference and visit.reference in there.answer and visit.state != Visit.State.CONFIRMED:
            yield f"the answer in {there} was submitted with its reference, and is {visit.state}"
    yield from (f"{key} is owed something, and was never submitted" for key in here)
    for visit in Visit.objects.filter(hit__batch__study=study, state=Visit.State.CONFIRMED):
        answers = Annotation.objects.filter(assignment__sitting=visit.sitting_id)
        if not answers.exists() or answers.filter(uncounted="unconfirmed").exists():
            yield f"{visit} is confirmed, and its answers do not count"


def _money(study: Study, requester: Requester, budget: Decimal | None) -> Iterator[str]:
    """P2, P5: nothing is paid twice, the books balance, and never was more spent than the budget."""
    rewards = Counter(Transfer.objects.filter(what="reward").values_list("reference", flat=True))
    yield from (f"{assignment} was paid {n} times" for assignment, n in rewards.items() if n > 1)
    bonuses = Bonus.objects.filter(requester=requester).select_related("worker")
    reasons = Counter(bonuses.values_list("reason", flat=True))
    yield from (f"the bonus {reason!r} was paid {n} times" for reason, n in reasons.items() if n > 1)
    there = Counter((row.worker.worker_id, row.cents) for row in bonuses)
    paid = Payment.objects.filter(study=study, state="paid").exclude(kind="reward").exclude(visit=None)
    here = Counter((row.visit.remote_worker, int(row.amount * 100)) for row in paid if row.visit)
    if there != here:
        yield f"bonuses there {there}, and here {here}"
    if not ledger.is_balanced():
        yield "the marketplace's books do not balance"
    if budget is not None and (most := _most_spent(requester)) > budget:
        yield f"{most} was spent or held, of a budget of {budget}"


def _most_spent(requester: Requester) -> Decimal:
    """The most that was ever spent or held at one moment, in dollars."""
    pot = Account.objects.get(requester=requester, kind=Account.Kind.AVAILABLE).pk
    now = most = 0
    for debit, credit, cents, what in Transfer.objects.order_by("pk").values_list("debit", "credit", "cents", "what"):
        if what != "deposit":
            now += cents * ((debit == pot) - (credit == pot))
            most = max(most, now)
    return Decimal(most) / 100


def _open(study: Study) -> Iterator[str]:
    """Whatever was decided has an end, unless a person must look."""
    for intent in Intent.objects.filter(study=study, closed_at=None):
        yield f"{intent} is {intent.state} after {intent.attempts} tries: {intent.error}"
    for payment in Payment.objects.filter(study=study, state="asked"):
        yield f"{payment} is on its way, and nothing carries it"
