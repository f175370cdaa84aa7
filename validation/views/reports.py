"""The page of a study's report: what the last one says, and making a new one in the background."""

import csv
import html
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET, require_POST

from annotation import jobs
from annotation.models import Job, Study
from annotation.views.jobs import Shown
from annotation.views.pages import for_researchers, for_team, person, show
from validation import reports

PAGE = "validation/report.html"


@dataclass(frozen=True)
class Sheet:
    """A table as it lies in the archive."""

    name: str
    header: list[str]
    rows: list[list[str]]

    @property
    def title(self) -> str:
        return _title(self.name)


@dataclass(frozen=True)
class Drawn:
    """A picture as it lies in the archive, with its title; this server drew it, and nobody else can write it."""

    name: str
    title: str
    svg: SafeString


@dataclass(frozen=True)
class Made:
    """A report that was made."""

    numbers: Mapping[str, Any]
    tables: list[Sheet]
    figures: list[Drawn]

    @classmethod
    def of(cls, job: Job) -> "Made | None":
        """None when its file is no longer kept."""
        if not job.file:
            return None
        try:
            with job.file.open("rb") as file, zipfile.ZipFile(io.BytesIO(file.read())) as archive:
                names = archive.namelist()
                sheets = [_sheet(name, archive) for name in names if name.endswith(".csv")]
                drawn = [_drawn(name, archive) for name in names if name.endswith(".svg")]
                return cls(json.loads(archive.read("numbers.json")), sheets, drawn)
        except FileNotFoundError:
            return None


def _sheet(name: str, archive: zipfile.ZipFile) -> Sheet:
    header, *rows = csv.reader(io.StringIO(archive.read(name).decode()))
    return Sheet(name.rpartition("/")[2].removesuffix(".csv"), header, rows)


def _drawn(name: str, archive: zipfile.ZipFile) -> Drawn:
    svg, short = archive.read(name).decode(), name.rpartition("/")[2].removesuffix(".svg")
    said = re.search(r"<title[^>]*>([^<]*)</title>", svg)
    words = [_title(short)] if short[-1].isdigit() or not said else []
    return Drawn(short, ": ".join([*words, *([html.unescape(said[1])] if said else [])]), mark_safe(svg))


def _title(name: str) -> str:
    """ "table2" -> "Table 2"."""
    return re.sub(r"(\d+)$", r" \1", name).capitalize()


@for_team
@require_GET
def page(request: HttpRequest, study: Study) -> HttpResponse:
    """The last report, and how far the next one is. Without a report nothing is wrong: it says how to make one."""
    asked = study.jobs.filter(kind="report").select_related("asked_by").order_by("-pk")
    newest, done = asked.first(), asked.filter(state=Job.State.DONE).first()
    context = {
        "has_report": reports.has_report(study),
        "made": Made.of(done) if done else None,
        "done": Shown.of(done, timezone.now()) if done else None,
        "shown": Shown.of(newest, timezone.now()) if newest and newest != done else None,
    }
    return show(request, study, PAGE, context)


@for_team
@for_researchers
@require_POST
def make(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a new one, unless one is being made."""
    if reports.has_report(study) and not study.jobs.filter(kind="report", state__in=["queued", "running"]).exists():
        jobs.ask(study, "report", by=person(request), at=timezone.now())
    return redirect("validation:report", study.slug)
