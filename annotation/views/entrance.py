"""Pages of researchers: a study's way in. Its consent text, its practice and test, and the tests a person reads."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import looks, qualification, way_in
from annotation.errors import IllegalMove, LostRace
from annotation.models import Annotation, Attempt, Enrolment, Item, Qualification, Study
from annotation.views.forms import ConsoleForm
from annotation.views.pages import actor, for_researchers, for_team, show

PAGE = "annotation/console/way_in.html"
LEARNING = (Item.Role.PRACTICE, Item.Role.QUALIFICATION)
LISTED = 200


class ConsentForm(ConsoleForm):
    text = forms.CharField(
        label="What people agree to",
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 12}),
        help_text="Who you are, what the data are for, what is kept, how to take consent back. An empty line parts.",
    )


class DecisionForm(ConsoleForm):
    why = forms.CharField(
        label="Reason", max_length=500, required=False, help_text="The person reads it. Needed when you fail somebody."
    )


class CarryForm(ConsoleForm):
    """Qualify here whoever is qualified in an earlier study of the same team."""

    earlier = forms.ModelChoiceField(Study.objects.none(), label="Study", to_field_name="slug")
    stage = forms.ChoiceField(label="For")

    def __init__(self, study: Study, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = Study.objects.visible_to(request.user).exclude(pk=study.pk)
        self.fields["earlier"].queryset = others  # type: ignore[attr-defined]  # the field is a ModelChoiceField
        self.fields["stage"].choices = [(s.name, s.title) for s in study.protocol.stages]  # type: ignore[attr-defined]


@for_team
@require_GET
def page(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study)


def _page(request: HttpRequest, study: Study, said: str = "", status: int = 200, **given: Any) -> HttpResponse:
    text = study.consent_texts.filter(version=study.consent_version).first()
    on_the_way = Qualification.objects.filter(enrolment__study=study, enrolment__state=Enrolment.State.ACTIVE)
    on_the_way = on_the_way.exclude(state=Qualification.State.QUALIFIED)
    context = {
        "text": text,
        "versions": study.consent_texts.order_by("-version"),
        "form": ConsentForm(initial={"text": text.text if text else ""}),
        "carry": CarryForm(study, request),
        "practice": qualification.practice(study).order_by("pk")[:LISTED],
        "questions": qualification.questions(study).order_by("pk")[:LISTED],
        "without": study.items.filter(role__in=LEARNING, gold__isnull=True).count(),
        "places": qualification.places_taken(study, study.protocol.stages[0].name),
        "waiting": way_in.waiting(study).count(),
        "on_the_way": on_the_way.select_related("enrolment").order_by("-changed_at", "-pk")[:LISTED],
        "count": on_the_way.count(),
        "listed": LISTED,
        "said": said,
    }
    return show(request, study, PAGE, context | given, status=status)


@for_team
@for_researchers
@require_POST
def consent(request: HttpRequest, study: Study) -> HttpResponse:
    form = ConsentForm(request.POST)
    if not form.is_valid():
        return _page(request, study, status=422, form=form)
    way_in.set_consent(study, form.cleaned_data["text"], by=actor(request), at=timezone.now())
    return redirect("annotation:way_in", study.slug)


@for_team
@for_researchers
@require_POST
def carry(request: HttpRequest, study: Study) -> HttpResponse:
    form = CarryForm(study, request, request.POST)
    if not form.is_valid():
        return _page(request, study, status=422, carry=form)
    earlier, stage = form.cleaned_data["earlier"], form.cleaned_data["stage"]
    count = way_in.carry_over(earlier, study, stage, by=actor(request), at=timezone.now())
    people = "1 person is" if count == 1 else f"{count} people are"
    return _page(request, study, f"{people} newly qualified, as they are in {earlier.title}.")


@for_team
@for_researchers
@require_POST
def again(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Let somebody who failed take the test once more."""
    found = get_object_or_404(Qualification.objects.select_related("enrolment__study"), pk=pk, enrolment__study=study)
    try:
        way_in.allow_again(found, by=actor(request), at=timezone.now())
    except (IllegalMove, LostRace):
        return _page(request, study, "Somebody decided otherwise in the meantime; this is how it stands now.", 409)
    return redirect("annotation:way_in", study.slug)


@for_team
@for_researchers
@require_POST
def let_in(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Vouch for somebody on the way: they need no practice and no test any more."""
    found = get_object_or_404(Qualification.objects.select_related("enrolment__worker"), pk=pk, enrolment__study=study)
    qualification.qualify(found.enrolment.worker, study, [found.stage], by=actor(request), at=timezone.now())
    return redirect("annotation:way_in", study.slug)


@for_team
@for_researchers
@require_http_methods(["GET", "POST"])
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """The test that waits longest, beside the known answers; passing or failing brings the next."""
    said, status = "", 200
    form = DecisionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        passed, why = request.POST.get("do") == "pass", form.cleaned_data["why"]
        attempt = get_object_or_404(_attempts(study), pk=_number(request.POST.get("attempt", "")))
        if not passed and not why.strip():
            form.add_error("why", "Say why: the person reads it on their page.")
            status = 422
        else:
            try:
                qualification.decide(attempt, passed=passed, by=actor(request), why=why, at=timezone.now())
                return redirect("annotation:review", study.slug)
            except (IllegalMove, LostRace):
                said, status = "Somebody else decided this test a moment ago. Here is the next one.", 409
    next_one = way_in.waiting(study).first()
    context = {
        "attempt": next_one,
        "rows": _rows(next_one) if next_one else [],
        "waiting": way_in.waiting(study).count(),
        "form": form,
        "said": said,
        "answer_template": looks.item_templates(study.protocol_slug),
    }
    return show(request, study, "annotation/console/review.html", context, status=status)


def _attempts(study: Study) -> QuerySet[Attempt]:
    mine = Attempt.objects.filter(qualification__enrolment__study=study)
    return mine.select_related("qualification__enrolment__study", "qualification__enrolment__worker")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0


def _rows(attempt: Attempt) -> list[dict[str, Any]]:
    """Each question with the person's answer and the known one, the wrong ones first."""
    given = Annotation.objects.filter(assignment__sitting=attempt.sitting).select_related("item").order_by("pk")
    rows = [{"item": a.item, "given": a.answer, "known": a.item.gold, "is_right": a.is_right} for a in given]
    return sorted(rows, key=lambda row: bool(row["is_right"]))
