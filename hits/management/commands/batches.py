"""manage.py batches SLUG"""

from typing import Any

from django.core.management.base import CommandParser

from annotation import console
from hits import overview


class Command(console.Command):
    help = "List the batches of a study as JSON lines: how far each is, and what it has cost."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        for row in overview.batches(console.find_study(options["slug"])):
            self.print_json(row.as_dict())
