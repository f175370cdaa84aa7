"""Decide a contested item: `manage.py adjudicate SLUG [ITEM --value VALUE --why TEXT]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console
from validation import adjudication


class Command(console.Command):
    help = (
        "Decide what people did not agree on; the decision stays with the item, and in the log with its reason. "
        "Without an item: list those that wait, one in a line of JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("item", metavar="ITEM", nargs="?", help="the item's own id, as it was imported")
        parser.add_argument("--value", help="what is decided, such as true; an empty text takes a decision back")
        parser.add_argument("--why", help="a sentence; it stays in the log")

    def handle(self, *, slug: str, item: str | None, value: str | None, why: str | None, **_: Any) -> None:
        study = console.find_study(slug)
        if item is None:
            adjudication.rule_of(study)
            for ref, label, gold in adjudication.contested(study).values_list(
                "ref", "resolution__label", "resolution__gold"
            ):
                self.print_json({"item": ref, "label": label, "gold": gold})
            return
        if value is None or why is None:
            raise CommandError("Say what is decided and why: --value VALUE --why TEXT.")
        decided = adjudication.adjudicate(study, item, value, why=why, by=console.BY, at=timezone.now())
        self.print_json(decided.as_dict())
