"""Pages of researchers: the batches of a study, one of them, and what needs a person."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.contrib import messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.charts import Part
from annotation.errors import Refusal
from annotation.models import Study
from annotation.models.workers import running_code
from annotation.svg import swatch
from annotation.views.pages import actor, for_team
from annotation.views.tables import ROWS, changed, page_number
from hits import charts, intents, overview, places, publishing, spending
from hits.client import MTurkError
from hits.forms import BudgetForm
from hits.models import Batch, Intent, Payment, Visit
from hits.overview import Attention, Row
from hits.views.access import for_spenders, no_account, refusing, show, words_of

PAGE, REGION = "hits/batches.html", "hits/_batches.html"
BATCH, BATCH_REGION = "hits/batch.html", "hits/_batch.html"
FILTERS: dict[str, tuple[str, dict[str, str]]] = {  # of the work in a batch: name -> (words, how it is found)
    "waiting": ("to be decided", {"payments__kind": "reward", "payments__state": "due"}),
    "odd": ("quarantined", {"state": Visit.State.QUARANTINED}),
    "attention": ("needs attention", {"payments__state": "attention"}),
    "paid": ("paid", {"payments__kind": "reward", "payments__state": "paid"}),
    "rejected": ("rejected", {"payments__kind": "reward", "payments__state": "rejected"}),
}


@dataclass(frozen=True)
class Shown:
    """A batch with its two bars, and the words for what is in them."""

    row: Row
    stage: str
    hits: tuple[SafeString, list[tuple[Part, SafeString]]]
    sittings: tuple[SafeString, list[tuple[Part, SafeString]]]

    @classmethod
    def of(cls, row: Row) -> "Shown":
        stage, study = row.batch.stage, row.batch.study
        title = study.protocol.stage(stage).title if stage else "a compensation"
        return cls(row, title, _with_swatches(charts.hits_bar(row)), _with_swatches(charts.sittings_bar(row)))


def _with_swatches(drawn: tuple[SafeString, list[Part]]) -> tuple[SafeString, list[tuple[Part, SafeString]]]:
    bar, parts = drawn
    return bar, [(part, swatch(part.look)) for part in parts]


@for_team
@require_GET
def batches(request: HttpRequest, study: Study) -> HttpResponse:
    """Money, batches, and what needs a person. To htmx it gives what changes, once it has."""
    rows, needs = overview.batches(study), overview.attention(study)
    stamp = _stamp(rows, needs)
    if request.GET.get("after") == stamp:
        return HttpResponse(status=204)
    context = {
        "shown": [Shown.of(row) for row in rows],
        "is_moving": any(row.calls for row in rows),
        "stamp": stamp,
        **_words(study, needs),
    }
    if not request.htmx:  # type: ignore[attr-defined]
        context |= {
            "money": spending.standing(study),
            "missing": {study.protocol.stage(name): n for name, n in publishing.missing(study).items() if n},
            "no_account": no_account(),
        }
    return show(request, study, PAGE, context, region=REGION)


def _stamp(rows: list[Row], needs: Attention) -> str:
    """Of what a region shows: while it stays the same, nothing moves under anybody's eyes."""
    shown = (
        [(row.as_dict(), bool(row.calls)) for row in rows],
        [v.pk for v in needs.visits],
        [i.pk for i in needs.intents],
        needs.total,
    )
    return sha256(repr(shown).encode()).hexdigest()[:16]


def _words(study: Study, found: Attention) -> dict[str, Any]:
    """What needs a person, with the running codes of whom it is about."""
    payments = [intent.payment for intent in found.intents if hasattr(intent, "payment")]
    workers = {visit.worker_id for visit in found.visits} | {payment.worker_id for payment in payments}
    codes = codes_of(study, workers)
    return {
        "attention": found,
        "odd": [(visit, codes.get(visit.worker_id, "")) for visit in found.visits],
        "stuck": [(intent, words_of(intent), codes.get(_worker(intent), "")) for intent in found.intents],
    }


def _worker(intent: Intent) -> int | None:
    payment = getattr(intent, "payment", None)
    return payment.worker_id if payment else None


def codes_of(study: Study, workers: set[int | None]) -> dict[int | None, str]:
    """The running codes of these workers (ids)."""
    known = study.enrolments.filter(worker__in=[w for w in workers if w]).values_list("worker", "number")
    return {worker: running_code(number) for worker, number in known}


@for_team
@require_GET
def spend(request: HttpRequest, study: Study) -> HttpResponse:
    """The study's money in a few lines, for its first page."""
    found = overview.attention(study, most=1)
    context = {"money": spending.standing(study), "rows": overview.batches(study), "attention": found}
    return show(request, study, "hits/spend.html", context, region="hits/_spend.html")


