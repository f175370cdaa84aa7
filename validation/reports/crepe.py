"""CREPE's Table 1 and the agreement of its people (PROTOCOLS.md 1.6 to 1.8)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from annotation.models import Study
from annotation.protocols.crepe import FALSE
from annotation.protocols.writing import words
from validation import charts
from validation.models import Resolution
from validation.queries import agreement_of
from validation.reports import work
from validation.reports.parts import Report, Table, cell, percent

WHOLE = "all"
TEXTS = ("question", "comment", "presupposition", "correction")


@dataclass(frozen=True)
class Pair:
    """A settled item: its split, its label, and the texts of each kind."""

    split: str
    label: str
    texts: Mapping[str, list[str]]


def table1(pairs: Iterable[Pair]) -> dict[str, dict[str, Any]]:
    """Split -> items, those with a false presupposition, their share in percent, and mean tokens of each text.

    Tokens are runs of letters and digits. What there is none of has no mean: null.
    """
    items: dict[str, int] = defaultdict(int)
    false: dict[str, int] = defaultdict(int)
    tokens: dict[tuple[str, str], list[int]] = defaultdict(list)
    for pair in pairs:
        for split in dict.fromkeys((pair.split, WHOLE)):
            items[split] += 1
            false[split] += pair.label == FALSE
            for kind, texts in pair.texts.items():
                tokens[split, kind] += [len(words(text)) for text in texts]
    return {
        split: {
            "items": items[split],
            "false_presuppositions": false[split],
            "false_presuppositions_pct": percent(false[split] / items[split]),
            **{f"{kind}_tokens": _mean(tokens[split, kind]) for kind in TEXTS},
        }
        for split in sorted(items, key=lambda s: (s == WHOLE, s))
    }


def _mean(values: list[int]) -> float | None:
    return round(sum(values) / len(values), 2) if values else None


def pairs_of(study: Study, progress: Callable[[int], None]) -> Iterable[Pair]:
    settled = Resolution.objects.filter(study=study, outcome=Resolution.Outcome.SETTLED).order_by("item_id")
    columns = settled.values_list("item__payload", "label", "gold")
    for done, (payload, label, gold) in enumerate(columns.iterator(chunk_size=2_000), 1):
        texts = {"question": [payload["question"]], "comment": [payload["comment"]]}
        gold = gold or {}
        texts |= {"presupposition": gold["presuppositions"], "correction": gold["corrections"]}
        yield Pair(str(payload.get("split") or "no split"), label, texts)
        if done % 2_000 == 0:
            progress(done)


def report(study: Study, progress: Callable[[int, int], None]) -> Report:
    total = Resolution.objects.filter(study=study).count()
    first = table1(pairs_of(study, lambda done: progress(done, total)))
    outcomes = dict(Resolution.objects.filter(study=study).values_list("outcome").annotate(n=Count("pk")).order_by())
    agreement: dict[str, Any] = {}
    for stage in study.protocol.stages:
        for measure in stage.measures:
            found = agreement_of(study, stage.name, measure.name)
            agreement[stage.name] = {
                "question": measure.name,
                "items": found.items,
                "set_aside": found.set_aside,
                "percent_agreement": found.percent_agreement.as_dict(),
                "fleiss_kappa": found.fleiss_kappa.as_dict(),
                "krippendorff_alpha": found.krippendorff_alpha.as_dict(),
            }
    people, times, pay = work.shares(study), work.times(study), work.pay(study)
    notes = [] if first else ["No item is settled yet, so there is nothing to count."]
    numbers = {
        "study": study.slug,
        "protocol": study.protocol_slug,
        "rules": study.declared_hash or None,
        "table1": first,
        "outcomes": outcomes,
        "agreement": agreement,
        "workers": people,
        "times": times,
        "pay": pay,
        "notes": notes,
    }
    tables = [_table1(first), _agreement(agreement), work.shares_table(people), work.times_table(times, pay)]
    return Report(numbers, tables, [charts.agreement(study), charts.labels(study)], notes)


def _table1(first: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = tuple((split, *(cell(value) for value in row.values())) for split, row in first.items())
    header = ("split", "items", "false presuppositions", "%", *(f"tokens per {kind}" for kind in TEXTS))
    return Table("table1", "Settled items, share with a false presupposition, and mean tokens", header, rows)


def _agreement(found: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = []
    for stage, each in found.items():
        for name in ("percent_agreement", "fleiss_kappa", "krippendorff_alpha"):
            e = each[name]
            rows.append((stage, name.replace("_", " "), cell(e["value"]), cell(e["low"]), cell(e["high"]), e["items"]))
    header = ("stage", "measure", "value", "low (95%)", "high (95%)", "items")
    return Table("agreement", "Agreement", header, tuple(rows), decimals=3)
