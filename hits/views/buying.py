"""Pages of researchers: buying sittings, and offering them longer, no more for now, again, or no more at all.

Each says in numbers what will happen, and its button is named by the act.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.errors import Refusal
from annotation.models import Study
from annotation.views.forms import ConsoleForm
from annotation.views.pages import for_team
from hits import publishing
from hits.forms import GROUPS, HoursForm, MoreForm, TermsForm
from hits.models import Batch, Hit
from hits.publishing import Plan
from hits.views.access import for_spenders, for_stoppers, new_key, no_account, refusing, show, take_once
from hits.views.batches import find

ACT = "hits/act.html"
Facts = list[tuple[str, str]]


def dollars(amount: Decimal) -> str:
    sign = "−" if amount < 0 else ""
    return f"{sign}${intcomma(f'{abs(amount):.2f}')}"


def count(number: int, one: str, many: str = "") -> str:
    return f"{intcomma(number)} {one if number == 1 else many or f'{one}s'}"


def facts_of(plan: Plan) -> Facts:
    """A plan in the words of the page that asks for agreement."""
    found = [
        ("HITs", intcomma(plan.hits)),
        ("Sittings", intcomma(plan.assignments)),
        ("Rewards", dollars(plan.reward_total)),
        ("Fees of the marketplace", dollars(plan.fees)),
        ("At most in all", dollars(plan.total)),
    ]
    if plan.budget_left is not None:
        found.append(("Left of the budget afterwards", dollars(plan.budget_left)))
    return found


# --- A new batch ------------------------------------------------------------------------------------------------


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
def new_batch(request: HttpRequest, study: Study) -> HttpResponse:
    """Say what is wanted; look at the cost; publish."""
    missing = publishing.missing(study)
    form = TermsForm(study, request.POST if request.method == "POST" else None, initial=_wanted(request, missing))
    needs = [(study.protocol.stage(name), number) for name, number in missing.items()]
    groups = [(title, [form[name] for name in names]) for title, names in GROUPS.items()]
    context: dict[str, Any] = {"form": form, "groups": groups, "needs": needs, "no_account": no_account()}
    if not form.is_valid() or request.POST.get("do") == "change":
        return show(request, study, "hits/new_batch.html", context, status=422 if form.errors else 200)
    try:
        context["plan"] = plan = publishing.plan(study, form.terms)
        if request.POST.get("do") == "publish":
            done = take_once(request, study, lambda by, at: _publish(study, form, by, at))
            return redirect("hits:batch", study.slug, done["batch"])
    except Refusal as refusal:
        context["said"] = refusal.sentence
        return show(request, study, "hits/new_batch.html", context, status=refusal.status)
    stage = study.protocol.stage(form.terms.stage)
    label = f"Publish {count(plan.hits, 'HIT')} for up to {dollars(plan.total)}"
    context |= {"facts": facts_of(plan), "label": label, "key": new_key(), "stage": stage}
    return show(request, study, "hits/confirm_batch.html", context)


def _wanted(request: HttpRequest, missing: Mapping[str, int]) -> dict[str, Any]:
    """The stage that the address names, or the first that lacks something; and how much it lacks."""
    asked = request.GET.get("stage", "")
    first = next((name for name, number in missing.items() if number), next(iter(missing)))
    stage = asked if asked in missing else first
    return {"stage": stage, "sittings": missing[stage] or None}


def _publish(study: Study, form: TermsForm, by: str, at: datetime) -> Mapping[str, Any]:
    return {"batch": publishing.publish(study, form.terms, by=by, at=at).number}


# --- An old one -------------------------------------------------------------------------------------------------


def _do(
    request: HttpRequest, study: Study, batch: Batch, said: str, act: Callable[[str, datetime], object]
) -> HttpResponse:
    """Take the step once, and go back to the batch."""

    def step(by: str, at: datetime) -> Mapping[str, Any]:
        act(by, at)
        return {}

    take_once(request, study, step)
    messages.success(request, said)
    return redirect("hits:batch", study.slug, batch.number)


def _ask(
    request: HttpRequest, study: Study, batch: Batch, *, title: str, label: str, status: int = 200, **context: Any
) -> HttpResponse:
    """The page that says what will happen. label: of the button that does it; "" where numbers come first."""
    everything = {"batch": batch, "title": title, "label": label, "key": new_key(), **context}
    return show(request, study, ACT, everything, status=status)


def _number_of(request: HttpRequest, form: ConsoleForm, name: str) -> int | None:
    """What was filled in, once it is right."""
    is_given = request.method == "POST" and form.is_valid() and request.POST.get("do") != "change"
    return int(form.cleaned_data[name]) if is_given else None


def _unsold(batch: Batch) -> tuple[int, int, Decimal]:
    """HITs, their unsold sittings, and what those cost."""
    hits = batch.hits.filter(state__in=publishing.LIVE, unsold__gt=0)
    sittings = hits.aggregate(sum=Sum("unsold"))["sum"] or 0
    return hits.count(), sittings, batch.cost * sittings


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
@refusing
def top_up(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """More sittings on the same terms."""
    batch = find(study, number)
    needed = publishing.missing(study).get(batch.stage) or None
    form = MoreForm(request.POST if request.method == "POST" else None, initial={"sittings": needed})
    more, title = _number_of(request, form, "sittings"), f"Top up batch {number}"
    if more is None:
        status = 422 if form.errors else 200
        return _ask(request, study, batch, title=title, label="", form=form, status=status)
    plan = publishing.plan_more(batch, more)
    if request.POST.get("do") == "act":
        said = f"{count(more, 'more sitting')} bought."
        return _do(request, study, batch, said, lambda by, at: publishing.top_up(batch, more, by=by, at=at))
    label = f"Publish {count(plan.hits, 'more HIT')} for up to {dollars(plan.total)}"
    return _ask(request, study, batch, title=title, label=label, form=form, facts=facts_of(plan))


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
@refusing
def extend(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Offer what is unsold for longer."""
    batch = find(study, number)
    given = {"hours": batch.lifetime_hours}
    form = HoursForm(request.POST if request.method == "POST" else None, initial=given)
    hours, title = _number_of(request, form, "hours"), f"Extend batch {number}"
    if hours is None:
        status = 422 if form.errors else 200
        return _ask(request, study, batch, title=title, label="", form=form, status=status)
    if request.POST.get("do") == "act":
        said = f"On offer for {count(hours, 'hour')} from now."
        return _do(request, study, batch, said, lambda by, at: publishing.extend(batch, hours, by=by, at=at))
    open_hits, sittings, cost = batch.hits.filter(state=Hit.State.OPEN).count(), *_unsold(batch)[1:]
    facts = [("HITs on offer", intcomma(open_hits)), ("Unsold sittings", intcomma(sittings)), _kept(cost)]
    label = f"Offer {count(open_hits, 'HIT')} for {count(hours, 'hour')} from now"
    return _ask(request, study, batch, title=title, label=label, form=form, facts=facts)


