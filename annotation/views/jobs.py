"""Pages of researchers: importing and exporting in the background, and what came of it."""

import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import IO

from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from annotation import archives, jobs
from annotation.errors import Refusal
from annotation.models import Job, Study
from annotation.views.forms import ExportForm, ImportForm
from annotation.views.pages import for_researchers, for_team, person, show
from annotation.views.tables import ROWS, page_number

PAGE, JOB = "annotation/console/data.html", "annotation/console/job.html"
NAMES = {
    "import_items": "Import",
    "export_gold": "Gold export",
    "export_annotations": "Annotations export",
    "report": "Report",
    "set_aside_work": "Setting work aside",
    "reinstate_work": "Letting work count again",
    "recollect": "Exclusion by rules",
}
PATIENCE = timedelta(seconds=20)  # a job that nobody took for so long is worth a word


@dataclass(frozen=True)
class Shown:
    """A job in words. `left`: what remains, "" while nothing is known."""

    job: Job
    name: str
    left: str
    is_stuck: bool
    has_file: bool

    @classmethod
    def of(cls, job: Job, at: datetime) -> "Shown":
        stuck = job.state == Job.State.QUEUED and at - job.asked_at > PATIENCE
        made = job.state == Job.State.DONE and (job.kind.startswith("export") or job.kind == "report")
        made = made and bool(job.file)
        return cls(job, NAMES.get(job.kind, job.kind), _left(job), stuck, made)


def _left(job: Job) -> str:
    """At the pace so far, rounded up."""
    if not (job.state == Job.State.RUNNING and job.started_at and job.heard_at and job.done and job.total > job.done):
        return ""
    seconds = (job.heard_at - job.started_at).total_seconds() * (job.total - job.done) / job.done
    return f"about {ceil(seconds / 60)} min left" if seconds > 90 else f"about {ceil(seconds / 10) * 10} s left"


@for_team
@require_GET
def data(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study, ImportForm(), ExportForm(study))


def _page(
    request: HttpRequest, study: Study, import_form: ImportForm, export_form: ExportForm, status: int = 200
) -> HttpResponse:
    page = page_number(request.GET)
    found = study.jobs.select_related("asked_by")[(page - 1) * ROWS : page * ROWS + 1]
    shown = [Shown.of(job, timezone.now()) for job in found]
    more = f"?page={page + 1}" if len(shown) > ROWS else ""
    context = {"import_form": import_form, "export_form": export_form, "jobs": shown[:ROWS], "more": more}
    return show(request, study, PAGE, context, status=status)


@for_team
@for_researchers
@require_POST
def import_items(request: HttpRequest, study: Study) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, study, form, ExportForm(study), status=422)
    options = {name: form.cleaned_data[name] for name in ("role", "skip_bad")}
    return _ask(request, study, "import_items", options, form.cleaned_data["file"])


@for_team
@for_researchers
@require_POST
def export(request: HttpRequest, study: Study) -> HttpResponse:
    form = ExportForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, ImportForm(), form, status=422)
    options = {name: value for name, value in form.cleaned_data.items() if name != "kind"}
    gold = form.cleaned_data["kind"] == "export_gold"
    return _ask(request, study, form.cleaned_data["kind"], options if gold else {})


def _ask(
    request: HttpRequest, study: Study, kind: str, options: dict[str, object], file: UploadedFile | None = None
) -> HttpResponse:
    job = jobs.ask(study, kind, by=person(request), at=timezone.now(), options=options, file=file)
    return redirect("annotation:job", study.slug, job.pk)


@for_team
@require_GET
def job(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """One job: how far it is, or what came of it. Refreshes itself until it is over."""
    found = get_object_or_404(study.jobs.select_related("asked_by"), pk=pk)
    context = {"shown": Shown.of(found, timezone.now())}
    return show(request, study, JOB, context, region="annotation/console/_job.html")


@for_team
@require_GET
def download(request: HttpRequest, study: Study, pk: int) -> FileResponse:
    """The file an export made, straight from the storage."""
    file, name = _made(study, pk)
    return FileResponse(file, as_attachment=True, filename=name)


@sensitive_post_parameters("password")
@for_team
@require_POST
def encrypted(request: HttpRequest, study: Study, pk: int) -> HttpResponseBase:
    """The same file in an archive that opens with the posted password. It is made here and now, in a file that has no
    name, so that the password is nowhere but in this request.
    """
    try:
        password = archives.read_password(request.POST.get("password", ""))
    except Refusal as refusal:
        found = get_object_or_404(study.jobs.select_related("asked_by"), pk=pk)
        context = {"shown": Shown.of(found, timezone.now()), "said": refusal.sentence}
        return show(request, study, JOB, context, status=refusal.status)
    file, name = _made(study, pk)
    made = tempfile.TemporaryFile()  # noqa: SIM115  # the response closes it
    with file, archives.encrypted(made, name, password) as inside:
        shutil.copyfileobj(file, inside, 1 << 20)
    made.seek(0)
    return FileResponse(made, as_attachment=True, filename=f"{name.removesuffix('.jsonl')}.zip")


def _made(study: Study, pk: int) -> tuple[IO[bytes], str]:
    """The file of a job, and its name. Raises Http404."""
    found = get_object_or_404(study.jobs, pk=pk)
    if not Shown.of(found, timezone.now()).has_file:
        raise Http404
    try:
        return found.file.open("rb"), Path(str(found.file.name)).name
    except FileNotFoundError:
        raise Http404("This file is no longer kept. Ask for the export again.") from None
