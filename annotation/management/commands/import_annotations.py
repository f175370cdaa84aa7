"""Annotations made elsewhere: `manage.py import_annotations SLUG FILE [--skip-bad]`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from annotation.elsewhere import import_annotations


class Command(console.Command):
    help = (
        'Import annotations made elsewhere from JSONL rows {"item", "worker", "stage", "answer", "submitted_at"?}, '
        "also those of export_annotations. Prints how many were created, unchanged and bad as JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("file", metavar="FILE", help="JSONL, gzip too, or - for standard input")
        parser.add_argument("--skip-bad", action="store_true", help="keep the good rows, and report the bad ones")

    def handle(self, *, slug: str, file: str, skip_bad: bool, **_: Any) -> None:
        study = console.find_study(slug)
        with console.opened(file) as source, console.reading(source) as progress:
            counts = import_annotations(
                study, source, skip_bad=skip_bad, by=console.BY, at=timezone.now(), progress=progress
            )
        self.report(counts)
