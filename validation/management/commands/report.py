"""What a study comes to: `manage.py report SLUG --out DIR`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console
from validation import reports


class Command(console.Command):
    help = (
        "Write a study's numbers.json, tables (CSV, and TeX for booktabs) and figures (SVG, PDF), as its paper prints "
        "them. Prints the files as JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--out", metavar="DIR", required=True, help="the folder to write to; made if needed")

    def handle(self, *, slug: str, out: str, **_: Any) -> None:
        study = console.find_study(slug)
        with console.Progress("reading", unit=" items") as progress:
            made = reports.make(study, at=timezone.now(), progress=progress)
        try:
            written = made.write(Path(out))
        except OSError as error:
            raise CommandError(f"Cannot write to {out}: {error.strerror}.") from error
        for note in made.notes:
            self.stderr.write(note)
        self.print_json({"study": study.slug, "out": out, "files": written})
