"""Pages of researchers: the people of a study, and the links by which they come in."""

from collections.abc import Callable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import enrolment, links, overview
from annotation.models import Enrolment, Sitting, Study
from annotation.models.sittings import State
from annotation.overview import Person
from annotation.views.downloads import table
from annotation.views.forms import ReasonForm, WorkersForm
from annotation.views.pages import actor, for_researchers, for_team, may_change, show
from annotation.views.tables import ROWS, changed, headings, page_number

PAGE, ROWS_REGION = "annotation/console/workers.html", "annotation/console/_worker_rows.html"
SORTS: dict[str, Callable[[Person], object]] = {
    "worker": lambda p: p.enrolment.number,
    "code": lambda p: p.enrolment.worker.code,
    "answers": lambda p: p.answers,
    "seen": lambda p: p.seen_at.timestamp() if p.seen_at else 0,
}


@for_team
@require_GET
def workers(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Everybody in the study; `?format=csv` is all of them as a file, by running code alone."""
    if request.GET.get("format") == "csv":
        return table(f"{study.slug}-workers.csv", _csv_rows(study, _people(request, study)))
    return _page(request, study, WorkersForm(study))


def _csv_rows(study: Study, people: list[Person]) -> Iterator[tuple[Any, ...]]:
    """A row per person and stage; seconds are active ones."""
    yield ("worker", "stage", "state", "answers", "median seconds", "low (95%)", "high (95%)", "last seen")
    for person in people:
        seen = person.seen_at.isoformat() if person.seen_at else ""
        for stage, done in person.stages.items():
            found = done.spread
            median = (found.median, found.low, found.high) if found else ("", "", "")
            yield (person.enrolment.running_code, stage, done.state, done.answers, *median, seen)


def _sort(request: HttpRequest) -> str:
    sort = request.GET.get("sort", "")
    return sort if sort.removeprefix("-") in SORTS else "worker"


def _people(request: HttpRequest, study: Study) -> list[Person]:
    """In the order that the address says."""
    sort = _sort(request)
    key: Callable[[Person], Any] = SORTS[sort.removeprefix("-")]
    return sorted(overview.people_of(study), key=key, reverse=sort.startswith("-"))


def _page(request: HttpRequest, study: Study, form: WorkersForm, status: int = 200) -> HttpResponse:
    people, page = _people(request, study), page_number(request.GET)
    stages = {f"_{s.name}": s.title for s in study.protocol.stages}
    columns = {"worker": "Worker", "code": "Your name", **stages, "answers": "Answers", "seen": "Last seen"}
    columns |= {"_links": "Links"} if may_change(request) else {}
    context = {
        "people": people[(page - 1) * ROWS : page * ROWS],
        "total": len(people),
        "more": changed(request.GET, page=str(page + 1)) if len(people) > page * ROWS else "",
        "headings": headings(request.GET, columns, _sort(request)),
        "csv": changed(request.GET, format="csv"),
        "form": form,
        "enrolment_link": links.enrolment_link(study) if study.enrolment_open and may_change(request) else "",
    }
    return show(request, study, PAGE, context, region=ROWS_REGION, status=status)


@for_team
@for_researchers
@require_POST
def add(request: HttpRequest, study: Study) -> HttpResponse:
    """Vouch for people; their links are shown on the page that answers."""
    form = WorkersForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    now = timezone.now()
    added = enrolment.add_workers(study, **form.cleaned_data, by=actor(request), at=now)
    made = study.enrolments.filter(worker__in=added).select_related("worker")
    return _links(request, study, [(e, links.personal_link(e.worker, at=now)) for e in made])


@for_team
@for_researchers
@require_POST
def link(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """One more personal link for somebody; earlier ones go on working."""
    enrolled = get_object_or_404(study.enrolments.select_related("worker"), number=number)
    return _links(request, study, [(enrolled, links.personal_link(enrolled.worker, at=timezone.now()))])


def _links(request: HttpRequest, study: Study, made: list[tuple[Enrolment, str]]) -> HttpResponse:
    return show(request, study, "annotation/console/links.html", {"made": made})


@for_team
@for_researchers
@require_http_methods(["GET", "POST"])
def revoke(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Say first what stops; then do it, with the reason."""
    enrolled = get_object_or_404(study.enrolments.select_related("worker"), number=number)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        enrolment.revoke_links(enrolled, by=actor(request), at=timezone.now(), why=form.cleaned_data["why"])
        return redirect("annotation:workers", study.slug)
    context = {
        "enrolment": enrolled,
        "form": form,
        "open_sittings": Sitting.objects.filter(worker=enrolled.worker, state=State.LEASED).count(),
        "other_studies": enrolled.worker.enrolments.exclude(study=study).count(),
    }
    status = 422 if form.errors else 200
    return show(request, study, "annotation/console/revoke.html", context, status=status)


@for_team
@for_researchers
@require_POST
def enrolment_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Open or close the enrolment link, or make a new one."""
    by, now = actor(request), timezone.now()
    match request.POST.get("do"):
        case "open" | "close" as what:
            enrolment.set_enrolment(study, what == "open", by=by, at=now)
        case "renew":
            enrolment.renew_enrolment_link(study, by=by, at=now)
        case _:
            return HttpResponse("Choose one of: open, close, renew.", status=422, content_type="text/plain")
    return redirect("annotation:workers", study.slug)
