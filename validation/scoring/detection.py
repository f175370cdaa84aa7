"""CREPE's detection: macro-F1 over its two labels (PROTOCOLS.md 1.7).

Of the published script three defects are not repeated: it gives a predictor without false negatives an F1 of 0 for the
normal class, so that a perfect one gets 0.50; it divides by zero where nothing is rightly called normal; and it does
not parse the lines it reads. Published scores may come from it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from validation.scoring.bootstrap import Estimate, Floats, estimate

LABELS = ("false presupposition", "normal")


def confusion(gold: Sequence[str], predicted: Sequence[str]) -> Floats:
    """How many items have which label, shape (2, 2): gold in rows, predicted in columns. Two files' counts add up."""
    counts = np.zeros((2, 2))
    np.add.at(counts, ([LABELS.index(g) for g in gold], [LABELS.index(p) for p in predicted]), 1)
    return counts


def f1(confusions: Floats) -> Floats:
    """Of each label, shape (..., 2), from confusions (..., 2, 2): 2 TP / (2 TP + FP + FN), and 0 where TP is 0."""
    right = np.diagonal(confusions, axis1=-2, axis2=-1)
    said_or_true = confusions.sum(axis=-1) + confusions.sum(axis=-2)
    return np.divide(2 * right, said_or_true, out=np.zeros_like(right), where=right > 0)


def score(gold: Sequence[str], predicted: Sequence[str], *, resamples: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Macro-F1 as a fraction, each label's own, and the number of items, which is not 0."""
    counts = confusion(gold, predicted)

    def found(label: int | None) -> Estimate:
        def weigh(drawn: Floats) -> Floats:
            scores = f1(drawn.reshape(-1, 2, 2))
            return scores.mean(axis=1) if label is None else scores[:, label]

        return estimate(counts.ravel(), weigh, resamples=resamples, seed=seed)

    return {
        "macro_f1": found(None).as_dict(),
        "per_class": {name: {**_of_class(counts, place), **_f1(found(place))} for place, name in enumerate(LABELS)},
        "n": int(counts.sum()),
    }


def _f1(found: Estimate) -> Mapping[str, float | None]:
    named = found.as_dict()
    return {"f1": named["value"], "low": named["low"], "high": named["high"]}


def _of_class(counts: Floats, label: int) -> dict[str, float | int | None]:
    """Precision and recall, None where they are 0/0, and how many items have the label."""
    right, said, true = counts[label, label], counts[:, label].sum(), counts[label].sum()
    return {
        "precision": round(float(right / said), 6) if said else None,
        "recall": round(float(right / true), 6) if true else None,
        "n": int(true),
    }
