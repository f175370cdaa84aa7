"""What people earn by the hour of active time, and what is missing to a wage that the team wants paid."""

import csv
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_UP, Decimal
from statistics import median
from typing import BinaryIO

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Sum

from annotation.models import Annotation, Enrolment, Study, Worker
from annotation.models.workers import running_code
from annotation.reading import BadFile
from hits import inviting, payments, pricing, spending
from hits.errors import BadTerms, NotNow
from hits.models import Payment

State = Payment.State
EARNED = (State.DUE, State.ASKED, State.PAID, State.ATTENTION)


@dataclass(frozen=True)
class Wage:
    """Of one worker: seconds of active time in finished work, and dollars earned, paid or on their way.

    sittings: rewards earned. paid: of what was earned, what is surely theirs by now.
    """

    worker: Worker
    code: str
    seconds: int
    earned: Decimal
    number: int = 0
    sittings: int = 0
    paid: Decimal = Decimal(0)

    @property
    def hours(self) -> float:
        return self.seconds / 3600

    @property
    def hourly(self) -> Decimal | None:
        return self.earned * 3600 / self.seconds if self.seconds else None


def wages(study: Study) -> list[Wage]:
    """Of everybody who earned something, in the order of their running codes."""
    earned: dict[int, Decimal] = defaultdict(Decimal)
    paid: dict[int, Decimal] = defaultdict(Decimal)
    sittings: Counter[int] = Counter()
    sums = Payment.objects.filter(study=study, state__in=EARNED).order_by().values_list("worker", "kind", "state")
    for worker, kind, state, count, amount in sums.annotate(n=Count("pk"), sum=Sum("amount")):
        earned[worker] += amount
        paid[worker] += amount if state == State.PAID else 0
        sittings[worker] += count if kind == Payment.Kind.REWARD else 0
    counted = Annotation.objects.filter(study=study, worker__in=earned).exclude(uncounted="practice")
    seconds = dict(counted.order_by().values_list("worker").annotate(sum=Sum("active_seconds")))
    enrolled = Enrolment.objects.filter(study=study, worker__in=earned).select_related("worker__market")
    return [
        Wage(
            row.worker,
            running_code(row.number),
            seconds.get(row.worker_id) or 0,
            earned[row.worker_id],
            row.number,
            sittings[row.worker_id],
            paid[row.worker_id],
        )
        for row in enrolled.order_by("number")
    ]


@dataclass(frozen=True)
class Spread:
    """Of hourly wages, in dollars: the middle one, and the one that a tenth of the people earn less than."""

    people: int
    median: Decimal | None
    tenth: Decimal | None


