"""NOPE's tables and figures, from every item's ratings and labels (PROTOCOLS.md 2.10, 5 and 7)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from annotation.models import Study
from annotation.protocols.base import Level
from annotation.protocols.nope import LABELS, POLARITIES, E
from validation import figures
from validation.agreement import Estimate, estimate, estimate_of_moments
from validation.charts import raters_of
from validation.figures import Mean
from validation.models import Resolution, Threshold
from validation.reports import work
from validation.reports.parts import Report, Table, cell, percent

WORDS = {"E": "entailment", "N": "neutral", "C": "contradiction"}
CHANGES = ("no_change", "E_to_NC", "NC_to_E", "other")


@dataclass(frozen=True, slots=True)
class Rated:
    """One version of an item with all its ratings, and the label of each; label: the majority's, or None."""

    item: str
    trigger: str
    polarity: str
    adversarial: bool
    ratings: tuple[float, ...]
    labels: str  # one letter per rating
    label: str | None

    @property
    def share(self) -> float:
        """Of the ratings, those with the majority's label."""
        return self.labels.count(self.label) / len(self.labels) if self.label else 0.0


# --- What the paper prints, pure ------------------------------------------------------------------


def table2(rated: Iterable[Rated]) -> dict[str, dict[str, int]]:
    """Trigger -> how the label changes from the sentence that is not negated to the one that is, over items of the main
    corpus whose versions both have a majority.
    """
    versions: dict[str, dict[str, Rated]] = defaultdict(dict)
    for each in rated:
        if each.label and not each.adversarial:
            versions[each.item][each.polarity] = each
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in versions.values():
        if len(pair) == 2:
            before, after = (pair[polarity].label for polarity in POLARITIES)
            found[pair[POLARITIES[0]].trigger][_change(before, after)] += 1
    return {
        trigger: {**{name: counts[name] for name in CHANGES}, "n": counts.total()}
        for trigger, counts in sorted(found.items())
    }


def _change(before: str | None, after: str | None) -> str:
    if before == after:
        return "no_change"
    return "E_to_NC" if before == E else "NC_to_E" if after == E else "other"


def table3(rated: Sequence[Rated]) -> dict[str, Any]:
    """How far people agree, in percent: unanimous items and single labels that are the majority's, both over items with
    a majority, and items without one, over all.
    """
    decided = [each for each in rated if each.label]
    unanimous = sum(len(set(each.labels)) == 1 for each in decided)
    return {
        "items": len(rated),
        "items_with_majority": len(decided),
        "unanimous_pct": percent(unanimous / len(decided)) if decided else None,
        "individual_equals_majority_pct": percent(sum(e.share for e in decided) / len(decided)) if decided else None,
        "no_majority_pct": percent(1 - len(decided) / len(rated)) if rated else None,
        "unanimous_of_all_pct": percent(unanimous / len(rated)) if rated else None,
    }


def figure2(rated: Iterable[Rated]) -> dict[str, dict[str, int]]:
    """ "TRIGGER|POLARITY" -> majority labels, in the main corpus."""
    return _labels((f"{e.trigger}|{e.polarity}", e.label) for e in rated if not e.adversarial)


def figure4(rated: Sequence[Rated]) -> dict[str, dict[str, int]]:
    """Polarity -> majority labels, of the adversarial items; of all, in a study that has none."""
    adversarial = [each for each in rated if each.adversarial]
    return _labels((each.polarity, each.label) for each in adversarial or rated)


