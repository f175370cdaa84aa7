"""Exports as jobs in the background."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotation.jobs import Progress, kind
from annotation.models import Annotation, Job
from validation.exports import annotation_rows, full_gold_rows, gold_rows, resolutions, write_lines


@kind("export_gold")
def export_gold(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Options: full, keep_unresolved."""
    keep_unresolved = bool(job.options.get("keep_unresolved"))
    total = resolutions(job.study, keep_unresolved=keep_unresolved).count()
    rows = full_gold_rows if job.options.get("full") else gold_rows
    with out.open("w", encoding="utf-8") as file:
        done = write_lines(
            rows(job.study, keep_unresolved=keep_unresolved), file.write, lambda done: progress(done, total)
        )
    return {"rows": done}


@kind("export_annotations")
def export_annotations(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    total = Annotation.objects.filter(study=job.study).count()
    with out.open("w", encoding="utf-8") as file:
        done = write_lines(annotation_rows(job.study), file.write, lambda done: progress(done, total))
    return {"rows": done}
