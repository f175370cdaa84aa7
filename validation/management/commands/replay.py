"""Gold under other options: `manage.py replay SLUG --set adjudication=third_annotator`."""

from typing import Any

from django.core.management.base import CommandParser

from annotation import console
from validation.replay import replay


class Command(console.Command):
    help = (
        "Say as JSON what gold would be under other options, with every item that would change; nothing is changed. "
        "An item that needs more lacks the annotations those options would have asked for."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument(
            "--set", action="extend", nargs="+", required=True, metavar="NAME=VALUE", help="settings to try"
        )

    def handle(self, *, slug: str, set: list[str], **_: Any) -> None:
        study, given = console.find_study(slug), console.read_settings(set)
        with console.Progress("replaying", study.items.work().count(), " items") as progress:
            replayed = replay(study, given, progress)
        self.print_json(replayed)
