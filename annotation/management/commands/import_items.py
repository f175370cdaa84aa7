"""Items from a file: `manage.py import_items SLUG FILE [--role ...] [--skip-bad]`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from annotation.intake import import_items
from annotation.models import Item


class Command(console.Command):
    help = "Import items from JSONL or CSV, gzip too. Prints how many were created, unchanged and bad as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument(
            "file", metavar="FILE", help="JSONL or CSV (also compressed with gzip), or - for standard input"
        )
        parser.add_argument("--role", choices=Item.Role.values, default=Item.Role.WORK, help="what the items are for")
        parser.add_argument("--skip-bad", action="store_true", help="keep the good rows, and report the bad ones")

    def handle(self, *, slug: str, file: str, role: str, skip_bad: bool, **_: Any) -> None:
        study = console.find_study(slug)
        with console.opened(file) as source, console.reading(source) as progress:
            counts = import_items(
                study, source, role=role, skip_bad=skip_bad, by=console.BY, at=timezone.now(), progress=progress
            )
        self.report(counts)
