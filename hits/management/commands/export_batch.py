"""manage.py export_batch SLUG [--batch N] [--out FILE]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits.results import sold, write_results


class Command(console.Command):
    help = "Write what was bought at a marketplace as MTurk's batch results (CSV), one row per item that was answered."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--batch", type=int, metavar="N", help="only this batch; all of them otherwise")
        console.out_argument(parser)

    def handle(self, *, slug: str, batch: int | None, out: str, **_: Any) -> None:
        study = console.find_study(slug)
        total = sold(study, batch).count()
        with self.writing(out) as write, console.Progress("exporting", total) as progress:
            write_results(study, write, batch=batch, at=timezone.now(), progress=progress)
