"""Rules that find low-quality work: each compares one share to the threshold a study set. Pure.

Only facts about answers enter: known answers and what others decided. How somebody worked (pasting, speed) never does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Numbers(Protocol):
    """What rules look at; `validation.models.Score` has it."""

    annotations: int
    decided: int
    invalid: int
    judged: int
    judged_invalid: int
    gold: int
    gold_right: int
    fillers: int
    fillers_right: int


@dataclass(frozen=True)
class Rule:
    """Met when `count` of `total` is more (or, with `below`, less) than the threshold; strictly, as the papers say."""

    name: str
    count: str
    total: str
    words: str
    below: bool = False

    def why(self, numbers: Numbers, threshold: float, after: int) -> str:
        """The sentence that says so, or "" where the rule is not met.

        A threshold of 0 switches the rule off; nobody is judged before `after` answers, or on a total of 0.
        """
        count, total = getattr(numbers, self.count), getattr(numbers, self.total)
        if not threshold or numbers.annotations < after or not total:
            return ""
        # Compared as numbers of answers, so that 3 of 30 is not more than 10% by a rounding of floats.
        beyond = count < threshold * total - 1e-9 if self.below else count > threshold * total + 1e-9
        if not beyond:
            return ""
        bound = f"{'at least' if self.below else 'at most'} {threshold:.0%}"
        return f"{count} of {total} {self.words} ({count / total:.1%}); the study allows {bound}."


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        # CREPE, App. B, over all decided answers (PROTOCOLS.md 1.5).
        Rule("revoke_invalid_share", "invalid", "decided", "answers were found invalid"),
        Rule("revoke_invalid_share_of_judged", "judged_invalid", "judged", "judged answers were found invalid"),
        Rule("revoke_gold_accuracy", "gold_right", "gold", "hidden questions were answered right", below=True),
        # NOPE, App. D (PROTOCOLS.md 2.6).
        Rule("revoke_filler_accuracy", "fillers_right", "fillers", "fillers were answered right", below=True),
    )
}


def thresholds_of(options: Mapping[str, object]) -> dict[str, float]:
    """The rules that a study's settings switch on."""
    return {name: float(str(options[name])) for name in RULES if float(str(options.get(name, 0)))}


def stricter(thresholds: Mapping[str, float]) -> dict[str, float]:
    """Half of what may be wrong: half the invalid share, half the distance of an accuracy to 1."""
    return {n: (1 + value) / 2 if RULES[n].below else value / 2 for n, value in thresholds.items()}


def first_met(numbers: Numbers, thresholds: Mapping[str, float], after: int) -> tuple[str, str]:
    """(name of the first rule that is met, why), or ("", "")."""
    for name, threshold in thresholds.items():
        if why := RULES[name].why(numbers, threshold, after):
            return name, why
    return "", ""
