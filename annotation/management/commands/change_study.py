"""Settings that say how finished work is read: `manage.py change_study SLUG --set NAME=VALUE ...`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from annotation.intake import change_options


class Command(console.Command):
    help = "Change settings that only say how finished work is read, such as threshold_method. Prints all as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--set", action="extend", nargs="+", required=True, metavar="NAME=VALUE", help="settings")

    def handle(self, *, slug: str, set: list[str], **_: Any) -> None:
        study = console.find_study(slug)
        changed = change_options(study, console.read_settings(set), by=console.BY, at=timezone.now())
        self.print_json({"study": changed.slug, "options": changed.options})
