"""Thresholds of a slider study: `manage.py calibrate SLUG [--method exact|brent] [--fixed-contradiction 2.2133]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation import console
from annotation.protocols.base import BadOption
from validation import labelling
from validation.calibration import METHODS, Interval, Threshold, intervals
from validation.exports import running_codes


class Command(console.Command):
    help = (
        "Print where each worker's ratings are cut, learnt from their fillers, a JSON line per worker. Nothing is "
        "changed: what labels are made with are the study's settings threshold_method and fixed_contradiction."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        console.slug_argument(parser)
        parser.add_argument("--method", choices=METHODS, help="the study's own unless given")
        parser.add_argument(
            "--fixed-contradiction", metavar="RATING", help="one threshold of contradiction for everybody; 0 for none"
        )

    def handle(self, *, slug: str, method: str | None, fixed_contradiction: str | None, **_: Any) -> None:
        study = console.find_study(slug)
        rule = study.protocol.labelling
        if rule is None:
            raise CommandError(f"{study.protocol.title} has no ratings to cut; only studies with a slider have.")
        given = {"threshold_method": method, "fixed_contradiction": fixed_contradiction}
        try:
            options = study.protocol.read_options(
                {**study.options, **{name: value for name, value in given.items() if value is not None}}
            )
        except BadOption as error:
            raise CommandError(str(error)) from error
        found = labelling.calibrations(study, rule, options)
        if not found:
            raise CommandError("Nobody has rated anything yet, so there are no thresholds.")
        fillers = labelling.fillers_of(study, rule)
        around = intervals([str(w) for w in fillers.workers], fillers.expected, fillers.ratings)
        cuts, codes = labelling.cuts_of(found, options), running_codes(study)
        right = fillers.right_by_worker()
        for worker in sorted(found, key=lambda w: codes[w]):
            scored = [is_right for is_right in right[worker] if is_right is not None]
            low, high = around.get(str(worker), (None, None))
            self.print_json(
                {
                    "worker": codes[worker],
                    "contradiction_max": round(cuts[worker][0], 6),
                    "entailment_min": round(cuts[worker][1], 6),
                    "filler_accuracy": round(sum(scored) / len(scored), 6) if scored else None,
                    "fillers": len(right[worker]),
                    "contradiction": _how(found[worker].contradiction, low),
                    "entailment": _how(found[worker].entailment, high),
                }
            )


def _how(found: Threshold, interval: Interval | None) -> dict[str, Any]:
    """How good a threshold is: the weighted share of ratings that it maps right, its interval, equally good cuts."""
    return {
        "accuracy": found.accuracy,
        "interval": interval,
        "ratings": found.ratings,
        "ties": found.ties,
        "reason": found.reason or None,
    }
