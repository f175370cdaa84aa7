"""manage.py reconcile SLUG"""

from typing import Any

from django.core.management.base import CommandParser

from annotation import console
from hits import reconciling, sweeping


class Command(console.Command):
    help = "Compare all HITs of a study with the marketplace, and carry out what follows. Prints counts as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = console.find_study(options["slug"])
        with console.Progress("looking", len(reconciling.live_hits(study)), " HITs") as progress:
            looked = iter(range(1, 10**9))
            found = sweeping.reconcile(study, tell=lambda: progress(next(looked)))
        names = ("hits", "assignments", "confirmed", "approved", "quarantined", "unclaimed", "ended", "unavailable")
        self.print_json({name: found[name] for name in names})
