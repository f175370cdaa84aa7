"""Pages of researchers: their studies, one study at a glance, a new one."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from annotation import charts, intake, overview, protocols
from annotation.charts import Chart, Part
from annotation.errors import Refusal
from annotation.models import Study
from annotation.overview import PLACES
from annotation.views.figures import Figure, figure
from annotation.views.forms import OPTION, LateForm, StudyForm
from annotation.views.pages import (
    actor,
    for_researchers,
    for_team,
    for_user,
    may_change,
    person,
    show,
    stamp,
    unchanged,
)

T = TypeVar("T")

PAGE, PROGRESS = "annotation/console/study.html", "annotation/console/_progress.html"


@for_user
@require_GET
def studies(request: HttpRequest) -> HttpResponse:
    """Every study the person may see, with where its items stand."""
    found = list(Study.objects.visible_to(request.user))
    counts = overview.progress_of(found)
    rows = [
        {
            "study": study,
            "bar": charts.progress(f"bar-{study.slug}", f"Progress of {study.title}", parts(study, counts[study.pk])),
            "total": sum(counts[study.pk].values()),
            "closed": sum(counts[study.pk][place] for place in overview.CLOSED.values()),
        }
        for study in found
    ]
    return render(request, "annotation/console/studies.html", {"rows": rows, "may_change": may_change(request)})


@for_team
@require_GET
def study(request: HttpRequest, study: Study) -> HttpResponse:
    """One study at a glance. To htmx it gives the bar alone."""
    if up_to_date := unchanged(request, study):
        return up_to_date
    stamped = stamp(study)
    context: dict[str, Any] = {"stamp": stamped, **_progress(study)}
    if not request.htmx:  # type: ignore[attr-defined]
        context["figures"] = [
            Figure(draw(study), reverse(f"annotation:{name}", args=[study.slug]), stamped)
            for name, draw in (("days", draw_days), ("times", draw_times))
        ]
    return show(request, study, PAGE, context, region=PROGRESS)


def _progress(study: Study) -> dict[str, Any]:
    counts = overview.progress_of([study])[study.pk]
    items = reverse("validation:items", args=[study.slug])
    linked = parts(study, counts, items)
    return {
        "bar": charts.progress("progress-bar", f"Progress of {study.title}", linked),
        "parts": [(part, overview.swatch(part.key)) for part in linked],
        "total": sum(counts.values()),
        "at_work": overview.at_work(study, at=timezone.now()),
    }


def parts(study: Study, counts: dict[str, int], url: str = "") -> list[Part]:
    """The stretches of the bar; with `url` they lead to their items there."""
    return [
        Part(place, words, counts[place], look, f"{url}?state={place}" if url else "")
        for place, (words, look, _) in PLACES.items()
    ]


@for_team
@require_GET
def days(request: HttpRequest, study: Study) -> HttpResponse:
    return figure(request, study, draw_days)


@for_team
@require_GET
def times(request: HttpRequest, study: Study) -> HttpResponse:
    return figure(request, study, draw_times)


def draw_days(study: Study) -> Chart:
    return charts.days("days", "Answers per day", _titled(study, overview.work_per_day(study)))


def draw_times(study: Study) -> Chart:
    return charts.times("times", "Minutes per item", _titled(study, overview.seconds_per_item(study)))


def _titled(study: Study, by_stage: Mapping[str, T]) -> dict[str, T]:
    return {study.protocol.stage(name).title: value for name, value in by_stage.items()}


@for_user
@for_researchers
@require_http_methods(["GET", "POST"])
def new_study(request: HttpRequest) -> HttpResponse:
    """A form with the settings of the protocol that `?protocol=` names. Whoever makes a study is in its team."""
    wanted = request.POST.get("protocol") or request.GET.get("protocol")
    protocol = next((p for p in protocols.ALL if p.slug == wanted), protocols.ALL[0])
    form = StudyForm(protocol, request.POST if request.method == "POST" else None)
    if form.is_valid() and (made := _create(request, form)):
        return redirect("annotation:study", made.slug)
    context = {"form": form, "protocol": protocol, "option_prefix": OPTION}
    return render(request, "annotation/console/new_study.html", context, status=422 if form.errors else 200)


def _create(request: HttpRequest, form: StudyForm) -> Study | None:
    given = {name: form.cleaned_data[name] for name in ("slug", "protocol", "title")}
    try:
        with transaction.atomic():
            study = intake.create_study(**given, options=form.options, by=actor(request), at=timezone.now())
            study.team.add(person(request))
    except Refusal as refusal:
        form.add_error(None, refusal.sentence)
        return None
    return study


@for_team
@require_http_methods(["GET", "POST"])
def settings(request: HttpRequest, study: Study) -> HttpResponse:
    """What the study collects under, and who is in its team; those settings that may be changed can be."""
    if request.method == "POST" and not may_change(request):
        raise PermissionDenied
    form = LateForm(study, request.POST if request.method == "POST" else None)
    if form.is_valid():
        changed = {name: value for name, value in form.cleaned_data.items() if value != study.options.get(name)}
        if changed:
            intake.change_options(study, changed, by=actor(request), at=timezone.now())
        return redirect("annotation:settings", study.slug)
    known = study.protocol.known_options
    options = [(known[name], value) for name, value in study.options.items() if name in known]
    fixed = [(option, value) for option, value in options if not option.late]
    context = {"options": fixed, "form": form, "protocol": study.protocol, "team": study.team.order_by("username")}
    context["late"] = [(option, value) for option, value in options if option.late]
    status = 422 if form.errors else 200
    return show(request, study, "annotation/console/settings.html", context, status=status)
