"""manage.py rehearse SLUG [--workers 30] [--seed 7] [--reward 1.20] [--stage-rewards validate=0.80] [--items N]"""

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation import console, keeper
from hits import forecast, pricing, rehearsal
from hits.console import money


class Command(console.Command):
    help = (
        "Run a copy of the study from publishing to gold, against a marketplace of its own, with a crowd that does not "
        "exist; print what the real run would cost and take, as JSON, and as a table on standard error. Nothing is "
        "bought, and the study stays as it is. The same seed gives the same result."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--workers", type=int, default=30, help="people in the crowd (30)")
        parser.add_argument("--seed", type=int, default=7, help="any whole number (7)")
        parser.add_argument("--reward", help="of one sitting, in dollars; as the newest batch or the study pays")
        parser.add_argument("--stage-rewards", nargs="+", metavar="STAGE=DOLLARS", default=[], help="where they differ")
        parser.add_argument(
            "--items", type=int, default=rehearsal.MOST_ITEMS, help="items at most, drawn by the seed (200)"
        )
        parser.add_argument("--per-hit", type=int, default=pricing.SEATS, help="seats of one HIT at most (9)")
        parser.add_argument("--target", help="dollars an hour to which bonuses lift; the study's own unless given")
        parser.add_argument("--fees", choices=["none", "mturk"], default="", help="as the settings say unless given")
        parser.add_argument("--in", dest="folder", help=argparse.SUPPRESS)  # how it calls itself

    def handle(self, *, slug: str, folder: str | None, **given: Any) -> None:
        if folder:
            with console.Progress("rehearsing", unit=" items done") as progress:
                self.print_json(rehearsal.play(Path(folder), progress=progress))
            return
        keeper.listen()
        result = rehearsal.rehearse(
            console.find_study(slug),
            workers=given["workers"],
            seed=given["seed"],
            reward=money(given["reward"]) if given["reward"] else None,
            stage_rewards={stage: money(amount) for stage, amount in _pairs(given["stage_rewards"])},
            items=given["items"],
            per_hit=given["per_hit"],
            target=money(given["target"]) if given["target"] else None,
            fees=given["fees"],
        )
        print(forecast.shown(result), file=sys.stderr)
        self.print_json(result)


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    if wrong := [text for text in given if "=" not in text]:
        raise CommandError(f"A stage's reward is written STAGE=DOLLARS; it was {wrong[0]!r}.")
    return [(stage, amount) for stage, _, amount in (text.partition("=") for text in given)]
