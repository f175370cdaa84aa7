"""An account that publishes: `manage.py requester NAME [--deposit 100.00]`."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from marketplace import cents, ledger, signing
from marketplace.models import Requester


class Command(BaseCommand):
    help = "Make a requester, or find the one of this name, and print its keys and the API's address as JSON."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--deposit", metavar="DOLLARS", default="0", help="money to add, such as 100.00")
        parser.add_argument("--new-key", action="store_true", help="make the present secret key useless")

    @transaction.atomic
    def handle(self, *, name: str, deposit: str, new_key: bool, **_: Any) -> None:
        if not name.strip() or len(name) > 100:
            raise CommandError("A name has from 1 to 100 characters.")
        if not cents.AMOUNT.fullmatch(deposit):
            raise CommandError(f"A deposit is written as 100.00; it was {deposit!r}.")
        requester, _made = Requester.objects.get_or_create(name=name, defaults={"created_at": timezone.now()})
        if new_key:
            requester.key_serial += 1
            requester.save(update_fields=["key_serial"])
        ledger.deposit(requester, cents.from_text(deposit), at=timezone.now())
        printed = {
            "access_key": requester.access_key,
            "secret_key": signing.secret_of(requester),
            "endpoint": f"{settings.SITE_URL}/marketplace/api/",
        }
        self.stdout.write(json.dumps(printed))