def _kept(cost: Decimal) -> tuple[str, str]:
    return "What they cost at most, committed already", dollars(cost)


@for_team
@for_stoppers
@require_http_methods(["GET", "POST"])
@refusing
def pause(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Nobody new for now."""
    batch = find(study, number)
    if request.method == "POST":
        return _do(request, study, batch, "Paused.", lambda by, at: publishing.pause(batch, by=by, at=at))
    hits, sittings, cost = _unsold(batch)
    return _ask(
        request,
        study,
        batch,
        title=f"Pause batch {number}",
        label=f"Pause {count(hits, 'HIT')}",
        words="Nobody new can take a HIT until the batch is resumed. Work in people's hands goes on, and is paid.",
        facts=[("HITs", intcomma(hits)), ("Unsold sittings", intcomma(sittings)), ("Stays committed", dollars(cost))],
    )


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
@refusing
def resume(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Offer what is unsold again."""
    batch = find(study, number)
    if request.method == "POST":
        return _do(request, study, batch, "Resumed.", lambda by, at: publishing.resume(batch, by=by, at=at))
    hits, sittings, cost = _unsold(batch)
    return _ask(
        request,
        study,
        batch,
        title=f"Resume batch {number}",
        label=f"Offer {count(sittings, 'sitting')} again",
        words=f"What is unsold is offered again for {count(batch.lifetime_hours, 'hour')}.",
        facts=[("HITs", intcomma(hits)), ("Unsold sittings", intcomma(sittings)), _kept(cost)],
    )


@for_team
@for_stoppers
@require_http_methods(["GET", "POST"])
@refusing
def end(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Sell nothing more, for good."""
    batch = find(study, number)
    if request.method == "POST":
        return _do(request, study, batch, "Ended.", lambda by, at: publishing.end(batch, by=by, at=at))
    hits, sittings, cost = _unsold(batch)
    words = (
        "Nobody new can take a HIT, for good. Work in people's hands is still taken and paid; what nobody submits in "
        "time goes back to the budget."
    )
    return _ask(
        request,
        study,
        batch,
        title=f"End batch {number}",
        label=f"End batch {number}, take down {count(hits, 'HIT')}",
        is_danger=True,
        words=words,
        facts=[
            ("HITs", intcomma(hits)),
            ("Unsold sittings", intcomma(sittings)),
            ("Not spent, at most", dollars(cost)),
        ],
    )
