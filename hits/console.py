"""What commands share that spend money: the terms of a batch, and the question before anything is bought."""

import sys
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError

from hits import pricing, requirements
from hits.models import Batch
from hits.publishing import Terms


def money(text: str) -> Decimal:
    """Dollars, exactly as written. Raises CommandError."""
    try:
        amount = Decimal(text.strip().lstrip("$"))
    except InvalidOperation:
        raise CommandError(f"An amount is written in dollars, as in 1.20; it was {text!r}.") from None
    if not amount.is_finite():
        raise CommandError(f"An amount is written in dollars, as in 1.20; it was {text!r}.")
    return amount


def yes_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="answer the question about money with yes")


def agreed(question: str, yes: bool) -> None:
    """Ask, unless it was answered. Raises CommandError for no, and where there is nobody to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} There is no terminal to ask on: add --yes if so. Nothing was done.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was done.")


def terms_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--stage", required=True, help="the stage whose seats are sold")
    parser.add_argument("--sittings", type=int, required=True, help="how many sittings are paid at most")
    parser.add_argument("--reward", required=True, help="of one sitting, in dollars")
    parser.add_argument("--per-hit", type=int, default=pricing.SEATS, help="seats of one HIT (9)")
    parser.add_argument("--title", default="", help="as workers read it in the list")
    parser.add_argument("--description", default="")
    parser.add_argument("--keywords", default=Terms.keywords)
    parser.add_argument("--minutes", type=int, default=60, help="for one sitting (60)")
    parser.add_argument("--hours", type=int, default=72, help="that the HITs are offered (72)")
    parser.add_argument("--auto-approval-hours", type=int, default=72, help="until work is approved by itself (72)")
    parser.add_argument("--approved-percent", type=int, default=0, help="of a worker's earlier work, at least")
    parser.add_argument("--approved-number", type=int, default=0, help="of a worker's earlier assignments, at least")
    parser.add_argument("--countries", default="", help="two-letter codes, separated by commas")
    parser.add_argument("--adult", action="store_true", help="only workers who agreed to see adult content")
    parser.add_argument("--qualified-only", action="store_true", help="only workers the study qualified for the stage")
    parser.add_argument("--by-hand", action="store_true", help="approve nothing by itself")


def terms_of(options: dict[str, Any]) -> Terms:
    asked = requirements.asked(
        percent=options["approved_percent"],
        number=options["approved_number"],
        countries=[code for code in options["countries"].split(",") if code.strip()],
        adult=options["adult"],
    )
    return Terms(
        stage=options["stage"],
        sittings=options["sittings"],
        reward=money(options["reward"]),
        per_hit=options["per_hit"],
        title=options["title"],
        description=options["description"],
        keywords=options["keywords"],
        duration_minutes=options["minutes"],
        lifetime_hours=options["hours"],
        auto_approval_hours=options["auto_approval_hours"],
        requirements=asked,
        open_to=Batch.OpenTo.QUALIFIED if options["qualified_only"] else Batch.OpenTo.ANYONE,
        approval=Batch.Approval.BY_HAND if options["by_hand"] else Batch.Approval.CHECKED,
    )
