"""Gold as JSONL: `manage.py export_gold SLUG [--out FILE] [--full] [--keep-unresolved] [--split train] [--encrypt]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console
from validation import labelling
from validation.exports import full_gold_rows, gold_rows, resolutions, write_lines
from validation.releases import Wanted


class Command(console.Command):
    help = "Export a study's gold as JSONL with exactly the paper's keys, in import order."

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        console.out_argument(parser)
        parser.add_argument("--full", action="store_true", help="add `provenance`: how each item came to its gold")
        parser.add_argument(
            "--keep-unresolved", action="store_true", help="also items left open, with every label given"
        )
        parser.add_argument(
            "--split", default="", help="train, dev, test or contrast, as CREAK has them; all by default"
        )
        parser.add_argument(
            "--mode", default="", help="strict (no two splits share anything), or as_released (as the paper's did)"
        )
        parser.add_argument(
            "--with-labels", action="store_true", help="also of a split that is published without them, such as test"
        )

        parser.add_argument(
            "--encrypt", action="store_true", help="write an archive that opens with a password, which is asked for"
        )
        parser.add_argument(
            "--password-file", metavar="FILE", help="with --encrypt: take the password from its first line (- reads it)"
        )

    def handle(
        self,
        *,
        slug: str,
        out: str,
        full: bool,
        keep_unresolved: bool,
        encrypt: bool,
        password_file: str | None,
        **more: Any,
    ) -> None:
        if encrypt and out == "-":
            raise CommandError("An archive is a file: name one with --out FILE.zip.")
        if password_file is not None and not encrypt:
            raise CommandError("A password is for an archive: give --encrypt as well.")
        study, wanted = console.find_study(slug), Wanted(more["split"], more["mode"], more["with_labels"])
        password = console.ask_password(password_file) if encrypt else b""
        labelling.refresh(study, at=timezone.now())
        total = resolutions(study, keep_unresolved=keep_unresolved).count()
        rows = (full_gold_rows if full else gold_rows)(study, keep_unresolved=keep_unresolved, wanted=wanted)
        name = f"{study.slug}-gold.jsonl"
        writing = self.writing_encrypted(out, name, password) if encrypt else self.writing(out)
        with writing as write, console.Progress("exporting", total) as progress:
            write_lines(rows, write, progress)
        if study.declared_at:  # the rows have exactly the paper's keys, so the rules are named beside them
            self.stderr.write(
                f"Under the rules {study.declared_hash}, declared {study.declared_at:%Y-%m-%d %H:%M} UTC."
            )
