"""manage.py publish SLUG --stage STAGE --sittings N --reward 1.20 [--yes]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits import places, publishing, sweeping
from hits.console import agreed, terms_arguments, terms_of, yes_argument


class Command(console.Command):
    help = "Buy sittings: commit to a batch and publish its HITs. Prints its number and how many HITs it has."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        terms_arguments(parser)
        yes_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, terms = console.find_study(options["slug"]), terms_of(options)
        places.here()
        plan = publishing.plan(study, terms)
        self.stderr.write(
            f"{plan.assignments:,} sittings in {plan.hits:,} HITs: ${plan.reward_total:.2f} and ${plan.fees:.2f} fees, "
            f"${plan.total:.2f} in all."
        )
        agreed(f"Spend up to ${plan.total:.2f}?", options["yes"])
        batch = publishing.publish(study, terms, by=console.BY, at=timezone.now())
        with console.Progress("publishing", plan.hits, " HITs") as progress:
            sweeping.carry_out(tell=lambda: progress(batch.hits.exclude(state="planned").count()))
        self.print_json({"batch": batch.number, "hits": plan.hits})
