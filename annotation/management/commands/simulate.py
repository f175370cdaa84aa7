"""A simulated crowd: `manage.py simulate SLUG --workers N --accuracy P --seed S [--limit N] [--stages ...]`."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation import console
from annotation.simulation import simulate


class Command(console.Command):
    help = (
        "Let a simulated crowd annotate, from the items' known gold where there is one; the same seed gives the same "
        "annotations. Prints how many it wrote as JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--workers", type=int, required=True, help="how many people")
        parser.add_argument("--accuracy", type=float, required=True, help="how often an answer is right, 0 to 1")
        parser.add_argument("--seed", type=int, required=True, help="any whole number")
        parser.add_argument("--limit", type=int, help="stop after so many annotations; the last sitting is finished")
        parser.add_argument("--stages", default="", help="comma-separated, all of the protocol's unless given")

    def handle(
        self, *, slug: str, workers: int, accuracy: float, seed: int, limit: int | None, stages: str, **_: Any
    ) -> None:
        study = console.find_study(slug)
        with console.Progress("simulating", limit, " annotations") as progress:
            written = simulate(
                study,
                workers=workers,
                accuracy=accuracy,
                seed=seed,
                clock=lambda _: timezone.now(),
                stages=stages.split(",") if stages else [],
                limit=limit,
                progress=progress,
            )
        self.print_json({"study": slug, "annotations": written})
