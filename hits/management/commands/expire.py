"""manage.py expire SLUG [--batch N]"""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console
from hits import publishing, sweeping
from hits.models import Batch


class Command(console.Command):
    help = "End batches: nobody new can take their HITs; work in people's hands is still taken and paid."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--batch", type=int, metavar="N", help="only this one")

    def handle(self, *args: Any, **options: Any) -> None:
        study, number = console.find_study(options["slug"]), options["batch"]
        batches = Batch.objects.filter(study=study).exclude(state=Batch.State.CLOSED).select_related("study")
        if number is not None:
            batches = batches.filter(number=number)
            if not batches:
                raise CommandError(f"This study has no batch {number} that is still open.")
        ended = sum(publishing.end(batch, by=console.BY, at=timezone.now()) for batch in batches)
        sweeping.carry_out()
        self.print_json({"expired": ended})
