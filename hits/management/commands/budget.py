"""manage.py budget SLUG [AMOUNT]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits import spending
from hits.console import money


class Command(console.Command):
    help = "Show what a study may spend, has committed and has left; with an amount, set it first."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("amount", nargs="?", metavar="AMOUNT", help="dollars in all; 'none' takes the limit away")

    def handle(self, *args: Any, **options: Any) -> None:
        study, text = console.find_study(options["slug"]), options["amount"]
        if text is not None:
            spending.set_budget(study, None if text == "none" else money(text), by=console.BY, at=timezone.now())
        committed, left = spending.committed(study), spending.left(study)
        budget = None if left is None else f"{left + committed:.2f}"
        self.print_json(
            {"budget": budget, "committed": f"{committed:.2f}", "left": None if left is None else f"{left:.2f}"}
        )
