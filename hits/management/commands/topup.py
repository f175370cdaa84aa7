"""manage.py topup SLUG --target 15.00 [--yes]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits import sweeping, wages
from hits.console import agreed, money, yes_argument


class Command(console.Command):
    help = "Lift everybody to a wage for an hour of active time, by bonuses. Run again, it pays nobody twice."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--target", required=True, help="dollars for an hour of active time")
        yes_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = console.find_study(options["slug"])
        drafts = wages.topups(study, money(options["target"]))
        for draft in drafts:
            self.stderr.write(f"{draft.code}  ${draft.amount:.2f}")
        total = wages.cost(drafts)
        if drafts:
            agreed(f"Pay {len(drafts):,} people ${total:.2f} in all?", options["yes"])
        decided = wages.decide(study, drafts, by=console.BY, at=timezone.now())
        sweeping.carry_out()
        self.print_json({"topped_up": decided, "total": f"{total:.2f}"})
