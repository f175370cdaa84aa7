"""End a worker's work in a study: `manage.py revoke SLUG WORKER --reason TEXT --work keep|hold|exclude [--dry-run]`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console, revocation
from annotation.models import Revocation
from validation import people, recollection


class Command(console.Command):
    help = (
        "Revoke a worker: nothing more is leased to them, and open sittings are taken back. Finished work is kept, "
        "held back from gold for now, or excluded and collected again. Prints what that does, or would do (--dry-run)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("worker", metavar="WORKER", help="running code (W001) or your own name for them")
        parser.add_argument("--reason", required=True, help="a sentence; the worker reads it")
        parser.add_argument(
            "--work", required=True, choices=Revocation.Work.values, help="what becomes of finished work"
        )
        parser.add_argument("--dry-run", action="store_true", help="change nothing")

    def handle(self, *, slug: str, worker: str, reason: str, work: str, dry_run: bool, **_: Any) -> None:
        enrolment = people.find(console.find_study(slug), worker)
        told = {"worker": enrolment.running_code, "work": work}
        if dry_run:
            self.print_json(told | recollection.preview(enrolment.study, [enrolment], work).as_dict())
            return
        at = timezone.now()
        revoked = revocation.revoke(enrolment, why=reason, work=work, by=console.BY, at=at)
        with console.Progress("items", unit=" items") as progress:
            effect = revocation.apply_work(revoked, by=console.BY, at=at, progress=progress)
        self.print_json(told | {"annotations": effect.annotations, "items": effect.items, "seats": effect.seats})