def _labels(pairs: Iterable[tuple[str, str | None]]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for key, label in pairs:
        if label:
            counts[key][label] += 1
    return {key: {name: counts[key][name] for name in LABELS} for key in sorted(counts)}


def figure3(rated: Iterable[Rated]) -> dict[str, Mean]:
    """Trigger -> mean of the items' sample standard deviations, in the main corpus."""
    deviations: dict[str, list[float]] = defaultdict(list)
    for each in rated:
        if not each.adversarial and len(each.ratings) > 1:
            deviations[each.trigger].append(_deviation(each.ratings))
    return {trigger: _mean(values) for trigger, values in sorted(deviations.items())}


def _deviation(values: Sequence[float]) -> float:
    """Sample standard deviation, over n - 1."""
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _mean(values: Sequence[float]) -> Mean:
    error = _deviation(values) / sqrt(len(values)) if len(values) > 1 else None
    return Mean(sum(values) / len(values), error, len(values))


def agreement(rated: Sequence[Rated]) -> dict[str, Estimate]:
    """Fleiss' kappa and nominal alpha of the labels, interval alpha of the ratings."""
    profiles = Counter(tuple(each.labels.count(name) for name in LABELS) for each in rated)
    moments = [(len(e.ratings), sum(e.ratings), sum(r * r for r in e.ratings)) for e in rated]
    return {
        "fleiss_kappa": estimate(profiles, "fleiss_kappa"),
        "alpha_nominal": estimate(profiles, "krippendorff_alpha", level=Level.NOMINAL),
        "alpha_interval": estimate_of_moments(moments),
    }


# --- From a study ---------------------------------------------------------------------------------

COLUMNS = [f"item__payload__{name}" for name in ("item", "trigger_type", "polarity", "adversarial")]


def rated_of(study: Study, progress: Callable[[int], None] = lambda done: None) -> Iterator[Rated]:
    """Every item whose ratings are complete and labelled."""
    rows = Resolution.objects.filter(study=study, gold__isnull=False).order_by("item_id")
    columns = rows.values_list(*COLUMNS, "gold")
    for done, (item, trigger, polarity, adversarial, gold) in enumerate(columns.iterator(chunk_size=5_000), 1):
        if gold["nli_labels"]:
            ratings, labels = tuple(gold["ratings"]), "".join(gold["nli_labels"])
            yield Rated(item, trigger, polarity, bool(adversarial), ratings, labels, gold["label"])
        if done % 5_000 == 0:
            progress(done)


NOTHING = "No item has all its ratings yet, so there is nothing to count."


def report(study: Study, progress: Callable[[int, int], None]) -> Report:
    total = Resolution.objects.filter(study=study).count()
    rated = list(rated_of(study, lambda done: progress(done, total)))
    second, third = table2(rated), table3(rated)
    deviations, thresholds = figure3(rated), _thresholds(study)
    agreed = _agreement(rated)
    people, times, pay = work.shares(study), work.times(study), work.pay(study)
    adversarial = any(each.adversarial for each in rated)
    notes = ([] if rated else [NOTHING]) + ([] if adversarial else ["No item is adversarial: figure 4 shows all."])
    second_figure, fourth_figure = figure2(rated), figure4(rated)
    numbers = {
        "study": study.slug,
        "protocol": study.protocol_slug,
        "rules": study.declared_hash or None,
        "options": {name: study.options[name] for name in ("votes", "threshold_method", "fixed_contradiction")},
        "table2": second,
        "table3": third,
        "table3_by_trigger": {
            t: table3([e for e in rated if e.trigger == t]) for t in sorted({e.trigger for e in rated})
        },
        "figure2": second_figure,
        "figure3": {t: {"mean_sd": round(m.value, 4), "items": m.n} for t, m in deviations.items()},
        "figure4": fourth_figure,
        "figure4_of": "adversarial" if adversarial else "all",
        "thresholds": thresholds,
        "agreement": agreed,
        "workers": people,
        "times": times,
        "pay": pay,
        "exit_form": work.said(study),
        "notes": notes,
    }
    raters = raters_of(study)
    tables = [
        _table2(second),
        _table3(third),
        _table_of_agreement(agreed),
        _table_of_thresholds(study),
        work.shares_table(people),
        work.times_table(times, pay),
    ]
    pictures = [
        figures.stacked("figure2", "Labels by trigger and polarity", _by_trigger(second_figure), WORDS),
        figures.points(
            "figure3", "Standard deviation of an item’s ratings", {_word(t): m for t, m in deviations.items()}, "points"
        ),
        figures.stacked("figure4", _title4(adversarial=adversarial), {"": fourth_figure}, WORDS),
        figures.cuts("thresholds", "Ratings of fillers, and each person’s cuts", raters),
    ]
    return Report(numbers, tables, pictures, notes)


def _title4(*, adversarial: bool) -> str:
    return "Labels of adversarial items by polarity" if adversarial else "Labels by polarity"


def _word(trigger: str) -> str:
    return trigger.replace("_", " ")


def _by_trigger(found: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Mapping[str, int]]]:
    groups: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for key, counts in found.items():
        trigger, _, polarity = key.rpartition("|")
        groups[_word(trigger)][polarity] = counts
    return groups


