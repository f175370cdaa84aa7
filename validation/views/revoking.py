"""Pages of researchers: ending people's work after a look at what follows, restoring them, proposals and appeals."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import jobs, revocation
from annotation.errors import Refusal
from annotation.models import Appeal, Enrolment, Revocation, Study
from annotation.views.forms import ConsoleForm
from annotation.views.pages import actor, for_researchers, for_team, person, show
from validation import recollection

WORK = (
    ("keep", "keep it: it goes on counting"),
    ("hold", "hold it back for now: it does not count, and nobody is asked again"),
    ("exclude", "exclude it: it does not count, and what is missing is collected again"),
)
MOST = 200  # people at once


class RevokeForm(ConsoleForm):
    work = forms.ChoiceField(choices=WORK, widget=forms.RadioSelect, initial="keep", label="Their finished work")
    why = forms.CharField(max_length=500, label="Reason", help_text="They read it, word for word, and can answer once.")


class RestoreForm(ConsoleForm):
    why = forms.CharField(max_length=500, label="Reason", help_text="It stays in the log.")
    reinstate = forms.BooleanField(
        required=False,
        label="Let their set-aside work count again",
        help_text="Where nobody has taken its place since.",
    )


class AnswerForm(ConsoleForm):
    answer = forms.CharField(max_length=500, label="Your answer", help_text="The worker reads it.")


def _chosen(request: HttpRequest, study: Study) -> list[Enrolment]:
    given = request.POST.getlist("w") or request.GET.getlist("w")
    numbers = [int(n) for n in given if n.isascii() and n.isdecimal() and len(n) < 10][:MOST]
    found = study.enrolments.filter(number__in=numbers).select_related("worker", "study")
    return list(found.order_by("number"))


@for_team
@for_researchers
@require_http_methods(["GET", "POST"])
def revoke(request: HttpRequest, study: Study) -> HttpResponse:
    """Choose what becomes of the work and say why; look at the numbers; do it. Each is a page without a script too."""
    chosen = [e for e in _chosen(request, study) if e.state == Enrolment.State.ACTIVE]
    if not chosen:
        return redirect("validation:people", study.slug)
    proposals = {r.enrolment_id: r for r in Revocation.objects.filter(enrolment__in=chosen, state="proposed")}
    given = {"why": " ".join(r.why for r in proposals.values()) if len(chosen) == 1 else ""}
    form = RevokeForm(request.POST if request.method == "POST" else None, initial=given)
    context: dict[str, Any] = {"chosen": chosen, "form": form, "proposals": list(proposals.values())}
    if not form.is_valid():
        return show(request, study, "validation/revoke.html", context, status=422 if form.errors else 200)
    try:
        context["preview"] = recollection.preview(study, chosen, form.cleaned_data["work"])
    except Refusal as refusal:
        return show(request, study, "validation/revoke.html", context | {"said": refusal.sentence}, status=422)
    if request.POST.get("do") != "revoke":
        return show(request, study, "validation/revoke.html", context)
    return _revoke(request, study, chosen, form)


def _revoke(request: HttpRequest, study: Study, chosen: Sequence[Enrolment], form: RevokeForm) -> HttpResponse:
    """Each person is a step of their own: who was revoked by somebody else meanwhile is named and left alone."""
    by, now, given, refused = actor(request), timezone.now(), form.cleaned_data, []
    job = None
    for enrolment in chosen:
        try:
            revoked = revocation.revoke(enrolment, why=given["why"], work=given["work"], by=by, at=now)
        except Refusal as refusal:
            refused.append(refusal.sentence)
            continue
        if given["work"] != "keep":
            job = jobs.ask(study, "set_aside_work", by=person(request), at=now, options={"revocation": revoked.pk})
    if refused:
        context = {"chosen": [], "form": form, "said": " ".join(refused)}
        return show(request, study, "validation/revoke.html", context, status=409)
    if job:
        return redirect("annotation:job", study.slug, job.pk)
    return redirect("validation:people", study.slug)


@for_team
@for_researchers
@require_http_methods(["GET", "POST"])
def restore(request: HttpRequest, study: Study) -> HttpResponse:
    chosen = [e for e in _chosen(request, study) if e.state == Enrolment.State.REVOKED]
    if not chosen:
        return redirect("validation:people", study.slug)
    form = RestoreForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        status = 422 if form.errors else 200
        return show(request, study, "validation/restore.html", {"chosen": chosen, "form": form}, status=status)
    refused = []
    for enrolment in chosen:
        try:
            _restore(request, study, enrolment, form.cleaned_data)
        except Refusal as refusal:
            refused.append(refusal.sentence)
    if refused:
        context = {"chosen": [], "form": form, "said": " ".join(refused)}
        return show(request, study, "validation/restore.html", context, status=409)
    return redirect("validation:people", study.slug)


def _restore(request: HttpRequest, study: Study, enrolment: Enrolment, given: dict[str, Any]) -> None:
    now = timezone.now()
    revocation.restore(enrolment, by=actor(request), why=given["why"], at=now)
    if given["reinstate"]:
        options = {"enrolment": enrolment.pk, "why": given["why"]}
        jobs.ask(study, "reinstate_work", by=person(request), at=now, options=options)


@for_team
@for_researchers
@require_POST
def dismiss(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """A proposal was looked at, and the person goes on."""
    proposal = get_object_or_404(Revocation.objects.select_related("enrolment__study"), pk=pk, enrolment__study=study)
    try:
        revocation.dismiss(proposal, by=actor(request), why=request.POST.get("why", ""), at=timezone.now())
    except Refusal as refusal:
        return show(request, study, "validation/refused.html", {"said": refusal.sentence}, status=refusal.status)
    return redirect("validation:people", study.slug)


@for_team
@require_GET
def appeals(request: HttpRequest, study: Study) -> HttpResponse:
    return _appeals(request, study)


def _appeals(request: HttpRequest, study: Study, said: str = "", status: int = 200) -> HttpResponse:
    mine = Appeal.objects.filter(revocation__enrolment__study=study).select_related("revocation__enrolment")
    context = {
        "waiting": mine.filter(outcome=Appeal.Outcome.OPEN).order_by("pk"),
        "decided": mine.exclude(outcome=Appeal.Outcome.OPEN)[:50],
        "form": AnswerForm(),
        "said": said,
    }
    return show(request, study, "validation/appeals.html", context, status=status)


@for_team
@for_researchers
@require_POST
def decide(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Grant or refuse an appeal, with an answer."""
    found = Appeal.objects.select_related("revocation__enrolment__study", "revocation__enrolment__worker")
    appeal, form = get_object_or_404(found, pk=pk, revocation__enrolment__study=study), AnswerForm(request.POST)
    if not form.is_valid() or request.POST.get("do") not in ("grant", "refuse"):
        return _appeals(request, study, "Write an answer first: the worker reads it.", 422)
    granted = request.POST["do"] == "grant"
    try:
        answer = form.cleaned_data["answer"]
        revocation.decide_appeal(appeal, granted=granted, answer=answer, by=actor(request), at=timezone.now())
    except Refusal as refusal:
        return _appeals(request, study, refusal.sentence, refusal.status)
    return redirect("validation:appeals", study.slug)
