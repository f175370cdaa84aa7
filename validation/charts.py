"""Pictures of what was judged."""

from collections import defaultdict
from dataclasses import replace

from django.db.models import Count

from annotation import charts
from annotation.charts import Chart, Measured
from annotation.models import Study
from annotation.protocols.base import Measure
from validation import figures, labelling
from validation.agreement import NOT_IN_NUMBERS
from validation.figures import Rater
from validation.models import Resolution, Threshold
from validation.queries import MEASURES, AgreementReport, agreement_of
from validation.tallies import histogram

NAMES = dict(zip(MEASURES, ("Percent agreement", "Fleiss’ kappa", "Krippendorff’s alpha"), strict=True))


def agreement(study: Study) -> Chart:
    """The estimates of every question of every stage."""
    # Where one person is asked, nobody can agree.
    asked = [(s, m) for s in study.protocol.stages for m in s.measures if m.raters != 1]
    reports = [(stage.title, measure, agreement_of(study, stage.name, measure.name)) for stage, measure in asked]
    measured = [m for title, _, report in reports for m in _measured(f"{title}: {report.measure}", report)]
    notes = [note for title, measure, report in reports for note in _notes(title, measure, report)]
    return replace(charts.estimates("agreement", "Agreement", measured), notes=tuple(notes))


def _measured(group: str, report: AgreementReport) -> list[Measured]:
    found = [(name, getattr(report, name)) for name in MEASURES]
    found = [(name, e) for name, e in found if e.reason != NOT_IN_NUMBERS]
    return [
        Measured(group, NAMES[name], e.value, e.low, e.high, e.items, e.reason, is_share=name == "percent_agreement")
        for name, e in found
    ]


def _notes(title: str, measure: Measure, report: AgreementReport) -> list[str]:
    """What is compared, what is left out and why, and why a value or an interval is missing."""
    compared = report.percent_agreement.items
    few = report.items - report.set_aside - compared
    notes = [
        f"{title}: {compared:,} of {report.items:,} items can be compared; people who judged them: {report.workers:,}."
    ]
    if report.set_aside:
        notes.append(f"Left out because somebody chose {' or '.join(measure.left_out)}: {report.set_aside:,}.")
    if few:
        notes.append(f"With fewer than two answers so far: {few:,}.")
    if measure.study_wide:
        notes.append("The votes are the labels that each person's ratings come to under their own thresholds.")
    reasons = {e.reason for e in (report.percent_agreement, report.fleiss_kappa, report.krippendorff_alpha)}
    return notes + sorted(reasons - {""})


def labels(study: Study) -> Chart:
    """What the first stage's people chose, and what became gold."""
    stage = study.protocol.stages[0]
    groups = {f"{stage.title}: {m.name}": _votes(study, stage.name, m) for m in stage.measures if m.categories}
    closed = Resolution.objects.filter(study=study).exclude(label="")
    gold = dict(closed.values_list("label").annotate(n=Count("*")).order_by())
    known = study.protocol.labels or (stage.measures[0].categories if stage.measures else ())
    if gold.keys() <= set(known):
        gold = dict.fromkeys(known, 0) | gold
    return charts.shares("labels", "Labels", {**groups, "Decided": gold})


def _votes(study: Study, stage: str, measure: Measure) -> dict[str, int]:
    """Category -> votes, over all profiles."""
    votes = [[n * items for n in profile] for profile, items in histogram(study, stage, measure.name).items()]
    totals = [sum(column) for column in zip(*votes, strict=True)] or [0] * len(measure.categories)
    return dict(zip(measure.categories, totals, strict=True))


# --- Thresholds -----------------------------------------------------------------------------------


def thresholds(study: Study) -> Chart:
    """Everybody's ratings of fillers with their two cuts."""
    fixed = float(study.options.get("fixed_contradiction", 0))
    chart = figures.cuts("thresholds", "Thresholds from fillers", raters_of(study))
    notes = ["Left of the first line is contradiction, right of the second entailment, between them neutral."]
    notes.append("The grey bands are 95% bootstrap intervals over a person’s own fillers.")
    if fixed:
        notes.append(f"Labels are made with one threshold of contradiction for everybody, {fixed:g}.")
    return replace(chart, notes=tuple(notes))


def raters_of(study: Study) -> list[Rater]:
    """Everybody with thresholds, as they were found last."""
    rule = study.protocol.labelling
    if rule is None:
        return []
    fillers, ratings = labelling.fillers_of(study, rule), defaultdict[int, dict[str, list[float]]](dict)
    for worker, expected, rating in zip(fillers.workers, fillers.expected, fillers.ratings, strict=True):
        ratings[worker].setdefault(expected, []).append(rating)
    found = Threshold.objects.filter(study=study).select_related("enrolment").order_by("enrolment__number")
    return [
        Rater(
            row.enrolment.running_code,
            ratings[row.enrolment.worker_id],
            row.contradiction,
            row.entailment,
            row.accuracy,
            (row.how["contradiction"]["interval"], row.how["entailment"]["interval"]),
        )
        for row in found
    ]