def spread(found: Sequence[Wage]) -> Spread:
    hourly = sorted(wage.hourly for wage in found if wage.hourly is not None)
    if not hourly:
        return Spread(0, None, None)
    return Spread(len(hourly), pricing.cents(median(hourly)), pricing.cents(hourly[len(hourly) // 10]))


@dataclass(frozen=True)
class Draft:
    """A bonus that is not decided yet. The same key again is the same bonus."""

    worker: Worker
    code: str
    amount: Decimal
    reason: str
    key: str
    kind: str = Payment.Kind.BONUS


def topups(study: Study, target: Decimal) -> list[Draft]:
    """What lifts everybody to so many dollars for an hour of active time. Raises BadTerms.

    What was topped up before counts as earned, so asking again asks for nothing.
    """
    if not 0 < target <= 1000:
        raise BadTerms(f"The wage is dollars for an hour, above 0 and at most 1000; it was {target}.")
    topped = Payment.objects.filter(study=study, kind=Payment.Kind.TOPUP).order_by().values_list("worker")
    before = dict(topped.annotate(n=Count("pk")))
    drafts = []
    for wage in wages(study):
        missing = (target * wage.seconds / 3600 - wage.earned).quantize(pricing.CENT, ROUND_UP)
        if missing <= 0:
            continue
        reason = f"Topped up to ${target:.2f} for an hour of active time."
        key = f"topup {study.pk} {wage.worker.pk} {before.get(wage.worker.pk, 0) + 1}"
        drafts.append(Draft(wage.worker, wage.code, missing, reason, key, Payment.Kind.TOPUP))
    return drafts


def read_bonuses(study: Study, file: BinaryIO) -> list[Draft]:
    """`worker,amount,reason`, one bonus a line; worker is an id at the marketplace, a running code or the worker's own.

    The same line in the same or another file is the same bonus, unless it stands there more than once. All or none:
    raises BadFile naming every bad line.
    """
    rows = list(_rows(file))
    known = _workers(study)
    drafts, problems = [], []
    seen: Counter[str] = Counter()
    for line, row in rows:
        worker = known.get(row["worker"].strip())
        try:
            amount = Decimal(row["amount"].strip().lstrip("$"))
            if not amount.is_finite() or amount <= 0 or amount > payments.MOST or amount != pricing.cents(amount):
                raise ValueError
        except (ArithmeticError, ValueError):
            problems.append(f"line {line}: the amount {row['amount']!r} is not dollars and cents above 0")
            continue
        if worker is None:
            problems.append(f"line {line}: there is no worker {row['worker']!r} in this study")
            continue
        if not row["reason"].strip():
            problems.append(f"line {line}: a reason is needed; the worker reads it")
            continue
        reason = row["reason"].strip()
        same = hashlib.sha256(f"{worker.worker_id} {amount:.2f} {reason}".encode()).hexdigest()[:24]
        seen[same] += 1
        key = f"bonus {study.pk} {same} {seen[same]}"
        drafts.append(Draft(worker.worker, running_code(worker.number), amount, reason, key))
    if problems:
        raise BadFile("\n".join(problems))
    return drafts


COLUMNS = ("worker", "amount", "reason")


def _rows(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile("The file is not UTF-8 text. Save it as CSV (UTF-8).") from None
    if "\x00" in text:
        raise BadFile("The file holds NUL characters, which no text has.")
    reader = csv.DictReader(text.splitlines())
    if missing := [name for name in COLUMNS if name not in (reader.fieldnames or [])]:
        raise BadFile(f"The first line must name the columns {', '.join(COLUMNS)}; {', '.join(missing)} is missing.")
    try:
        for row in reader:
            yield reader.line_num, {name: row.get(name) or "" for name in COLUMNS}
    except csv.Error as error:
        raise BadFile(f"line {reader.line_num}: this is not CSV ({error}).") from None


def _workers(study: Study) -> dict[str, Enrolment]:
    """By every name a worker has here; an id at the marketplace first."""
    enrolled = list(study.enrolments.select_related("worker", "worker__market"))
    known = {running_code(row.number): row for row in enrolled} | {row.worker.code: row for row in enrolled}
    return known | {row.worker.market.remote_worker: row for row in enrolled if hasattr(row.worker, "market")}


def new_ones(drafts: Sequence[Draft]) -> list[Draft]:
    """Those that were not decided before."""
    known = set(Payment.objects.filter(key__in=[draft.key for draft in drafts]).values_list("key", flat=True))
    return [draft for draft in drafts if draft.key not in known]


def cost(drafts: Sequence[Draft]) -> Decimal:
    """With the marketplace's fees."""
    fees = (pricing.bonus_fee(d.amount, settings.MTURK_FEES) for d in drafts if hasattr(d.worker, "market"))
    return sum((draft.amount for draft in drafts), Decimal(0)) + sum(fees, Decimal(0))


def decide(study: Study, drafts: Sequence[Draft], *, by: str, at: datetime) -> int:
    """Decide all of them or none; returns how many are new. Raises OverBudget, and NotNow for who cannot be paid.

    Locks the study's budget.
    """
    with transaction.atomic():
        spending.hold(study)
        fresh = new_ones(drafts)
        if fresh:
            spending.check(study, cost(fresh))
        for draft in fresh:
            terms = (draft.kind, draft.amount, draft.reason)
            try:
                if inviting.is_needed(study, draft.worker, draft.kind):
                    inviting.invite(study, draft.worker, *terms[1:], key=draft.key, by=by, at=at)
                else:
                    payments.offer(study, draft.worker, *terms, key=draft.key, by=by, at=at)
            except NotNow as refusal:
                raise NotNow(f"{draft.code}: {refusal.sentence} Nobody was paid.") from None
    return len(fresh)
