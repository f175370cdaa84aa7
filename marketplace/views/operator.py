"""Pages of whoever runs the marketplace: requesters and their money, what workers are owed, what looks suspicious."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace import addresses, cents, faults, ledger, payouts, signing
from marketplace.ledger import Kind
from marketplace.models import Account, Requester, Transfer

View = Callable[..., HttpResponse]


def for_operator(view: View) -> View:
    """Admins of the server only; others are asked to log in, or refused."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect(f"{reverse(settings.LOGIN_URL)}?next={request.path}")
        if not request.user.is_superuser:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapped


@for_operator
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Everything at a glance; posting makes a requester."""
    said = ""
    if request.method == "POST":
        name = request.POST.get("name", "").replace("\x00", "").strip()
        if not 1 <= len(name) <= 100 or Requester.objects.filter(name=name).exists():
            said = "A requester needs a name of its own, of at most 100 characters."
        else:
            made = Requester.objects.create(name=name, created_at=faults.now())
            return redirect("marketplace:requester", made.pk)
    balances = Account.objects.filter(requester__isnull=False).values_list("requester", "kind", "balance")
    money = {(requester, kind): cents.to_text(balance) for requester, kind, balance in balances}
    rows = [
        (each, money.get((each.pk, Kind.AVAILABLE), "0.00"), money.get((each.pk, Kind.HELD), "0.00"))
        for each in Requester.objects.order_by("name")
    ]
    owed = payouts.owed()
    context = {
        "said": said,
        "rows": rows,
        "owed": [(worker, cents.to_text(amount)) for worker, amount in owed],
        "last_payout": payouts.last(),
        "total": cents.to_text(sum(amount for _, amount in owed)),
        "is_balanced": ledger.is_balanced(),
        "suspicions": addresses.suspicions(),
    }
    return render(request, "marketplace/operator.html", context, status=422 if said else 200)


@for_operator
@require_http_methods(["GET", "POST"])
def requester(request: HttpRequest, pk: int) -> HttpResponse:
    """One account: its keys, and its money; a deposit, a new key, or switching it off."""
    found, said = get_object_or_404(Requester, pk=pk), ""
    if request.method == "POST":
        said = _change(found, request.POST.get("do", ""), request.POST.get("amount", "").strip())
        if not said:
            return redirect("marketplace:requester", pk)
    accounts = [ledger.account(kind, requester=found) for kind in (Kind.AVAILABLE, Kind.HELD)]
    moved = Transfer.objects.filter(debit__in=accounts) | Transfer.objects.filter(credit__in=accounts)
    moved = moved.select_related("debit", "credit").order_by("-pk")[:100]
    context = {
        "found": found,
        "said": said,
        "secret": signing.secret_of(found),
        "endpoint": f"{settings.SITE_URL}/marketplace/api/",
        "available": cents.to_text(accounts[0].balance),
        "held": cents.to_text(accounts[1].balance),
        "moves": [(move, cents.to_text(move.cents)) for move in moved],
    }
    return render(request, "marketplace/requester.html", context, status=422 if said else 200)


def _change(found: Requester, act: str, amount: str) -> str:
    """Why it was not done, or ""."""
    if act == "deposit":
        if not cents.AMOUNT.fullmatch(amount) or not cents.from_text(amount):
            return "A deposit is written as 100.00."
        with transaction.atomic():
            ledger.deposit(found, cents.from_text(amount), at=faults.now())
    elif act == "new key":
        found.key_serial += 1
        found.save(update_fields=["key_serial"])
    elif act in ("switch off", "switch on"):
        found.is_active = act == "switch on"
        found.save(update_fields=["is_active"])
    return ""


@for_operator
@require_GET
def payout_file(request: HttpRequest) -> HttpResponse:
    """What everybody is owed, as CSV."""
    answer = HttpResponse(payouts.as_csv(payouts.owed()), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="payouts-{faults.now():%Y-%m-%d-%H%M}.csv"'
    return answer


@for_operator
@require_POST
def mark_paid(request: HttpRequest) -> HttpResponse:
    """Book what the page showed as paid, once; if more is owed since, that stays owed."""
    with transaction.atomic():
        owed = payouts.owed(lock=True)
        if request.POST.get("after") != str(payouts.last()):  # sent twice, or booked elsewhere meanwhile
            return redirect("marketplace:operator")
        for worker, amount in owed:
            shown = request.POST.get(f"owed-{worker.pk}", "")
            if cents.AMOUNT.fullmatch(shown) and 0 < cents.from_text(shown) <= amount:
                ledger.pay_out(worker, cents.from_text(shown), "marked by the operator", at=faults.now())
    return redirect("marketplace:operator")
