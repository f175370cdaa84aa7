"""Pages of researchers: who earned what and how well, and deciding what is paid."""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotation.charts import Chart
from annotation.models import Study
from annotation.views.downloads import table
from annotation.views.figures import Figure, figure
from annotation.views.pages import for_team, stamp
from annotation.views.tables import ROWS, changed, headings, page_number
from hits import charts, payments, spending, wages
from hits.errors import NotNow
from hits.forms import DecisionForm
from hits.models import Batch, Payment, Visit
from hits.views.access import for_spenders, new_key, refusing, show, take_once
from hits.views.batches import codes_of
from hits.views.buying import count, dollars
from hits.wages import Wage

PAGE, ROWS_REGION = "hits/pay.html", "hits/_wage_rows.html"
MOST = 500  # decided at once by name
SORTS: dict[str, Callable[[Wage], Any]] = {
    "worker": lambda w: w.number,
    "sittings": lambda w: w.sittings,
    "earned": lambda w: w.earned,
    "paid": lambda w: w.paid,
    "active": lambda w: w.seconds,
    "hourly": lambda w: w.hourly or Decimal(-1),
}
COLUMNS = {
    "worker": "Worker",
    "sittings": "Sittings",
    "earned": "Earned",
    "paid": "Paid",
    "active": "Active hours",
    "hourly": "An hour",
}


# --- Who earned what ----------------------------------------------------------------------------------------------


@for_team
@require_GET
def pay(request: HttpRequest, study: Study) -> HttpResponse:
    """Everybody who earned something, and what they make of an hour; to htmx, more rows of it."""
    found = wages.wages(study)
    sort, page = _sort(request), page_number(request.GET)
    rows = sorted(found, key=SORTS[sort.removeprefix("-")], reverse=sort.startswith("-"))
    context: dict[str, Any] = {
        "rows": rows[(page - 1) * ROWS : page * ROWS],
        "total": len(rows),
        "more": changed(request.GET, page=str(page + 1)) if len(rows) > page * ROWS else "",
        "headings": headings(request.GET, COLUMNS | {"_acts": "Bonus"}, sort),
    }
    if not request.htmx:  # type: ignore[attr-defined]
        money = spending.standing(study)
        chart = _hourly(found, money.target_hourly)
        waiting = payments.total(payments.proven(study))
        context |= {
            "money": money,
            "waiting": (waiting[0], waiting[1] + waiting[2]),
            "figure": Figure(chart, reverse("hits:hourly", args=[study.slug]), stamp(study)),
        }
    return show(request, study, PAGE, context, region=ROWS_REGION)


def _sort(request: HttpRequest) -> str:
    sort = request.GET.get("sort", "")
    return sort if sort.removeprefix("-") in SORTS else "worker"


@for_team
@require_GET
def hourly(request: HttpRequest, study: Study) -> HttpResponse:
    """The picture of what an hour earns; `?format=csv` or `svg` is the file."""
    return figure(request, study, draw_hourly)


def draw_hourly(study: Study) -> Chart:
    return _hourly(wages.wages(study), spending.standing(study).target_hourly)


def _hourly(found: list[Wage], target: Decimal | None) -> Chart:
    return charts.hourly("hourly", "What an hour earns", found, wages.spread(found), target)


