"""Pages of researchers: the people of a study with their numbers, and one of them with everything."""

from collections.abc import Callable, Iterator
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from annotation import exclusion, qualification
from annotation.errors import Refusal
from annotation.events import event, record
from annotation.models import Annotation, Appeal, Attempt, Enrolment, Event, Revocation, Study
from annotation.views.downloads import table
from annotation.views.forms import ConsoleForm
from annotation.views.pages import actor, for_researchers, for_team, show
from annotation.views.tables import ROWS, changed, headings, page_number
from validation import people, strips
from validation.models import Score
from validation.people import Person

PAGE, ROWS_REGION = "validation/people.html", "validation/_people_rows.html"
NONE = -1.0  # where there is no number, sorting puts it first


def _of(name: str) -> Callable[[Person], Any]:
    def key(person: Person) -> Any:
        value = getattr(person.main, name) if person.main else None
        return NONE if value is None else value

    return key


SORTS: dict[str, Callable[[Person], Any]] = {
    "worker": lambda p: p.enrolment.number,
    "state": lambda p: (p.proposal is None, p.enrolment.state),
    "answers": lambda p: p.annotations,
    "invalid": _of("invalid_share"),
    "judged": _of("invalid_share_of_judged"),
    "gold": _of("gold_accuracy"),
    "fillers": _of("filler_accuracy"),
    "seconds": _of("median_seconds"),
    "pasted": _of("pasted"),
    "copies": lambda p: sum(s.copies_own + s.copies_others for s in p.scores.values()),
    "copied": _of("copied"),
    "share": lambda p: p.share,
}
COLUMNS = {
    "worker": "Worker",
    "state": "State",
    "answers": "Answers",
    "invalid": "Invalid",
    "judged": "of judged",
    "gold": "Gold",
    "fillers": "Fillers",
    "seconds": "Seconds",
    "_labels": "Labels",
    "pasted": "Pasted",
    "copies": "Copies",
    "copied": "From the text",
    "share": "Share",
}
STATES = ("active", "revoked", "withdrawn", "proposed")


class Filter(forms.Form):
    q = forms.CharField(required=False, max_length=100, label="Search workers")
    state = forms.ChoiceField(required=False, choices=[("", ""), *((s, s) for s in STATES)])
    sort = forms.ChoiceField(required=False, choices=[("", ""), *((f"{s}{n}", n) for n in SORTS for s in ("", "-"))])


