"""What all commands share: one-sentence errors, the study they are about, the file they read, progress."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from getpass import getpass
from pathlib import Path
from typing import Any, BinaryIO, Self

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from tqdm import tqdm

from annotation import archives
from annotation.errors import Refusal
from annotation.intake import Counts
from annotation.models import Study

BY = "command line"  # the actor of what commands do
PLAIN_SECONDS = 10


class Command(BaseCommand):
    """Ends with 0, or with 1 and one sentence on standard error, also for wrong arguments."""

    requires_system_checks = []  # they import every page, which data does not need

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refusal as refusal:
            raise CommandError(refusal.sentence) from refusal
        except DatabaseError as error:
            said = str(error).partition("\n")[0]
            raise CommandError(f"The database refused: {said} (has `manage.py migrate` been run?)") from error

    def run_from_argv(self, argv: Sequence[str]) -> None:
        try:
            options = vars(self.create_parser(argv[0], argv[1]).parse_args(argv[2:]))
            self.execute(*options.pop("args", ()), **options)
        except (CommandError, KeyboardInterrupt) as error:
            if "--traceback" in argv:
                raise
            self.stderr.write(str(error) or "Stopped.")
            sys.exit(1)
        except BrokenPipeError:  # whoever reads our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            connections.close_all()

    def print_json(self, value: object) -> None:
        self.stdout.write(json.dumps(value, ensure_ascii=False))

    @contextmanager
    def writing(self, out: str) -> Iterator[Callable[[str], object]]:
        """Writes text to standard output ("-"), or to a file that appears whole or not at all. Raises CommandError."""
        if out == "-":
            yield partial(self.stdout.write, ending="")
            return
        part = Path(f"{out}.part")
        try:
            with part.open("w", encoding="utf-8") as file:
                yield file.write
            part.replace(out)
        except OSError as error:
            raise CommandError(f"Cannot write {out}: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)

    @contextmanager
    def writing_encrypted(self, out: str, name: str, password: bytes) -> Iterator[Callable[[str], object]]:
        """Writes text to the file `name` in an archive that appears whole or not at all. Raises CommandError."""
        part = Path(f"{out}.part")
        try:
            with part.open("wb") as archive, archives.encrypted(archive, name, password) as file:
                yield lambda text: file.write(text.encode())
            part.replace(out)
        except OSError as error:
            raise CommandError(f"Cannot write {out}: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)

    def report(self, counts: Counts, **more: int) -> None:
        """Name the bad lines that were skipped, and end with the counts, and with what `more` counted."""
        for problem in counts.problems:
            self.stderr.write(problem)
        if counts.bad > len(counts.problems):
            self.stderr.write(f"and {counts.bad - len(counts.problems)} more")
        self.print_json({**counts.as_dict(), **more})


def slug_argument(parser: CommandParser) -> None:
    parser.add_argument("slug", metavar="SLUG", help="the study's short name")


def out_argument(parser: CommandParser) -> None:
    parser.add_argument("--out", metavar="FILE", default="-", help="write here instead of to standard output")


def ask_password(file: str | None) -> bytes:
    """The password on the first line of a file, or from a person who types it twice, unseen. Raises CommandError."""
    if file is not None:
        with opened(file) as source:
            try:
                given = source.readline().decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise CommandError(f"The first line of {file} is not text in UTF-8.") from None
    else:
        if not sys.stdin.isatty():
            raise CommandError("There is nobody to type a password: name a file with --password-file.")
        given = getpass("Password of the archive: ")
        if getpass("Once more: ") != given:
            raise CommandError("The two passwords differ. Nothing was written.")
    return archives.read_password(given)


def find_study(slug: str) -> Study:
    """Raises CommandError, naming the studies there are."""
    if study := Study.objects.filter(slug=slug).first():
        return study
    known = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)[:20])
    raise CommandError(f"There is no study {slug!r}. " + (f"There are: {known}." if known else "There is none yet."))


def read_settings(pairs: Sequence[str]) -> Mapping[str, str]:
    """What `--set NAME=VALUE` gave. Raises CommandError."""
    for pair in pairs:
        if "=" not in pair:
            raise CommandError(f"A setting is written NAME=VALUE; it was {pair!r}.")
    return dict(pair.split("=", 1) for pair in pairs)


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """The file to read, or standard input for "-". Raises CommandError."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(name).open("rb"))
        except OSError as error:
            raise CommandError(f"Cannot read {name}: {error.strerror}.") from error
        yield file


@contextmanager
def reading(file: BinaryIO) -> Iterator[Callable[[int], None]]:
    """Progress for whoever reads `file` and tells how many rows: in bytes for a file on disk, else in rows."""
    on_disk = file.seekable() and file is not sys.stdin.buffer
    size = os.fstat(file.fileno()).st_size if on_disk else None
    with Progress("reading", size, "B" if on_disk else " rows") as progress:
        yield lambda rows: progress(file.tell() if on_disk else rows)


class Progress:
    """Called with how much is done: a bar on a terminal; elsewhere a plain line now and then, once it takes long."""

    def __init__(self, what: str, total: int | None = None, unit: str = " rows") -> None:
        self.what, self.total, self.unit = what, total, unit
        self.bar = tqdm(
            desc=what, total=total, unit=unit, unit_scale=True, disable=not sys.stderr.isatty(), leave=False
        )
        self.said_at = time.monotonic()

    def __call__(self, done: int, total: int | None = None) -> None:
        self.bar.total = total or self.bar.total
        self.bar.update(done - self.bar.n)
        if self.bar.disable and time.monotonic() - self.said_at > PLAIN_SECONDS:
            self.said_at = time.monotonic()
            print(f"{self.what}: {done:,}{self.unit}", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()