@for_team
@for_spenders
@require_GET
def receipts(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Every sum as a file of any length. It names ids of the marketplace, so it is for those who account for money."""
    return table(f"{study.slug}-receipts.csv", payments.receipts(study))


# --- Deciding ------------------------------------------------------------------------------------------------------


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
@refusing
def decide(request: HttpRequest, study: Study) -> HttpResponse:
    """Some rewards: pay, reject, or pay and leave their answers out of the data."""
    form = DecisionForm(request.POST if request.method == "POST" else None)
    do = request.POST.get("do", "")
    if form.is_valid() and do in DECISIONS:
        why = form.cleaned_data["why"]
        if why or do in ("approve", "override"):
            return _decided(request, study, take_once(request, study, partial(_decide, request, study, do, why)))
        form.add_error("why", "Say why first.")
    chosen = _chosen(request, study)
    codes = codes_of(study, {payment.worker_id for payment in chosen})
    context = {
        "chosen": [(payment, codes.get(payment.worker_id, "")) for payment in chosen],
        "form": form,
        "key": new_key(),
        "how_many": count(len(chosen), "sitting"),
        "cost": dollars(sum((p.amount + p.fee for p in chosen), Decimal(0))),
        "is_rejected": chosen[0].state == Payment.State.REJECTED,
        "is_remote": all(payment.visit_id for payment in chosen),
    }
    return show(request, study, "hits/decide.html", context, status=422 if form.errors else 200)


Act = Callable[[Payment, str, str, datetime], bool]
DECISIONS: dict[str, tuple[Act, str]] = {
    "approve": (lambda payment, why, by, at: payments.approve(payment, by=by, at=at), "approved"),
    "reject": (lambda payment, why, by, at: payments.reject(payment, why, by=by, at=at), "rejected"),
    "leave_out": (
        lambda payment, why, by, at: payments.reject_softly(payment, why, by=by, at=at),
        "approved, and their answers left out",
    ),
    "override": (lambda payment, why, by, at: payments.override(payment, by=by, at=at), "approved after all"),
}


def _chosen(request: HttpRequest, study: Study) -> list[Payment]:
    """Rewards that wait, or, if there is none among them, rejected ones. Raises NotNow."""
    given = request.POST.getlist("p") or request.GET.getlist("p")
    ids = [int(pk) for pk in given if pk.isascii() and pk.isdecimal() and len(pk) < 19][:MOST]
    rewards = Payment.objects.filter(study=study, kind=Payment.Kind.REWARD, pk__in=ids)
    found = rewards.select_related("visit__hit__batch", "batch", "worker", "study", "sitting").order_by("pk")
    due = list(found.filter(state=Payment.State.DUE))
    if chosen := due or list(found.filter(state=Payment.State.REJECTED)):
        return chosen
    raise NotNow("None of those waits for a decision any more. Nothing was done.")


def _decide(request: HttpRequest, study: Study, do: str, why: str, by: str, at: datetime) -> Mapping[str, Any]:
    """How many were decided now, and before. With all of them, what was quarantined has been looked at."""
    chosen = _chosen(request, study)
    visits = [payment.visit_id for payment in chosen if payment.visit_id]
    Visit.objects.filter(pk__in=visits, state=Visit.State.QUARANTINED, seen_at=None).update(seen_at=at)
    act, words = DECISIONS[do]
    done = sum(act(payment, why, by, at) for payment in chosen)
    batches = {payment.batch.number if payment.batch else None for payment in chosen}
    batch = batches.pop() if len(batches) == 1 else None
    return {"words": words, "done": done, "before": len(chosen) - done, "batch": batch}


def _decided(request: HttpRequest, study: Study, done: Mapping[str, Any]) -> HttpResponse:
    before = f" {done['before']} decided before." if done["before"] else ""
    messages.success(request, f"{done['done']} {done['words']}.{before}")
    return redirect("hits:batch", study.slug, done["batch"]) if done["batch"] else redirect("hits:pay", study.slug)


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
@refusing
def pay_all(request: HttpRequest, study: Study) -> HttpResponse:
    """Approve everything that waits and is proven, in the study or in the batch that the address names."""
    batch = _batch(request, study)
    found = payments.proven(study)
    waiting = found.filter(batch=batch) if batch else found
    last = waiting.order_by("-pk").values_list("pk", flat=True).first()
    if request.method == "POST":
        done = take_once(request, study, lambda by, at: {"done": _approve(request, waiting, by, at)})["done"]
        messages.success(request, f"{count(done, 'reward')} approved.")
        return redirect("hits:batch", study.slug, batch.number) if batch else redirect("hits:pay", study.slug)
    number, amount, fee = payments.total(waiting)
    by_hand = waiting.filter(visit=None).count()
    facts = [
        ("Rewards", f"{number:,}"),
        ("To the workers", dollars(amount)),
        ("Fees of the marketplace", dollars(fee)),
        ("In all, committed already", dollars(amount + fee)),
    ]
    if by_hand:
        facts.append(("Of these by hand, to people with personal links", f"{by_hand:,}"))
    context: Mapping[str, Any] = {
        "batch": batch,
        "title": "Approve all that wait",
        "label": f"Approve {count(number, 'reward')} for {dollars(amount + fee)}" if number else "",
        "words": "Work whose answers are known to be the worker's. What is quarantined is decided by itself.",
        "facts": facts,
        "key": new_key(),
        "kept": [("last", last), ("batch", batch.number if batch else "")],
        "nothing": "" if number else "Nothing waits for a decision.",
    }
    return show(request, study, "hits/act.html", context)


def _batch(request: HttpRequest, study: Study) -> Batch | None:
    given = request.POST.get("batch") or request.GET.get("batch") or ""
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        return None
    return Batch.objects.filter(study=study, number=int(given)).first()


def _approve(request: HttpRequest, waiting: QuerySet[Payment], by: str, at: datetime) -> int:
    """Those that were shown: what came to wait since is another decision."""
    last = request.POST.get("last", "")
    if not (last.isascii() and last.isdecimal() and len(last) < 19):
        raise NotNow("Look at what waits first, then approve it.")
    return payments.approve_all(waiting.filter(pk__lte=int(last)), by=by, at=at)
