"""Pages of workers on their way into a study: consent, instructions, appeal, leaving it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation import looks, qualification, revocation, way_in
from annotation.errors import Refusal
from annotation.models import Enrolment, Qualification, Worker
from annotation.views.work import beyond_scopes, for_worker, onward, show_home, start


def _enrolled(worker: Worker, slug: str) -> Enrolment:
    return get_object_or_404(Enrolment.objects.select_related("study", "worker"), worker=worker, study__slug=slug)


@for_worker
@require_http_methods(["GET", "POST"])
def consent(request: HttpRequest, token: str, worker: Worker, slug: str, stage: str) -> HttpResponse:
    """The study's text in its newest version; agreeing to an older one agrees to nothing."""
    enrolment = _enrolled(worker, slug)
    study, said = enrolment.study, ""
    if not study.consent_version:
        return onward(request, "annotation:home", token)
    if request.method == "POST":
        version = request.POST.get("version", "")
        read = int(version) if version.isdecimal() and len(version) < 6 else 0
        try:
            way_in.agree(worker, study, read, at=timezone.now())
            return start(request, token, slug=slug, stage=stage)
        except Refusal as refusal:
            said = refusal.sentence
            study.refresh_from_db()
    text = study.consent_texts.get(version=study.consent_version)
    context = {"token": token, "study": study, "stage": stage, "text": text, "said": said}
    context["signs"] = study.options.get("signs") == "on"
    return render(request, "annotation/way_in/consent.html", context, status=409 if said else 200)


@for_worker
@require_http_methods(["GET", "POST"])
def instructions(request: HttpRequest, token: str, worker: Worker, slug: str, stage: str) -> HttpResponse:
    enrolment = _enrolled(worker, slug)
    get_object_or_404(Qualification, enrolment=enrolment, stage=stage)
    if request.method == "POST":
        way_in.read_instructions(worker, enrolment.study, stage, at=timezone.now())
        return start(request, token, slug=slug, stage=stage)
    context = {
        "token": token,
        "study": enrolment.study,
        "stage": enrolment.study.protocol.stage(stage),
        "instructions": looks.instructions_templates(enrolment.study.protocol_slug, stage),
        "practice": way_in.practice_left(worker, enrolment.study).count(),
        "questions": qualification.questions(enrolment.study).count(),
    }
    return render(request, "annotation/way_in/instructions.html", context)


@for_worker
@beyond_scopes
@require_POST
def appeal(request: HttpRequest, token: str, worker: Worker, slug: str) -> HttpResponse:
    """A revoked worker's one answer."""
    try:
        revocation.appeal(_enrolled(worker, slug), request.POST.get("text", ""), at=timezone.now())
    except Refusal as refusal:
        return show_home(request, token, worker, refusal.sentence, refusal.status)
    return redirect("annotation:home", token)


@for_worker
@beyond_scopes
@require_http_methods(["GET", "POST"])
def leave(request: HttpRequest, token: str, worker: Worker, slug: str) -> HttpResponse:
    """Withdraw from a study: say first what follows."""
    enrolment = _enrolled(worker, slug)
    if request.method == "POST":
        revocation.withdraw(enrolment, at=timezone.now())
        return redirect("annotation:home", token)
    mine = worker.annotations.filter(study=enrolment.study).exclude(uncounted="withdrawn")
    context = {"token": token, "study": enrolment.study, "answers": mine.count()}
    return render(request, "annotation/way_in/leave.html", context)
