"""Exclude whom rules find, and collect what is then missing: `manage.py recollect SLUG --rule NAME=VALUE ...`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console
from validation import quality, recollection
from validation.rules import RULES


class Command(console.Command):
    help = (
        "Revoke and exclude everybody whom the rules find; only missing seats are opened, and nobody meets an item "
        "twice. "
        f"Rules: {', '.join(RULES)}. Prints workers, annotations, items_below, seats, cost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument(
            "--rule", action="append", default=[], metavar="NAME=VALUE", help="may be given several times"
        )
        parser.add_argument(
            "--reason", default="Excluded by the study's rules.", help="a sentence; the workers read it"
        )
        parser.add_argument("--dry-run", action="store_true", help="change nothing")

    def handle(self, *, slug: str, rule: list[str], reason: str, dry_run: bool, **_: Any) -> None:
        study, at = console.find_study(slug), timezone.now()
        rules = recollection.read_rules(console.read_settings(rule))
        if not rules:
            raise CommandError(f"Give at least one --rule NAME=VALUE. There are: {', '.join(RULES)}.")
        quality.refresh(study, at=at)
        planned = recollection.plan(study, rules)
        if not dry_run:
            with console.Progress("items", unit=" items") as progress:
                recollection.apply(study, rules, by=console.BY, why=reason, at=at, progress=progress)
        self.print_json(planned.as_dict())
