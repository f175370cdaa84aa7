"""What a rehearsal comes to: money, days, pay, and what became of people and items. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hits.cast import DAY, HOUR, MEDIAN_SECONDS
from hits.pricing import cents

ZERO = Decimal("0.00")
USUAL_HOURLY = Decimal("12.00")  # what a reward is made from where nobody set one


@dataclass(frozen=True)
class Bought:
    """One sum in the ledger. stage: of a reward; "" for bonuses. is_test: it paid for a test that led no further.
    is_wasted: its work was taken out of the count.
    """

    stage: str
    kind: str
    amount: Decimal
    fee: Decimal
    is_test: bool = False
    is_wasted: bool = False


def usual_reward(items: int, hourly: Decimal = USUAL_HOURLY) -> Decimal:
    """What pays `hourly` for so many items at the assumed pace."""
    return max(Decimal("0.01"), cents(hourly * Decimal(items * MEDIAN_SECONDS) / Decimal(HOUR)))


def money(sums: Sequence[Bought], stages: Sequence[str]) -> dict[str, Any]:
    """By stage in the protocol's order, and in all; dollars as text."""
    rewards = [s for s in sums if s.kind == "reward"]
    bonuses = [s for s in sums if s.kind != "reward"]
    by_stage = []
    for stage in stages:
        mine = [s for s in rewards if s.stage == stage]
        amount, fees = sum((s.amount for s in mine), ZERO), sum((s.fee for s in mine), ZERO)
        by_stage.append(
            {
                "stage": stage,
                "sittings": len(mine),
                "of_them_tests": sum(s.is_test for s in mine),
                "rewards": f"{amount:.2f}",
                "fees": f"{fees:.2f}",
                "total": f"{amount + fees:.2f}",
            }
        )
    return {
        "stages": by_stage,
        "rewards": f"{sum((s.amount for s in rewards), ZERO):.2f}",
        "bonuses": f"{sum((s.amount for s in bonuses), ZERO):.2f}",
        "fees": f"{sum((s.fee for s in sums), ZERO):.2f}",
        "total": f"{total(sums):.2f}",
        "of_it_for_work_thrown_away": f"{total([s for s in sums if s.is_wasted]):.2f}",
    }


def total(sums: Sequence[Bought]) -> Decimal:
    return sum((s.amount + s.fee for s in sums), ZERO)


def in_full(spent: Decimal, days: float, items: int, all_items: int) -> dict[str, Any] | None:
    """What a sample says of all items, where there are more: money grows in proportion, and days at most so."""
    if items >= all_items:
        return None
    factor = Decimal(all_items) / Decimal(max(items, 1))
    return {"items": all_items, "total": f"{cents(spent * factor):.2f}", "days_at_most": round(days * float(factor), 1)}


def days(seconds: float) -> float:
    return round(seconds / DAY, 1)


def shown(result: Mapping[str, Any]) -> str:
    """The result as lines for people."""
    spent, pay, people = result["money"], result["pay"], result["people"]
    lines = [
        f"Rehearsal of {result['study']} with seed {result['seed']}: {result['items']['rehearsed']:,} items, "
        f"{people['came']} of {people['all']} people came.",
        "",
        f"{'':<22}{'sittings':>9}{'each':>9}{'rewards':>11}{'fees':>10}{'total':>11}",
    ]
    for row in spent["stages"]:
        each = result["rewards"][row["stage"]]
        lines.append(
            f"{row['stage']:<22}{row['sittings']:>9,}{each:>9}{row['rewards']:>11}{row['fees']:>10}{row['total']:>11}"
        )
    lines += [
        f"{'bonuses':<51}{'':>10}{spent['bonuses']:>11}",
        f"{'all':<22}{'':>9}{'':>9}{spent['rewards']:>11}{spent['fees']:>10}{spent['total']:>11}",
        f"  of it for work that was thrown away: ${spent['of_it_for_work_thrown_away']}",
    ]
    if tests := sum(row["of_them_tests"] for row in spent["stages"]):
        lines.append(f"  {tests:,} of the sittings paid for a test, and nothing else came of them")
    if result["budget_left"] is not None:
        enough = Decimal(result["budget_left"]) >= Decimal((result["in_full"] or spent)["total"])
        lines.append(f"  the budget has ${result['budget_left']} left, which is {'' if enough else 'NOT '}enough")
    if full := result["in_full"]:
        lines.append(f"  all {full['items']:,} items: about ${full['total']}, and at most {full['days_at_most']} days")
    lines += ["", _row("days", f"{result['time']['days']} ({result['time']['hours_of_work']} hours of work)")]
    for row in result["agreement"]:
        if row["value"] is not None:
            between = f" ({row['low']:.2f} to {row['high']:.2f})" if row["low"] is not None else ""
            lines.append(_row(f"agreement, {row['stage']}", f"alpha {row['value']:.2f}{between}, {row['items']} items"))
    found = ", ".join(f"{n} {kind}" for kind, n in people["revoked"].items()) or "nobody"
    lines.append(_row("revoked", f"{found}; {people['sloppy_not_found']} sloppy not found"))
    lines.append(_row("collected again", f"{result['collected_again']:,} answers"))
    items = result["items"]
    kept = ", ".join(f"{items[name]:,} {name}" for name in ("settled", "dropped", "unresolved", "open") if items[name])
    lines.append(_row("items", kept))
    if items["gold_right"] is not None:
        lines.append(_row("gold", f"{items['gold_right']:.0%} of {items['gold_known']:,} with a known label are right"))
    if pay["median"] is not None:
        aim = f"; the target is ${pay['target']}" if pay["target"] else ""
        lines.append(_row("pay for an hour", f"${pay['median']} (median), ${pay['tenth']} (10th percentile){aim}"))
    if result["unfinished"]:
        lines += ["", f"NOT FINISHED: {result['unfinished']}"]
    return "\n".join([*lines, "", "Assumed:", *(f"  - {line}" for line in result["assumed"])])


def _row(name: str, text: str) -> str:
    return f"{name:<22}{text}"
