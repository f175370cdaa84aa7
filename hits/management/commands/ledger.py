"""manage.py ledger SLUG"""

from typing import Any

from django.core.management.base import CommandParser

from annotation import console
from hits import payments


class Command(console.Command):
    help = "Every sum earned in a study, as JSON lines: kind, worker, amount, state, remote_id, intent."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        for row in payments.ledger(console.find_study(options["slug"])):
            self.print_json(row)
