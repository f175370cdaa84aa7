"""Let a revoked worker go on: `manage.py restore SLUG WORKER --reason TEXT`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console, revocation
from validation import people


class Command(console.Command):
    help = "Restore a revoked worker. Work that was held or excluded stays so, unless --reinstate is given."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("worker", metavar="WORKER", help="running code (W001) or your own name for them")
        parser.add_argument("--reason", required=True, help="a sentence; it stays in the log")
        parser.add_argument(
            "--reinstate", action="store_true", help="let their work count again where its seat is free"
        )

    def handle(self, *, slug: str, worker: str, reason: str, reinstate: bool, **_: Any) -> None:
        enrolment, at = people.find(console.find_study(slug), worker), timezone.now()
        revocation.restore(enrolment, by=console.BY, why=reason, at=at)
        told: dict[str, object] = {"worker": enrolment.running_code, "state": enrolment.state}
        if reinstate:
            effect = revocation.reinstate_work(enrolment, by=console.BY, why=reason, at=at)
            told["reinstated"] = effect.annotations
        self.print_json(told)
