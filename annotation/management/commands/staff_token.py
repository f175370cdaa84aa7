"""A token for the API: `manage.py staff_token USERNAME`."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console, staff


class Command(console.Command):
    help = "Print a token with which this researcher or admin may use the API. A new password makes it void."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="USERNAME")

    def handle(self, *, username: str, **_: Any) -> None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {username!r}.")
        self.print_json({"user": username, "token": staff.sign(user, at=timezone.now())})
