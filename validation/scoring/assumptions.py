"""Syn-(QA)2's detection: does a question contain a false assumption, Yes or No? (PROTOCOLS.md 4.4)"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from validation.scoring.bootstrap import Estimate, Floats, estimate, kinds_of

SIDES = ("without", "with")  # a false assumption


@dataclass(frozen=True)
class Answered:
    """One question with a model's answer. unit: what is resampled as one: both questions of a pair, else the question.

    kind: single_hop, multi_hop, or "" where it is not known. side: one of SIDES.
    """

    unit: str
    kind: str
    side: str
    answer: str

    @property
    def is_right(self) -> bool:
        return parse(self.answer) == {"with": "yes", "without": "no"}[self.side]

    @property
    def groups(self) -> list[str]:
        return [name for name in (self.kind, self.side) if name]


def parse(answer: str) -> str:
    """ "yes", "no" or "other": how it starts, whatever its case, after blanks; as the paper's script reads it."""
    start = answer.lstrip().lower()
    return "yes" if start.startswith("yes") else "no" if start.startswith("no") else "other"


def score(answered: Sequence[Answered], *, resamples: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Accuracy as a fraction, over all questions and by kind and side; "other" answers are wrong.

    At least one question. other: their share.
    """
    groups = sorted({name for each in answered for name in each.groups})
    column = {name: place for place, name in enumerate(groups, 1)}  # 0 is all questions
    units = {name: place for place, name in enumerate(dict.fromkeys(each.unit for each in answered))}
    rows = np.zeros((len(units), 2, len(groups) + 1))  # of each unit: right answers and questions in each group
    for each in answered:
        columns = [0, *(column[name] for name in each.groups)]
        rows[units[each.unit], :, columns] += (each.is_right, 1)
    kinds, counts = kinds_of(rows.reshape(len(units), -1))
    right, asked = kinds.reshape(len(kinds), 2, -1).astype(float).transpose(1, 0, 2)

    def found(place: int) -> Estimate:
        def weigh(drawn: Floats) -> Floats:
            questions = drawn @ asked[:, place]
            nan = np.full_like(questions, np.nan)
            return np.divide(drawn @ right[:, place], questions, out=nan, where=questions > 0)

        return estimate(counts, weigh, resamples=resamples, seed=seed)

    inside = {name: [each for each in answered if name in each.groups] for name in groups}
    return {
        "accuracy": found(0).as_dict(),
        "by_kind": {
            name: {**found(column[name]).as_dict(), "other": other_share(inside[name]), "n": len(inside[name])}
            for name in groups
        },
        "other": other_share(answered),
        "n": len(answered),
    }


def other_share(answered: Sequence[Answered]) -> float:
    """Share of answers that are neither yes nor no."""
    return round(sum(parse(each.answer) == "other" for each in answered) / len(answered), 6)
