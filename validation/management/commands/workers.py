"""The people of a study in numbers: `manage.py workers SLUG`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from validation import people, quality


class Command(console.Command):
    help = (
        "Score the study's workers and print one line of JSON per worker: worker, stages, state, annotations, "
        "gold_accuracy, filler_accuracy, invalid_share, invalid_share_of_judged, median_seconds, share_of_study."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)

    def handle(self, *, slug: str, **_: Any) -> None:
        study = console.find_study(slug)
        quality.refresh(study, at=timezone.now())
        for person in people.people_of(study):
            self.print_json(person.as_dict())
