"""manage.py plan_batch SLUG --stage STAGE --sittings N --reward 1.20"""

from typing import Any

from django.core.management.base import CommandParser

from annotation import console
from annotation.errors import Refusal
from hits import places, publishing
from hits.client import MTurkError
from hits.console import terms_arguments, terms_of


class Command(console.Command):
    help = "Say what a batch of HITs would cost, as one JSON object; nothing is bought."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        terms_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, terms = console.find_study(options["slug"]), terms_of(options)
        publishing.check(study, terms)
        try:
            balance = places.client().balance()
        except (Refusal, MTurkError) as error:  # the cost is known without it
            self.stderr.write(f"The balance is not known: {error}")
            balance = None
        self.print_json(publishing.plan(study, terms, balance=balance).as_dict())
