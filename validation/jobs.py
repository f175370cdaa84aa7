"""Work in the background: exports, and what removing people does to their work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.utils import timezone

from annotation import revocation
from annotation.jobs import Progress, kind
from annotation.models import Job, Revocation
from validation import labelling, recollection
from validation.exports import annotation_rows, count_annotations, full_gold_rows, gold_rows, resolutions, write_lines
from validation.releases import Wanted


@kind("export_gold")
def export_gold(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Options: full, keep_unresolved; split, mode, labels, of a protocol that is published in splits."""
    keep_unresolved = bool(job.options.get("keep_unresolved"))
    labelling.refresh(job.study, at=timezone.now())
    total = resolutions(job.study, keep_unresolved=keep_unresolved).count()
    rows = full_gold_rows if job.options.get("full") else gold_rows
    given = {name: job.options[name] for name in ("split", "mode", "labels") if job.options.get(name)}
    found = rows(job.study, keep_unresolved=keep_unresolved, wanted=Wanted(**given))
    with out.open("w", encoding="utf-8") as file:
        done = write_lines(found, file.write, lambda done: progress(done, max(done, total)))
    return {"rows": done, "rules": job.study.declared_hash}


@kind("export_annotations")
def export_annotations(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    total = count_annotations(job.study)
    with out.open("w", encoding="utf-8") as file:
        done = write_lines(annotation_rows(job.study), file.write, lambda done: progress(done, total))
    return {"rows": done, "rules": job.study.declared_hash}


@kind("report", suffix=".zip")
def report(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Numbers, tables and figures, in one archive."""
    from validation import reports  # pictures as PDF, which the rest of this process does not need

    made = reports.make(job.study, at=timezone.now(), progress=progress)
    made.zip(out)
    return {"tables": len(made.tables), "figures": len(made.figures), "rules": job.study.declared_hash}


@kind("set_aside_work")
def set_aside_work(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Options: revocation, the id of one. Does with finished work what it says; may be done again."""
    revoked = Revocation.objects.select_related("enrolment__study", "enrolment__worker").get(
        pk=job.options["revocation"], enrolment__study=job.study
    )
    effect = revocation.apply_work(revoked, by=_by(job), at=timezone.now(), progress=progress)
    return {"annotations": effect.annotations, "items": effect.items, "seats": effect.seats}


@kind("reinstate_work")
def reinstate_work(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Options: enrolment, the id of one, and why. Lets set-aside work count again where its seat is free."""
    enrolment = job.study.enrolments.select_related("study", "worker").get(pk=job.options["enrolment"])
    effect = revocation.reinstate_work(
        enrolment, by=_by(job), why=job.options["why"], at=timezone.now(), progress=progress
    )
    return {"annotations": effect.annotations, "items": effect.items, "seats": effect.seats}


@kind("recollect")
def recollect(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Options: rules, thresholds by name, and why."""
    rules = recollection.read_rules(job.options["rules"])
    effect = recollection.apply(
        job.study, rules, by=_by(job), why=job.options["why"], at=timezone.now(), progress=progress
    )
    return {"annotations": effect.annotations, "items": effect.items, "seats": effect.seats}


def _by(job: Job) -> str:
    return f"user:{job.asked_by.get_username()}"
