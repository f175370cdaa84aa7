"""Compute alpha a second time, from the raw annotations, with the `krippendorff` package."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import krippendorff
import numpy as np

from annotation.errors import Refusal
from annotation.models import Annotation, Study
from annotation.protocols.base import Measure
from validation.models import Resolution
from validation.queries import measure_of


class NoTable(Refusal):
    code, status = "no_table", 422
    sentence = (
        "The krippendorff package compares every value with every other, which ratings in numbers are too many for."
    )


def alpha_of_raw_rows(study: Study, stage: str, measure: str) -> float | None:
    """Krippendorff's alpha of the counted annotations as they lie in the table, or None where it is undefined.

    As the protocol says: the first `raters` annotations of an item, without items that have a left-out category.
    """
    asked = measure_of(study, stage, measure)
    if asked.is_numeric:
        raise NoTable
    table = []
    for given in _votes(study, stage, asked):
        count = Counter(given[: asked.raters])
        if not set(count) & set(asked.left_out):
            table.append([count[category] for category in asked.categories if category not in asked.left_out])
    pairable = [row for row in table if sum(row) > 1]
    if sum(any(column) for column in zip(*pairable, strict=True)) < 2:
        return None  # no pair, or one category only: 0/0
    level: Any = asked.level.value
    return float(krippendorff.alpha(value_counts=np.array(pairable), level_of_measurement=level))


def _votes(study: Study, stage: str, asked: Measure) -> Iterable[Sequence[str]]:
    """The votes on each item, in order of submission."""
    rule = study.protocol.labelling
    if asked.study_wide and rule:
        labelled = Resolution.objects.filter(study=study, gold__isnull=False).order_by("item_id")
        return [labels for gold in labelled.values_list("gold", flat=True) if (labels := rule.labels(gold or {}))]
    counted = Annotation.objects.filter(study=study, stage=stage, uncounted="").order_by("submitted_at", "pk")
    votes: dict[int, list[str]] = {}
    for item, answer in counted.values_list("item_id", "answer").iterator(chunk_size=10_000):
        votes.setdefault(item, []).append(str(asked.read(answer)))
    return votes.values()