def _thresholds(study: Study) -> dict[str, Any]:
    """Means of the thresholds that workers' own fillers taught; what is fixed for everybody stands beside."""
    rows = list(Threshold.objects.filter(study=study).order_by("enrolment__number"))
    means, learnt = {}, {}
    for name in ("entailment", "contradiction"):
        own = [getattr(row, name) for row in rows if not row.how[name]["reason"]]
        means[f"{name}_mean"], learnt[name] = (round(sum(own) / len(own), 6) if own else None), len(own)
    reason = None if all(learnt.values()) else "Nobody's fillers could teach one of the two thresholds."
    fixed = float(study.options["fixed_contradiction"]) or None
    method = study.options["threshold_method"]
    return {
        **means,
        "method": method,
        "workers": len(rows),
        "learnt": learnt,
        "fixed_contradiction": fixed,
        "reason": reason,
    }


PARTS = ("main", "adversarial", "all_items")


def _agreement(rated: Sequence[Rated]) -> dict[str, Any]:
    """Over the corpus, that is items with a majority, as the release has them; its parts, and all items, beside it."""
    corpus = [each for each in rated if each.label]
    parts = {
        "main": [each for each in corpus if not each.adversarial],
        "adversarial": [each for each in corpus if each.adversarial],
        "all_items": rated,
    }
    return {
        "of": "items with a majority",
        **_measured(corpus),
        **{name: _measured(part) for name, part in parts.items()},
    }


def _measured(rated: Sequence[Rated]) -> dict[str, Any]:
    found = agreement(rated)
    return {
        "items": len(rated),
        **{name: None if e.value is None else round(e.value, 6) for name, e in found.items()},
        "intervals": {name: None if e.low is None else [e.low, e.high] for name, e in found.items()},
        "reasons": {name: e.reason for name, e in found.items() if e.reason},
    }


def _table2(found: Mapping[str, Mapping[str, int]]) -> Table:
    rows = []
    for trigger, counts in found.items():
        shares = [percent(counts[name] / counts["n"]) for name in CHANGES]
        rows.append((_word(trigger), *map(cell, shares), counts["n"]))
    header = ("trigger", "no change %", "E→{N,C} %", "{N,C}→E %", "other %", "n")
    return Table("table2", "Change of label under negation, from the sentence that is not negated", header, tuple(rows))


def _table3(found: Mapping[str, Any]) -> Table:
    words = {
        "unanimous_pct": "unanimous, of items with a majority",
        "individual_equals_majority_pct": "individual = majority",
        "no_majority_pct": "no majority, of all items",
        "unanimous_of_all_pct": "unanimous, of all items",
    }
    rows = tuple((said, cell(found[name])) for name, said in words.items())
    notes = (f"{found['items_with_majority']:,} of {found['items']:,} items have a majority.",)
    return Table("table3", "How far raters agree", ("", "%"), rows, notes=notes)


def _table_of_agreement(found: Mapping[str, Any]) -> Table:
    rows = []
    for name, part in (("items with a majority", found), *((p.replace("_", " "), found[p]) for p in PARTS)):
        for measure in ("fleiss_kappa", "alpha_nominal", "alpha_interval"):
            low, high = part["intervals"][measure] or (None, None)
            rows.append((name, measure.replace("_", " "), cell(part[measure]), cell(low), cell(high), part["items"]))
    header = ("of", "measure", "value", "low (95%)", "high (95%)", "items")
    return Table("agreement", "Agreement", header, tuple(rows), decimals=3)


def _table_of_thresholds(study: Study) -> Table:
    rows = []
    for row in Threshold.objects.filter(study=study).select_related("enrolment").order_by("enrolment__number"):
        code, accuracy = row.enrolment.running_code, None if row.accuracy is None else round(row.accuracy, 4)
        rows.append((code, row.contradiction, row.entailment, cell(accuracy), row.fillers))
    header = ("worker", "contradiction up to", "entailment above", "filler accuracy", "fillers")
    return Table("thresholds", "Thresholds", header, tuple(rows), decimals=2)
