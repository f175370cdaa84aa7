"""Pages of researchers: bonuses, for one, from a file, or up to a wage; each is looked at before it is paid."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.errors import Refusal
from annotation.models import Study
from annotation.reading import BadFile
from annotation.views.pages import for_team
from hits import spending, wages
from hits.errors import NotNow
from hits.forms import BonusFileForm, BonusForm, TargetForm
from hits.views.access import for_spenders, new_key, show, take_once
from hits.views.buying import count, dollars
from hits.wages import Draft

ONE, MANY, WAGE = "hits/bonus.html", "hits/bonuses.html", "hits/wage.html"
CHANGED = "What is missing to this wage has changed since you looked. Nobody was paid; this is how it stands now."


def _drafted(study: Study, drafts: Sequence[Draft]) -> dict[str, Any]:
    """What a page says of bonuses before they are paid. Those decided before are shown, and cost nothing."""
    fresh = wages.new_ones(drafts)
    cost, left = wages.cost(fresh), spending.standing(study).left
    total = sum((draft.amount for draft in fresh), Decimal(0))
    keys = {draft.key for draft in fresh}
    facts = [("To the workers", dollars(total)), ("Fees of the marketplace", dollars(cost - total))]
    facts.append(("In all", dollars(cost)))
    if left is not None:
        facts.append(("Left of the budget afterwards", dollars(left - cost)))
    return {
        "drafts": [(draft, draft.key in keys) for draft in drafts],
        "facts": facts,
        "cost": f"{cost:.2f}",
        "label": f"Pay {count(len(fresh), 'bonus', 'bonuses')}, {dollars(cost)} in all" if fresh else "",
        "key": new_key(),
    }


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
def bonus(request: HttpRequest, study: Study) -> HttpResponse:
    """One worker: how much and what for; then what it costs; then it is paid."""
    given = {"worker": request.GET.get("w", "")[:100], "kind": request.GET.get("kind", "bonus")}
    form = BonusForm(study, request.POST if request.method == "POST" else None, initial=given)
    if not form.is_valid() or request.POST.get("do") == "change":
        return show(request, study, ONE, {"form": form}, status=422 if form.errors else 200)
    is_confirmed = request.POST.get("do") == "pay" and bool(request.POST.get("key"))
    key = request.POST["key"] if is_confirmed else new_key()
    drafts = [_draft(study, form, key)]
    if is_confirmed:
        try:
            take_once(request, study, lambda by, at: _pay(study, drafts, by, at))
        except Refusal as refusal:
            return show(request, study, ONE, {"form": form, "said": refusal.sentence}, status=refusal.status)
        messages.success(request, f"{dollars(drafts[0].amount)} for {drafts[0].code} is on its way.")
        return redirect("hits:pay", study.slug)
    drafted = _drafted(study, drafts)
    label = f"Pay {drafts[0].code} {dollars(wages.cost(drafts))}"
    return show(request, study, ONE, {"form": form, **drafted, "key": key, "label": label})


def _draft(study: Study, form: BonusForm, key: str) -> Draft:
    """The form's key is the bonus's: sent twice, it is one."""
    enrolment, kind = form.enrolment, form.cleaned_data["kind"]
    name = f"{kind} {study.pk} form {key}"[:160]
    terms = (form.cleaned_data["amount"], form.cleaned_data["reason"])
    return Draft(enrolment.worker, enrolment.running_code, *terms, name, kind)


def _pay(study: Study, drafts: Sequence[Draft], by: str, at: datetime) -> Mapping[str, Any]:
    return {"paid": wages.decide(study, drafts, by=by, at=at)}


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
def bonuses(request: HttpRequest, study: Study) -> HttpResponse:
    """A file: every bad line is named, or everything is shown with its sum; then it is paid."""
    is_confirmed = request.POST.get("do") == "pay"
    is_sent = request.method == "POST" and not is_confirmed
    form = BonusFileForm(request.POST, request.FILES) if is_sent else BonusFileForm()
    context: dict[str, Any] = {"form": form}
    if not is_confirmed and not form.is_valid():
        return show(request, study, MANY, context, status=422 if form.errors else 200)
    content = request.POST.get("csv", "").encode() if is_confirmed else form.cleaned_data["file"].read()
    try:
        drafts = wages.read_bonuses(study, BytesIO(content))
        if is_confirmed:
            done = take_once(request, study, lambda by, at: _pay(study, drafts, by, at))
            messages.success(request, f"{count(done['paid'], 'bonus', 'bonuses')} decided.")
            return redirect("hits:pay", study.slug)
    except BadFile as refusal:
        said = "Nothing was paid. Correct the file and send it again."
        context |= {"said": said, "bad": refusal.sentence.split("\n")}
        return show(request, study, MANY, context, status=refusal.status)
    except Refusal as refusal:
        return show(request, study, MANY, context | {"said": refusal.sentence}, status=refusal.status)
    context |= _drafted(study, drafts) | {"csv": content.decode("utf-8-sig")}
    return show(request, study, MANY, context)


@for_team
@for_spenders
@require_http_methods(["GET", "POST"])
def wage(request: HttpRequest, study: Study) -> HttpResponse:
    """Lift everybody to a wage for an hour of active time: who gets how much is seen first."""
    given = request.POST if request.method == "POST" else request.GET if "target" in request.GET else None
    form = TargetForm(given, initial={"target": spending.standing(study).target_hourly})
    if not form.is_valid():
        return show(request, study, WAGE, {"form": form}, status=422 if form.errors else 200)
    target = form.cleaned_data["target"]
    context: dict[str, Any] = {"form": form}
    try:
        if request.method == "POST":
            done = take_once(request, study, lambda by, at: _lift(request, study, target, by, at))
            messages.success(request, f"{count(done['paid'], 'person', 'people')} topped up.")
            return redirect("hits:pay", study.slug)
        context |= _drafted(study, wages.topups(study, target)) | {"target": target}
    except Refusal as refusal:
        return show(request, study, WAGE, context | {"said": refusal.sentence}, status=refusal.status)
    return show(request, study, WAGE, context)


def _lift(request: HttpRequest, study: Study, target: Decimal, by: str, at: datetime) -> Mapping[str, Any]:
    """What was shown, and nothing else. Raises NotNow if it is not so any more."""
    drafts = wages.topups(study, target)
    if f"{wages.cost(drafts):.2f}" != request.POST.get("cost"):
        raise NotNow(CHANGED)
    return _pay(study, drafts, by, at)
