"""People for a study: `manage.py add_worker SLUG CODE [--stages generate,validate] [--count N]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console, links
from annotation.enrolment import MAX_CODE
from annotation.protocols.base import text_problem
from annotation.qualification import add_worker


class Command(console.Command):
    help = (
        "Let a worker, made if new, annotate in a study: you vouch for them. "
        "Prints one line of JSON per worker: worker, token (for the API), link (for the browser)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("code", metavar="CODE", help="the worker's name on this server")
        parser.add_argument("--stages", help="comma-separated, all of the protocol's unless given")
        parser.add_argument("--count", type=int, default=1, help="so many workers, CODE-1, CODE-2, ...")

    def handle(self, *, slug: str, code: str, stages: str | None, count: int, **_: Any) -> None:
        study, at = console.find_study(slug), timezone.now()
        if not code.strip() or len(code) > MAX_CODE or text_problem(code):
            raise CommandError(f"A worker's code is a text of 1 to {MAX_CODE} characters.")
        if count < 1:
            raise CommandError("--count must be at least 1.")
        chosen = stages.split(",") if stages is not None else [s.name for s in study.protocol.stages]
        with console.Progress("workers", count) as progress:
            for n in range(1, count + 1):
                worker = add_worker(study, code if count == 1 else f"{code}-{n}", chosen, by=console.BY, at=at)
                token, link = links.sign(worker, links.TOKEN, at=at), links.personal_link(worker, at=at)
                self.print_json({"worker": worker.code, "token": token, "link": link})
                progress(n)
