"""Compute alpha a second time, from the raw annotations, with the `krippendorff` package."""

from collections import Counter
from typing import Any

import krippendorff
import numpy as np

from annotation.models import Annotation, Study
from validation.queries import measure_of


def alpha_of_raw_rows(study: Study, stage: str, measure: str) -> float | None:
    """Krippendorff's alpha of the counted annotations as they lie in the table, or None where it is undefined.

    As the protocol says: the first `raters` annotations of an item, without items that have a left-out category.
    """
    asked = measure_of(study, stage, measure)
    counted = Annotation.objects.filter(study=study, stage=stage, uncounted="").order_by("submitted_at", "pk")
    votes: dict[int, list[str]] = {}
    for item, answer in counted.values_list("item_id", "answer").iterator(chunk_size=10_000):
        votes.setdefault(item, []).append(asked.read(answer))
    table = []
    for given in votes.values():
        count = Counter(given[: asked.raters])
        if not set(count) & set(asked.left_out):
            table.append([count[category] for category in asked.categories if category not in asked.left_out])
    pairable = [row for row in table if sum(row) > 1]
    if sum(any(column) for column in zip(*pairable, strict=True)) < 2:
        return None  # no pair, or one category only: 0/0
    level: Any = asked.level.value
    return float(krippendorff.alpha(value_counts=np.array(pairable), level_of_measurement=level))
