"""A new study: `manage.py create_study SLUG --protocol crepe [--title T] [--set NAME=VALUE ...]`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console, protocols
from annotation.intake import create_study


class Command(console.Command):
    help = "Create a study under a protocol. Prints its slug, protocol and options as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--protocol", required=True, help=", ".join(p.slug for p in protocols.ALL))
        parser.add_argument("--title", default="", help="shown to everybody (the slug unless given)")
        parser.add_argument(
            "--set",
            action="extend",
            nargs="+",
            default=[],
            metavar="NAME=VALUE",
            help="settings, e.g. items_per_sitting=5",
        )

    def handle(self, *, slug: str, protocol: str, title: str, set: list[str], **_: Any) -> None:
        options = console.read_settings(set)
        study = create_study(slug, protocol, title=title, options=options, by=console.BY, at=timezone.now())
        self.print_json({"study": study.slug, "protocol": study.protocol_slug, "options": study.options})
