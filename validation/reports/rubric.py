"""CREPE's Table 7: means by system and criterion, and how far raters agree on pairs of outputs (PROTOCOLS.md 1.7)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.charts import Cell
from annotation.models import Study
from validation import charts, figures
from validation.agreement import Estimate
from validation.figures import Mean
from validation.models import Resolution
from validation.ratings import Scores, means, pairwise_agreement
from validation.reports import work
from validation.reports.agreed import agreement, agreement_table
from validation.reports.parts import Report, Table, cell, percent

NOTHING = "No item has all its ratings yet, so there is nothing to count."
AGREEMENT = "agreement on pairs %"
Ratings = Sequence[Mapping[str, Scores]]  # of one item, for each rater: output -> criterion -> score


@dataclass(frozen=True)
class Criterion:
    """What Table 7 says of one criterion."""

    means: Mapping[str, Estimate]
    agreement: Estimate


def table7(items: Sequence[Ratings], criteria: Sequence[str], systems: Sequence[str]) -> dict[str, Criterion]:
    """Criterion -> means of the systems, in the order of `systems`, and agreement by sign."""
    found = {}
    for name in criteria:
        rated = [[{s: row[name] for s, row in scores.items()} for scores in raters] for raters in items]
        by_system = means(rated)
        ordered = {system: by_system[system] for system in systems if system in by_system}
        found[name] = Criterion(ordered, pairwise_agreement(rated))
    return found


def ratings_of(study: Study, progress: Callable[[int], None]) -> Iterator[tuple[list[str], Ratings]]:
    """Every rated item: its systems in the order of its row, and its ratings."""
    settled = Resolution.objects.filter(study=study, outcome=Resolution.Outcome.SETTLED).order_by("item_id")
    columns = settled.values_list("item__payload__outputs", "gold")
    for done, (outputs, gold) in enumerate(columns.iterator(chunk_size=2_000), 1):
        yield [output["system"] for output in outputs], (gold or {})["ratings"]
        if done % 2_000 == 0:
            progress(done)


def report(study: Study, progress: Callable[[int, int], None]) -> Report:
    total = Resolution.objects.filter(study=study).count()
    rated = list(ratings_of(study, lambda done: progress(done, total)))
    criteria = [measure.name for measure in study.protocol.stages[0].measures]
    systems = list(dict.fromkeys(system for each, _ in rated for system in each))
    found = table7([ratings for _, ratings in rated], criteria, systems)
    agreed, people = agreement(study), work.shares(study)
    times, pay = work.times(study), work.pay(study)
    notes = [] if rated else [NOTHING]
    numbers = {
        "study": study.slug,
        "protocol": study.protocol_slug,
        "rules": study.declared_hash or None,
        "options": {name: study.options[name] for name in ("criteria", "raters")},
        "items": len(rated),
        "table7": _numbers(found, systems),
        "pairwise_agreement": {name: each.agreement.as_dict() for name, each in found.items()},
        "agreement": agreed,
        "workers": people,
        "times": times,
        "pay": pay,
        "notes": notes,
    }
    tables = [
        _table7(found, systems),
        _intervals(found),
        agreement_table(agreed),
        work.shares_table(people),
        work.times_table(times, pay),
    ]
    pictures = [
        figures.points(f"means-{_slug(name)}", f"Mean {name}", {s: _mean(e) for s, e in each.means.items()}, "")
        for name, each in found.items()
    ]
    return Report(numbers, tables, [*pictures, charts.agreement(study)], notes)


def _numbers(found: Mapping[str, Criterion], systems: Sequence[str]) -> dict[str, dict[str, Any]]:
    """System -> criterion -> the mean."""
    return {
        system: {name: each.means[system].as_dict() for name, each in found.items() if system in each.means}
        for system in systems
    }


def _table7(found: Mapping[str, Criterion], systems: Sequence[str]) -> Table:
    """As the paper prints it: a row for each system, and agreement below."""
    blank = Estimate(None, None, None, 0, 0, "")
    rows = []
    for system in systems:
        each = [criterion.means.get(system, blank) for criterion in found.values()]
        rows.append((system, *(cell(e.value) for e in each), max((e.items for e in each), default=0)))
    agreed = [criterion.agreement for criterion in found.values()]
    if systems:
        shares = (cell(percent(e.value)) for e in agreed)
        rows.append((AGREEMENT, *shares, max((e.items for e in agreed), default=0)))
    notes = ("Agreement: share of pairs of outputs of an item that two raters put in the same order.",)
    title = "Mean ratings by system, and agreement of raters"
    return Table("table7", title, ("system", *found, "items"), tuple(rows), decimals=2, notes=notes)


def _intervals(found: Mapping[str, Criterion]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (name, system, cell(e.value), cell(e.low), cell(e.high), e.items)
        for name, criterion in found.items()
        for system, e in criterion.means.items()
    ]
    for name, criterion in found.items():
        e = criterion.agreement
        rows.append((name, AGREEMENT, *(cell(percent(v)) for v in (e.value, e.low, e.high)), e.items))
    header = ("criterion", "system", "mean", "low (95%)", "high (95%)", "items")
    return Table("intervals", "Table 7 with intervals, items drawn anew", header, tuple(rows), decimals=2)


def _mean(e: Estimate) -> Mean:
    bounds = None if e.low is None or e.high is None else (e.low, e.high)
    return Mean(e.value or 0.0, None, e.items, bounds)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")
