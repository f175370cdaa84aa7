"""Tests of qualifications: the answer key read, and answers scored by it. Pure.

An AnswerKey gives each selection of a question a score; the sum is the qualification's value, unless the key maps
ranges of it, or a share of the highest score, to another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from marketplace.errors import ParameterValidationError
from marketplace.questions import SCHEMAS, parse

SPACE = f"{{{SCHEMAS}2005-10-01/AnswerKey.xsd}}"


@dataclass(frozen=True)
class Option:
    """A set of selections that must be chosen together, and what that scores."""

    selections: frozenset[str]
    score: int


@dataclass(frozen=True)
class Key:
    """questions: by identifier. default: of a question whose answer is in no option. ranges: (least, most, value)."""

    questions: Mapping[str, Sequence[Option]]
    defaults: Mapping[str, int]
    highest: int | None
    ranges: Sequence[tuple[int, int, int]]
    outside: int

    def value(self, answers: Mapping[str, Sequence[str]]) -> int:
        """What somebody who chose these gets."""
        total = sum(self._score(name, frozenset(answers.get(name, ()))) for name in self.questions)
        if self.highest:
            return round(100 * total / self.highest)
        if self.ranges:
            return next((value for least, most, value in self.ranges if least <= total <= most), self.outside)
        return total

    def _score(self, name: str, chosen: frozenset[str]) -> int:
        matching = (option.score for option in self.questions[name] if option.selections == chosen)
        return next(matching, self.defaults[name])


def read_key(xml: str) -> Key:
    """Raises RequestError for what is no XML, and ParameterValidationError for what is no key."""
    root = parse(xml, "AnswerKey")
    if root.tag != f"{SPACE}AnswerKey":
        raise ParameterValidationError("The root of an AnswerKey must be AnswerKey in its namespace.")
    options: dict[str, list[Option]] = {}
    defaults: dict[str, int] = {}
    for question in root.findall(f"{SPACE}Question"):
        name = question.findtext(f"{SPACE}QuestionIdentifier", "").strip()
        if not name:
            raise ParameterValidationError("Every Question of an AnswerKey has a QuestionIdentifier.")
        options[name] = [
            Option(
                frozenset((e.text or "").strip() for e in option.findall(f"{SPACE}SelectionIdentifier")),
                _number(option, "AnswerScore"),
            )
            for option in question.findall(f"{SPACE}AnswerOption")
        ]
        defaults[name] = _number(question, "DefaultScore", 0)
    if not options:
        raise ParameterValidationError("An AnswerKey has at least one Question.")
    mapping = root.find(f"{SPACE}QualificationValueMapping")
    highest, ranges, outside = None, [], 0
    if mapping is not None:
        share, table = mapping.find(f"{SPACE}PercentageMapping"), mapping.find(f"{SPACE}RangeMapping")
        highest = _number(share, "MaximumSummedScore") if share is not None else None
        if table is not None:
            ranges = [
                (_number(r, "InclusiveLowerBound"), _number(r, "InclusiveUpperBound"), _number(r, "QualificationValue"))
                for r in table.findall(f"{SPACE}SummedScoreRange")
            ]
            outside = _number(table, "OutOfRangeQualificationValue", 0)
    return Key(options, defaults, highest, ranges, outside)


def _number(element: ElementTree.Element, name: str, default: int | None = None) -> int:
    text = element.findtext(f"{SPACE}{name}", "").strip()
    if not text and default is not None:
        return default
    try:
        return int(text)
    except ValueError:
        raise ParameterValidationError(f'The value "{text}" is not valid for the parameter {name}.') from None
