"""manage.py pay SLUG [--yes]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits import payments, sweeping
from hits.console import agreed, yes_argument


class Command(console.Command):
    help = "Approve every reward that waits and whose answers are proven; those of personal links are paid by hand."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        yes_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, now = console.find_study(options["slug"]), timezone.now()
        payments.owe_sittings(study, at=now)
        due = payments.proven(study)
        count, amount, fee = payments.total(due)
        total = amount + fee
        if count:
            self.stderr.write(f"{count:,} rewards, ${total:.2f} in all.")
            agreed(f"Pay ${total:.2f}?", options["yes"])
        approved = payments.approve_all(due, by=console.BY, at=now)
        sweeping.carry_out()
        self.print_json({"approved": approved, "total": f"{total:.2f}"})
