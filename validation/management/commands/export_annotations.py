"""Every annotation as JSONL: `manage.py export_annotations SLUG [--out FILE]`."""

from typing import Any

from django.core.management.base import CommandParser

from annotation import console
from validation.exports import annotation_rows, write_lines


class Command(console.Command):
    help = "Export every annotation of a study as JSONL, workers as running codes; import_annotations takes it again."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        console.out_argument(parser)

    def handle(self, *, slug: str, out: str, **_: Any) -> None:
        study = console.find_study(slug)
        with self.writing(out) as write, console.Progress("exporting", study.annotations.count()) as progress:
            write_lines(annotation_rows(study), write, progress)