@for_team
@require_GET
def balance(request: HttpRequest, study: Study) -> HttpResponse:
    """What the account at the marketplace holds; asked for by itself, for the marketplace may be slow or gone."""
    context: dict[str, Any] = {}
    try:
        context["balance"] = places.client().balance()
    except Refusal as refusal:
        context["said"] = refusal.sentence
    except MTurkError as error:
        context["said"] = f"The marketplace did not say: {error.sentence}"
    return show(request, study, "hits/balance.html", context, region="hits/_balance.html")


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
def budget(request: HttpRequest, study: Study) -> HttpResponse:
    """What may be spent, and the wage to aim at."""
    money = spending.standing(study)
    given = {"amount": money.budget, "target_hourly": money.target_hourly}
    form = BudgetForm(request.POST if request.method == "POST" else None, initial=given)
    if form.is_valid():
        by, now, wanted = actor(request), timezone.now(), form.cleaned_data
        try:
            if wanted["target_hourly"] != money.target_hourly:
                spending.set_target(study, wanted["target_hourly"], by=by, at=now)
            if wanted["amount"] != money.budget:
                spending.set_budget(study, wanted["amount"], by=by, at=now)
        except Refusal as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return redirect("hits:batches", study.slug)
    context = {"form": form, "money": money}
    return show(request, study, "hits/budget.html", context, status=422 if form.errors else 200)


# --- One batch ------------------------------------------------------------------------------------------------


def find(study: Study, number: int) -> Batch:
    return get_object_or_404(Batch.objects.select_related("study"), study=study, number=number)


@for_team
@require_GET
def batch(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """How far it is, and who did what in it. To htmx it gives the progress, or, asked for more rows, those."""
    found = find(study, number)
    if request.htmx and "page" in request.GET:  # type: ignore[attr-defined]
        return show(request, study, BATCH, _work(request, found), region="hits/_work_rows.html")
    row, needs = overview.batches(study, number)[0], overview.attention(study, found)
    stamp = _stamp([row], needs)
    if request.GET.get("after") == stamp:
        return HttpResponse(status=204)
    context = {
        "shown": Shown.of(row),
        "is_moving": bool(row.calls),
        "batch": found,
        "stamp": stamp,
        **_words(study, needs),
    }
    if not request.htmx:  # type: ignore[attr-defined]
        context |= _work(request, found) | {"no_account": no_account()}
    return show(request, study, BATCH, context, region=BATCH_REGION)


def _work(request: HttpRequest, batch: Batch) -> dict[str, Any]:
    """Visits of a batch, newest first, with what each earned."""
    state = request.GET.get("state", "")
    # What the work earns: its HIT's reward, which for one invited person is their compensation.
    kind = Payment.Kind.COMPENSATION if batch.invited_id else Payment.Kind.REWARD
    wanted = FILTERS[state][1] if state in FILTERS else {}
    wanted = wanted | ({"payments__kind": kind} if "payments__kind" in wanted else {})
    page = page_number(request.GET)
    rewards = Payment.objects.filter(kind=kind)
    visits: QuerySet[Visit] = Visit.objects.filter(hit__batch=batch, **wanted).distinct().order_by("-pk")
    found = visits.select_related("hit").prefetch_related(Prefetch("payments", rewards, to_attr="rewards"))
    visible = list(found[(page - 1) * ROWS : page * ROWS + 1])
    codes = codes_of(batch.study, {visit.worker_id for visit in visible})
    return {
        "batch": batch,
        "work": [(visit, codes.get(visit.worker_id, ""), _reward(visit)) for visit in visible[:ROWS]],
        "more": changed(request.GET, page=str(page + 1)) if len(visible) > ROWS else "",
        "chips": [
            (words, changed(request.GET, state=None if key == state else key), key == state)
            for key, (words, _) in FILTERS.items()
        ],
        "is_filtered": bool(wanted),
    }


def _reward(visit: Visit) -> Payment | None:
    return next(iter(visit.rewards), None)  # type: ignore[attr-defined]  # prefetched


@for_team
@require_GET
def hits(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """The HITs of a batch, as they were made."""
    found, page = find(study, number), page_number(request.GET)
    rows = list(found.hits.order_by("number")[(page - 1) * ROWS : page * ROWS + 1])
    more = changed(request.GET, page=str(page + 1)) if len(rows) > ROWS else ""
    context = {"batch": found, "rows": rows[:ROWS], "more": more}
    return show(request, study, "hits/hits.html", context, region="hits/_hit_rows.html")


# --- What needs a person ------------------------------------------------------------------------------------


@for_team
@for_spenders
@require_POST
@refusing
def stuck(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Try a call again that was refused or may have happened, or leave it."""
    intent = get_object_or_404(overview.stuck(study).select_related("study", "batch"), pk=pk)
    by, now = actor(request), timezone.now()
    if request.POST.get("do") == "again":
        if intents.again(intent, by=by, at=now):
            messages.success(request, "It is being tried again.")
    elif request.POST.get("do") == "leave":
        intents.leave(intent, by=by, at=now)
    else:
        return HttpResponse("Choose one of: again, leave.", status=422, content_type="text/plain")
    return _back(study, intent.batch)


@for_team
@for_spenders
@require_POST
def seen(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """A person has looked at a quarantined visit, and leaves it so."""
    visit = get_object_or_404(overview.odd_visits(study).select_related("hit__batch"), pk=pk)
    overview.leave_visit(visit, by=actor(request), at=timezone.now())
    return _back(study, visit.hit.batch)


def _back(study: Study, batch: Batch | None) -> HttpResponse:
    return redirect("hits:batch", study.slug, batch.number) if batch else redirect("hits:batches", study.slug)
