"""manage.py import_batch SLUG FILE [--stage STAGE] [--item-column COLUMN] [--map COLUMN=NAME ...] [--make-items]"""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from hits.results import import_results, read_map


class Command(console.Command):
    help = (
        "Open MTurk's batch results (CSV): every row becomes an annotation made elsewhere. Prints how many were "
        "created, unchanged and bad, and with --make-items how many items were made, as JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("file", metavar="FILE", help="CSV, gzip too, or - for standard input")
        parser.add_argument("--stage", default="", help="the stage this was done in; files of export_batch say it")
        parser.add_argument(
            "--item-column", default="Input.id", metavar="COLUMN", help="where the item's id is (Input.id)"
        )
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=NAME",
            help="a part of the answer, such as Answer.label=label or Answer.fix=pairs.0.correction; "
            "or, of an Input column, a field of the item",
        )
        parser.add_argument(
            "--value",
            action="append",
            default=[],
            metavar="NAME:THERE=HERE",
            help="what a value means here, such as 'label:fp=false presupposition'",
        )
        parser.add_argument("--make-items", action="store_true", help="make items that are missing of Input.*")
        parser.add_argument("--skip-bad", action="store_true", help="keep the good rows, and report the bad ones")

    def handle(self, *, slug: str, file: str, make_items: bool, **options: Any) -> None:
        study = console.find_study(slug)
        reading = read_map(options["item_column"], options["map"], options["value"])
        with console.opened(file) as source, console.reading(source) as progress:
            counts, made = import_results(
                study,
                source,
                reading,
                stage=options["stage"],
                make_items=make_items,
                skip_bad=options["skip_bad"],
                by=console.BY,
                at=timezone.now(),
                progress=progress,
            )
        self.report(counts, **({"items": made.created} if make_items else {}))
