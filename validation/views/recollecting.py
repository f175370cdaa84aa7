"""Pages of researchers: rule sets side by side, what each would cost, and doing one; the log of everything."""

import json
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from annotation import jobs
from annotation.errors import Refusal
from annotation.events import event, record
from annotation.limits import limits_of
from annotation.models import Event, Study
from annotation.views.downloads import table
from annotation.views.forms import ConsoleForm
from annotation.views.pages import actor, for_team, may_change, person, show
from annotation.views.tables import changed, page_number
from validation import audit, recollection
from validation.rules import RULES, thresholds_of

EVENTS = 50  # on a page


class RulesForm(ConsoleForm):
    """Thresholds of a rule set of one's own; an empty one switches its rule off."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for rule in RULES.values():
            bound = "Less" if rule.below else "More"
            words = f"{bound} than this share of {rule.words}"
            self.fields[rule.name] = forms.FloatField(required=False, min_value=0, max_value=1, label=words)

    @property
    def rules(self) -> dict[str, float]:
        return {name: value for name, value in self.cleaned_data.items() if value}


class ReasonForm(ConsoleForm):
    why = forms.CharField(max_length=300, label="Reason", help_text="Everybody who is found reads it, before the rule.")


@for_team
@require_http_methods(["GET", "POST"])
def recollect(request: HttpRequest, study: Study) -> HttpResponse:
    """Rule sets side by side; one's own with `?revoke_...=`; posting one applies it in the background."""
    own = RulesForm(request.GET if any(name in request.GET for name in RULES) else None)
    plans: dict[str, Any] = dict(recollection.compare(study))
    if own.is_bound and own.is_valid() and own.rules:
        try:
            plans["own"] = recollection.plan(study, own.rules)
        except Refusal as refusal:
            plans["own"] = refusal
    context = {
        "plans": [
            (name, plan, json.dumps(dict(plan.rules)) if hasattr(plan, "rules") else "") for name, plan in plans.items()
        ],
        "own": own,
        "form": ReasonForm(),
        "thresholds": thresholds_of(study.declared or study.options),
    }
    if request.method == "GET":
        return show(request, study, "validation/recollect.html", context)
    if not may_change(request):
        return show(request, study, "validation/refused.html", {"said": "Only researchers may do this."}, status=403)
    return _apply(request, study, context)


def _apply(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    form = ReasonForm(request.POST)
    try:
        given = json.loads(request.POST.get("rules", "{}"))
        rules = recollection.read_rules(given if isinstance(given, dict) else {})
        if form.is_valid() and rules:
            recollection.plan(study, rules)  # refuses what would exclude everybody, while the person is here
            options = {"rules": rules, "why": form.cleaned_data["why"]}
            job = jobs.ask(study, "recollect", by=person(request), at=timezone.now(), options=options)
            return redirect("annotation:job", study.slug, job.pk)
        said = "Choose a rule set that finds somebody, and say why."
    except (Refusal, json.JSONDecodeError) as refusal:
        said = getattr(refusal, "sentence", "These rules cannot be read.")
    return show(request, study, "validation/recollect.html", context | {"form": form, "said": said}, status=422)


@for_team
@require_GET
def limits(request: HttpRequest, study: Study) -> HttpResponse:
    """A region of the study's page: each limit with its violations."""
    context = {"limits": list(limits_of(study))}
    return show(request, study, "validation/limits.html", context, region="validation/_limits.html")


# --- The log -------------------------------------------------------------------------------------


class LogFilter(forms.Form):
    who = forms.CharField(required=False, max_length=160, label="Who")
    what = forms.CharField(required=False, max_length=40, label="What")
    worker = forms.CharField(required=False, max_length=20, label="Worker")
    item = forms.CharField(required=False, max_length=200, label="Item")
    text = forms.CharField(required=False, max_length=200, label="Reason contains")
    since = forms.DateField(required=False, label="Since", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="Until", widget=forms.DateInput(attrs={"type": "date"}))


@for_team
@require_GET
def log(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Who did what, when, why; `?format=csv` or `jsonl` is all that is asked for, and is noted in the log itself."""
    form = LogFilter(request.GET)
    if not form.is_valid():
        return show(request, study, "validation/log.html", {"form": form, "events": []}, status=422)
    found = audit.search(study, {name: value for name, value in form.cleaned_data.items() if value})
    if request.GET.get("format") in ("csv", "jsonl"):
        return _export(request, study, found)
    page = page_number(request.GET)
    shown = list(audit.rows(study, found[(page - 1) * EVENTS : page * EVENTS + 1]))
    context = {
        "form": form,
        "events": shown[:EVENTS],
        "more": changed(request.GET, page=str(page + 1)) if len(shown) > EVENTS else "",
        "exports": [(kind, changed(request.GET, format=kind.lower())) for kind in ("CSV", "JSONL")],
        "whats": Event.objects.filter(study=study).order_by("what").values_list("what", flat=True).distinct(),
    }
    return show(request, study, "validation/log.html", context)


def _export(request: HttpRequest, study: Study, found: Any) -> HttpResponseBase:
    record([event(study, "log exported", by=actor(request), at=timezone.now(), asked=request.GET.dict())])
    rows = audit.rows(study, found)
    if request.GET["format"] == "csv":
        names = ("at", "actor", "what", "why", "item", "worker")
        lines = ([row[name] or "" for name in names] + [json.dumps(row["details"])] for row in rows)
        return table(f"{study.slug}-log.csv", _headed([*names, "details"], lines))
    text = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    response = StreamingHttpResponse(text, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-log.jsonl"'
    return response


def _headed(names: list[str], lines: Any) -> Any:
    yield names
    yield from lines
