"""What became of pairs, by kind: kept, removed and why, disputed (PROTOCOLS.md 4.1 to 4.3)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db.models import Count

from annotation.models import Item, Study
from annotation.protocols.synqa2 import DISPUTED, KEEP, KINDS, LABELS
from validation import charts, figures
from validation.models import Resolution
from validation.ratings import ratio
from validation.reports import work
from validation.reports.agreed import agreement, agreement_table
from validation.reports.parts import Report, Table, cell, percent

# Candidates and those kept in the paper [2.1, 2.2].
PUBLISHED = {"single_hop": (1953, 1165), "multi_hop": (893, 647)}
OUTCOMES = (*LABELS, DISPUTED)
ALL = "all"
NOTHING = "No pair is verified yet, so there is nothing to count."


def by_kind(verdicts: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """(kind, verdict) of every verified pair -> by kind, and for all: how many of each outcome, and the share kept.

    The share is of the pairs with a verdict; disputed ones have none.
    """
    counts: dict[str, Counter[str]] = {}
    for kind, verdict in verdicts:
        for name in (kind, ALL):
            counts.setdefault(name, Counter())[verdict] += 1
    found = {}
    for kind in (*KINDS, ALL):
        if each := counts.get(kind):
            decided = [(float(verdict == KEEP), 1.0) for verdict in LABELS for _ in range(each[verdict])]
            found[kind] = {
                "pairs": each.total(),
                **{outcome: each[outcome] for outcome in OUTCOMES},
                "kept": ratio(decided).as_dict(),
            }
    return found


def report(study: Study, progress: Callable[[int, int], None]) -> Report:
    verified = Resolution.objects.filter(study=study, gold__isnull=False)
    rows = list(verified.order_by("item_id").values_list("item__payload__kind", "gold__verdict"))
    progress(len(rows), len(rows))
    found = by_kind(rows)
    states = dict(study.items.work().values_list("state").annotate(n=Count("*")).order_by())
    agreed, people = agreement(study), work.shares(study)
    times, pay = work.times(study), work.pay(study)
    waiting = states.get(Item.State.OPEN, 0)
    notes = [] if rows else [NOTHING]
    if rows and waiting:
        notes.append(f"{waiting:,} pairs still wait for verdicts.")
    numbers = {
        "study": study.slug,
        "protocol": study.protocol_slug,
        "rules": study.declared_hash or None,
        "options": {"verifiers": study.options["verifiers"]},
        "pairs": found,
        "waiting": waiting,
        "published": {kind: {"pairs": of, "keep": kept} for kind, (of, kept) in PUBLISHED.items()},
        "agreement": agreed,
        "workers": people,
        "times": times,
        "pay": pay,
        "notes": notes,
    }
    tables = [_table(found), agreement_table(agreed), work.shares_table(people), work.times_table(times, pay)]
    words = {**{verdict: verdict for verdict in LABELS}, KEEP: "kept", DISPUTED: DISPUTED}
    shares = {"": {_word(kind): {o: each[o] for o in OUTCOMES} for kind, each in found.items()}}
    pictures = [figures.stacked("pairs", "What became of pairs", shares, words, rows="kind")]
    return Report(numbers, tables, [*pictures, charts.agreement(study), charts.labels(study)], notes)


def _word(kind: str) -> str:
    return kind.replace("_", " ")


def _table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = []
    for kind, each in found.items():
        kept = each["kept"]
        of, published = PUBLISHED.get(
            kind, (sum(n for n, _ in PUBLISHED.values()), sum(k for _, k in PUBLISHED.values()))
        )
        rows.append(
            (
                _word(kind),
                each["pairs"],
                *(each[outcome] for outcome in OUTCOMES),
                *(cell(percent(kept[name])) for name in ("value", "low", "high")),
                percent(published / of) or "",
            )
        )
    removed = (f"removed: {verdict}" for verdict in LABELS if verdict != KEEP)
    header = ("kind", "pairs", "kept", *removed, DISPUTED, "kept %", "low (95%)", "high (95%)", "published %")
    notes = ("Of the pairs with a verdict; disputed ones have none.",)
    return Table("pairs", "Verified pairs", header, tuple(rows), notes=notes)
