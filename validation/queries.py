"""Reads of what was judged, used by pages and commands alike."""

from dataclasses import dataclass, replace

from django.db.models import Count

from annotation.errors import UnknownStage
from annotation.models import Annotation, Study
from annotation.protocols.base import Level, Measure
from validation.agreement import NOT_IN_NUMBERS, Estimate, Histogram, estimate, estimate_of_moments, leave_out
from validation.errors import UnknownMeasure
from validation.tallies import histogram, moments

MEASURES = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha")


@dataclass(frozen=True)
class AgreementReport:
    """How far the people of one stage agree on one measure.

    items, annotations, workers: what counts in the stage. Each estimate says how many of the items it compares and
    how many it leaves out: `set_aside` of them by the protocol's rule, the others for their number of votes.
    """

    study: str
    stage: str
    measure: str
    level: Level
    items: int
    annotations: int
    workers: int
    set_aside: int
    percent_agreement: Estimate
    fleiss_kappa: Estimate
    krippendorff_alpha: Estimate


def agreement_of(study: Study, stage: str, measure: str) -> AgreementReport:
    """Two queries, however large the study. Raises UnknownStage or UnknownMeasure."""
    asked = measure_of(study, stage, measure)
    counted = Annotation.objects.filter(study=study, stage=stage, uncounted="")
    by_worker = dict(counted.values_list("worker").annotate(n=Count("*")).order_by())
    if asked.is_numeric:
        table, of = moments(study, stage, measure)
        alpha = estimate_of_moments(table, of=of)
        items, set_aside = alpha.items + alpha.left_out, 0
        percentage = kappa = Estimate(None, None, None, alpha.items, alpha.left_out, NOT_IN_NUMBERS)
    else:
        profiles = histogram(study, stage, measure)
        items = sum(profiles.values())
        compared, set_aside = leave_out(profiles, [asked.categories.index(c) for c in asked.left_out])
        percentage, kappa, alpha = (_estimate(compared, name, asked.level, set_aside) for name in MEASURES)
    return AgreementReport(
        study=study.slug,
        stage=stage,
        measure=measure,
        level=asked.level,
        items=items,
        annotations=sum(by_worker.values()),
        workers=len(by_worker),
        set_aside=set_aside,
        percent_agreement=percentage,
        fleiss_kappa=kappa,
        krippendorff_alpha=alpha,
    )


def measure_of(study: Study, stage: str, measure: str) -> Measure:
    """Raises UnknownStage or UnknownMeasure, naming what there is."""
    stages = {s.name: s for s in study.protocol.stages}
    if stage not in stages:
        raise UnknownStage(f"This study has no stage {stage!r}; it has {', '.join(stages)}.")
    measures = {m.name: m for m in stages[stage].measures}
    if measure not in measures:
        raise UnknownMeasure(f"Stage {stage!r} has no question {measure!r}; it has {', '.join(measures)}.")
    return measures[measure]


def _estimate(compared: Histogram, name: str, level: Level, set_aside: int) -> Estimate:
    found = estimate(compared, name, level=level)
    return replace(found, left_out=found.left_out + set_aside)
