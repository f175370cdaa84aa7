"""How acceptable answers are, by system and kind of question, and where raters differ (PROTOCOLS.md 4.5)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Study
from validation import charts, figures
from validation.agreement import Estimate
from validation.figures import Mean
from validation.models import Resolution
from validation.ratings import cohen, matrix_of, mean
from validation.reports import work
from validation.reports.agreed import agreement, agreement_table
from validation.reports.parts import Report, Table, cell, percent

WITH, WITHOUT, ALL = "with false assumption", "without", "all"
NOTHING = "No answer has all its ratings yet, so there is nothing to count."
FIRST_TWO = (
    "Cohen's kappa compares the first with the second rating of each answer, as they were given: with a crowd there "
    "are no two fixed raters. Fleiss' kappa and Krippendorff's alpha, which need none, are in the table of agreement."
)


@dataclass(frozen=True)
class Rated:
    """An answer with its ratings in the order given; adjudicated: what a person decided, or None."""

    ref: str
    system: str
    kind: str
    ratings: tuple[bool, ...]
    adjudicated: bool | None

    @property
    def score(self) -> float:
        return sum(self.ratings) / len(self.ratings)

    @property
    def decided(self) -> float:
        """The score, or what was decided in its place."""
        return self.score if self.adjudicated is None else float(self.adjudicated)


@dataclass(frozen=True)
class Group:
    """What one system's answers to one kind of question come to. agreement: share of equal first and second ratings."""

    mean: Estimate
    decided: Estimate
    agreement: Estimate
    kappa: Estimate

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).as_dict() for name in ("mean", "decided", "agreement", "kappa")}


def group(rated: Sequence[Rated]) -> Group:
    pairs = [each.ratings[:2] for each in rated if len(each.ratings) > 1]
    return Group(
        mean(each.score for each in rated),
        mean(each.decided for each in rated),
        mean(float(first == second) for first, second in pairs),
        cohen(matrix_of((first, second) for first, second in pairs)),
    )


def groups(rated: Iterable[Rated]) -> dict[tuple[str, str], Group]:
    """(system, kind) -> numbers; each system in all, too, and all systems together last."""
    members: dict[tuple[str, str], list[Rated]] = defaultdict(list)
    for each in rated:
        for key in ((each.system, each.kind), (each.system, ALL), (ALL, each.kind), (ALL, ALL)):
            members[key].append(each)
    kinds = (WITHOUT, WITH, ALL)
    ordered = sorted(members, key=lambda key: (key[0] == ALL, key[0], kinds.index(key[1])))
    return {key: group(members[key]) for key in ordered}


def rated_of(study: Study, progress: Callable[[int], None]) -> Iterator[Rated]:
    settled = Resolution.objects.filter(study=study, outcome=Resolution.Outcome.SETTLED).order_by("item_id")
    columns = settled.values_list("item__ref", "item__payload__system", "item__payload__has_false_assumption", "gold")
    for done, (ref, system, is_false, gold) in enumerate(columns.iterator(chunk_size=2_000), 1):
        gold = gold or {}
        yield Rated(ref, system, WITH if is_false else WITHOUT, tuple(gold["ratings"]), gold["adjudicated"])
        if done % 2_000 == 0:
            progress(done)


def report(study: Study, progress: Callable[[int, int], None]) -> Report:
    total = Resolution.objects.filter(study=study).count()
    rated = list(rated_of(study, lambda done: progress(done, total)))
    found = groups(rated)
    differing = [each for each in rated if len(set(each.ratings)) > 1]
    agreed, people = agreement(study), work.shares(study)
    times, pay = work.times(study), work.pay(study)
    notes = [FIRST_TWO] if rated else [NOTHING]
    by_system: dict[str, Any] = {}
    for (system, kind), each in found.items():
        by_system.setdefault(system, {})[kind] = each.as_dict()
    numbers = {
        "study": study.slug,
        "protocol": study.protocol_slug,
        "rules": study.declared_hash or None,
        "items": len(rated),
        "acceptability": by_system,
        "disagreements": [_row(each) for each in differing],
        "agreement": agreed,
        "workers": people,
        "times": times,
        "pay": pay,
        "notes": notes,
    }
    tables = [
        _table(found),
        _disagreements(differing),
        agreement_table(agreed),
        work.shares_table(people),
        work.times_table(times, pay),
    ]
    means = {f"{system}, {kind}": _mean(each.mean) for (system, kind), each in found.items() if kind != ALL}
    pictures = [figures.points("acceptability", "Share of acceptable answers", means, "", decimals=2)]
    return Report(numbers, tables, [*pictures, charts.agreement(study), charts.labels(study)], notes)


def _row(each: Rated) -> dict[str, Any]:
    return {
        "id": each.ref,
        "system": each.system,
        "kind": each.kind,
        "ratings": list(each.ratings),
        "adjudicated": each.adjudicated,
    }


def _table(found: Mapping[tuple[str, str], Group]) -> Table:
    rows = tuple(
        (
            system,
            kind,
            *(cell(v) for v in (each.mean.value, each.mean.low, each.mean.high)),
            cell(each.decided.value),
            cell(percent(each.agreement.value)),
            cell(each.kappa.value),
            each.mean.items,
        )
        for (system, kind), each in found.items()
    )
    header = (
        "system",
        "questions",
        "mean",
        "low (95%)",
        "high (95%)",
        "with decisions",
        "equal %",
        "Cohen’s kappa",
        "n",
    )
    title = "Acceptability by system and kind of question"
    return Table("acceptability", title, header, rows, decimals=2)


def _disagreements(differing: Sequence[Rated]) -> Table:
    words = {True: "acceptable", False: "not acceptable", None: ""}
    rows = tuple(
        (
            each.ref,
            each.system,
            each.kind,
            ", ".join("yes" if r else "no" for r in each.ratings),
            words[each.adjudicated],
        )
        for each in differing
    )
    header = ("answer", "system", "questions", "ratings", "decided")
    return Table("disagreements", "Answers on which raters differ", header, rows)


def _mean(e: Estimate) -> Mean:
    bounds = None if e.low is None or e.high is None else (e.low, e.high)
    return Mean(e.value or 0.0, None, e.items, bounds)
