"""manage.py bonus SLUG FILE [--yes]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits import sweeping, wages
from hits.console import agreed, yes_argument


class Command(console.Command):
    help = "Pay bonuses from a CSV file with the columns worker, amount, reason. The same line is paid once."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("file", metavar="FILE", help="CSV; - reads standard input")
        yes_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = console.find_study(options["slug"])
        with console.opened(options["file"]) as file:
            drafts = wages.read_bonuses(study, file)
        fresh = wages.new_ones(drafts)
        total = wages.cost(fresh)
        if fresh:
            self.stderr.write(f"{len(fresh):,} bonuses, ${total:.2f} in all with fees.")
            agreed(f"Pay ${total:.2f}?", options["yes"])
        decided = wages.decide(study, fresh, by=console.BY, at=timezone.now())
        sweeping.carry_out()
        self.print_json({"bonuses": decided, "before": len(drafts) - len(fresh), "total": f"{total:.2f}"})
