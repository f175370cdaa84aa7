"""Somebody who works: `manage.py marketplace_worker NAME`."""

import json
import re
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from marketplace import work
from marketplace.models import Worker


class Command(BaseCommand):
    help = "Make a worker, or find the one of this name, and print the worker's id, personal link and token as JSON."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--country", default="", help="two letters, such as US")
        parser.add_argument("--id", default="", help="for a new worker, an id of your own: A and 13 capitals or digits")
        parser.add_argument("--adult", action="store_true", help="has agreed to see adult content")

    def handle(self, *, name: str, country: str, id: str, adult: bool, **_: Any) -> None:
        if not name.strip() or len(name) > 100:
            raise CommandError("A name has from 1 to 100 characters.")
        if country and not (len(country) == 2 and country.isalpha()):
            raise CommandError(f"A country is two letters, such as US; it was {country!r}.")
        if id and not re.fullmatch(r"A[A-Z0-9]{13}", id):
            raise CommandError(f"A worker's id is A and 13 capitals or digits; it was {id!r}.")
        if id and Worker.objects.filter(worker_id=id).exclude(name=name).exists():
            raise CommandError(f"Another worker has the id {id}.")
        given = {"created_at": timezone.now(), "country": country.upper(), "is_adult": adult}
        given |= {"worker_id": id} if id else {}
        worker, _made = Worker.objects.get_or_create(name=name, defaults=given)
        token = work.token_of(worker)
        link = f"{settings.SITE_URL}/marketplace/enter/{token}/"
        self.stdout.write(json.dumps({"worker_id": worker.worker_id, "link": link, "token": token}))
