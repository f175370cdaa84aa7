"""The event log of a study: `manage.py events SLUG [--worker W] [--item I]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation import console
from annotation.models import Event
from validation import audit, people


class Command(console.Command):
    help = "Print the study's events as lines of JSON, oldest first: at, actor, what, why, item, worker, details."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--worker", help="only about this worker: running code (W001) or your own name for them")
        parser.add_argument("--item", help="only about this item, by its id")

    def handle(self, *, slug: str, worker: str | None, item: str | None, **_: Any) -> None:
        study = console.find_study(slug)
        events = Event.objects.filter(study=study).order_by("pk")
        if worker is not None:
            events = events.filter(worker=people.find(study, worker).worker)
        if item is not None:
            if not study.items.filter(ref=item).exists():
                raise CommandError(f"There is no item {item!r} in this study.")
            events = events.filter(item__ref=item)
        for row in audit.rows(study, events):
            self.print_json(row)