@for_team
@require_GET
def workers(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Everybody with their numbers; `?format=csv` is all that is asked for, by running code alone."""
    form = Filter(request.GET)
    asked = form.cleaned_data if form.is_valid() else {"q": "", "state": "", "sort": ""}
    everybody = people.people_of(study)
    found = [p for p in everybody if _matches(p, asked["q"], asked["state"])]
    sort = asked["sort"] or "worker"
    found.sort(key=SORTS[sort.removeprefix("-")], reverse=sort.startswith("-"))
    if request.GET.get("format") == "csv":
        return table(f"{study.slug}-people.csv", _csv_rows(found))
    page = page_number(request.GET)
    usual = strips.Usual.of(person.main for person in everybody)
    context = {
        "rows": [
            (p, strips.seconds_strip(p.main, usual), strips.label_bars(p.main, usual)) for p in _part(found, page)
        ],
        "more": changed(request.GET, page=str(page + 1)) if len(found) > page * ROWS else "",
        "columns": len(COLUMNS) + 1,
    }
    if request.htmx.target == "more-rows":  # type: ignore[attr-defined]
        return show(request, study, PAGE, context, region=ROWS_REGION)
    states = {s: sum(_matches(p, "", s) for p in everybody) for s in STATES}
    context |= {
        "form": form,
        "asked": asked,
        "total": len(found),
        "chips": [
            (s, n, changed(request.GET, state=None if asked["state"] == s else s)) for s, n in states.items() if n
        ],
        "headings": headings(request.GET, COLUMNS, sort),
        "csv": changed(request.GET, format="csv"),
        "proposals": [p for p in everybody if p.proposal],
        "appeals": Appeal.objects.filter(revocation__enrolment__study=study, outcome=Appeal.Outcome.OPEN).count(),
        "scored_at": people.scored_at(everybody),
    }
    return show(request, study, PAGE, context)


def _part(found: list[Person], page: int) -> list[Person]:
    return found[(page - 1) * ROWS : page * ROWS]


def _matches(person: Person, text: str, state: str) -> bool:
    states = {"", person.enrolment.state, "proposed" if person.proposal else ""}
    names = f"{person.enrolment.running_code} {person.enrolment.worker.code}".lower()
    return state in states and text.strip().lower() in names


def _csv_rows(found: list[Person]) -> Iterator[tuple[Any, ...]]:
    """A row per person and stage."""
    numbers = ("annotations", "decided", "invalid", "judged", "judged_invalid", "gold", "gold_right", "fillers")
    numbers_too = ("fillers_right", "median_seconds", "pasted", "copies_own", "copies_others", "copied")
    yield ("worker", "state", "stage", *numbers, *numbers_too)
    for person in found:
        for stage, score in person.scores.items():
            values = [getattr(score, name) for name in (*numbers, *numbers_too)]
            yield (person.enrolment.running_code, person.enrolment.state, stage, *values)


# --- One person ----------------------------------------------------------------------------------


class NoteForm(ConsoleForm):
    note = forms.CharField(
        required=False, max_length=5_000, widget=forms.Textarea(attrs={"rows": 4}), label="Note of the team"
    )


@for_team
@require_GET
def worker(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    enrolment = get_object_or_404(study.enrolments.select_related("worker", "study"), number=number)
    return _worker(request, study, enrolment)


def _worker(
    request: HttpRequest, study: Study, enrolment: Enrolment, said: str = "", status: int = 200
) -> HttpResponse:
    page = page_number(request.GET)
    answers = Annotation.objects.filter(study=study, worker=enrolment.worker).select_related("item").order_by("-pk")
    shown = list(answers[(page - 1) * ROWS : page * ROWS + 1])
    stages = {s.name: s for s in study.protocol.stages}
    qualified = set(enrolment.qualifications.filter(state="qualified").values_list("stage", flat=True))
    context = {
        "enrolment": enrolment,
        "other_stages": [stage for stage in stages.values() if stage.name not in qualified],
        "scores": [(stages[s.stage], s) for s in Score.objects.filter(enrolment=enrolment).order_by("pk")],
        "qualifications": enrolment.qualifications.order_by("pk"),
        "attempts": Attempt.objects.filter(qualification__enrolment=enrolment).select_related("qualification"),
        "revocations": Revocation.objects.filter(enrolment=enrolment).select_related("appeal"),
        "answers": [(a, stages[a.stage].summary(a.answer)) for a in shown[:ROWS]],
        "more": changed(request.GET, page=str(page + 1)) if len(shown) > ROWS else "",
        "page": page,
        "events": Event.objects.filter(study=study, worker=enrolment.worker)
        .exclude(what="leased")
        .select_related("item")
        .order_by("-pk")[:25],
        "form": NoteForm(initial={"note": enrolment.note}),
        "said": said,
    }
    return show(request, study, "validation/worker.html", context, status=status)


@for_team
@for_researchers
@require_POST
def note(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    enrolment = get_object_or_404(study.enrolments.select_related("worker", "study"), number=number)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _worker(request, study, enrolment, "The note is too long; it was not kept.", 422)
    Enrolment.objects.filter(pk=enrolment.pk).update(note=form.cleaned_data["note"])
    now = timezone.now()
    record([event(study, "note written", by=actor(request), at=now, worker=enrolment.worker_id)])
    return redirect("validation:worker", study.slug, number)


@for_team
@for_researchers
@require_POST
def qualify(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Let somebody work in one more stage, as CREPE chooses its validators among the generators."""
    enrolment = get_object_or_404(study.enrolments.select_related("worker", "study"), number=number)
    try:
        stages = [request.POST.get("stage", "")]
        qualification.qualify(enrolment.worker, study, stages, by=actor(request), at=timezone.now())
    except Refusal as refusal:
        return _worker(request, study, enrolment, refusal.sentence, refusal.status)
    return redirect("validation:worker", study.slug, number)


@for_team
@for_researchers
@require_POST
def answers(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Hold back, exclude or reinstate some of somebody's answers, with a reason."""
    enrolment = get_object_or_404(study.enrolments.select_related("worker", "study"), number=number)
    chosen = [int(pk) for pk in request.POST.getlist("answer") if pk.isascii() and pk.isdecimal() and len(pk) < 18]
    why, act = request.POST.get("why", "").strip()[:500], request.POST.get("do", "")
    theirs = Annotation.objects.filter(pk__in=chosen, worker=enrolment.worker, study=study)
    mine = list(theirs.values_list("pk", flat=True))
    if not mine or not why or act not in ("held", "excluded", "reinstate"):
        return _worker(request, study, enrolment, "Choose answers, say why, and choose what to do with them.", 422)
    by, now = actor(request), timezone.now()
    if act == "reinstate":
        effect = exclusion.reinstate(study, mine, by=by, why=why, at=now)
    else:
        effect = exclusion.set_aside(study, mine, act, by=by, why=why, at=now)
    said = f"{effect.annotations} of {len(mine)} changed; {effect.seats} seats were opened."
    return _worker(request, study, enrolment, said)
