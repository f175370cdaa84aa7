"""Criteria of a rubric, as a study defines them in one line of text: names, allowed values, and what each means."""

import re
from dataclasses import dataclass
from math import isfinite

MOST_CRITERIA, MOST_VALUES, LONGEST = 10, 10, 30
LARGEST = 1000
HOW = "write criteria as NAME: VALUE=MEANING, VALUE=MEANING; NAME: ..."


@dataclass(frozen=True)
class Value:
    """An allowed value. text: as it is written, pressed and posted."""

    number: int | float
    meaning: str

    @property
    def text(self) -> str:
        return f"{self.number:g}"


@dataclass(frozen=True)
class Criterion:
    name: str
    values: tuple[Value, ...]

    @property
    def title(self) -> str:
        return self.name[0].upper() + self.name[1:]

    def find(self, given: object) -> int | float | None:
        """The allowed value equal to a number, or to the text of one; None where there is none."""
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            return None
        return next((v.number for v in self.values if given in (v.number, v.text)), None)


# CREPE's four with their gaps [App. C.4]; the wording of PROTOCOLS.md 1.7.
CREPE = (
    "fluency: 0=not fluent, 3=fluent; "
    "presupposition: 0=not in the question, 1=in the question but not false, 3=in the question and false; "
    "correction: 0=wrong or invented, 1=right but no justification or a plain negation, 2=right but misses details, "
    "3=right and sufficient; "
    "consistency: 0=another topic, 1=same topic but not (explicitly) negating, 3=same topic and negating"
)
PRESETS = {"crepe": CREPE}


def parse(text: str) -> tuple[Criterion, ...]:
    """A preset's name, or criteria in words: "fluency: 0=not fluent, 3=fluent; detail: 1, 2, 3". Raises ValueError."""
    written = PRESETS.get(text.strip().lower(), text)
    found = [_criterion(part) for part in re.split(r"[;\n]", written) if part.strip()]
    if not 1 <= len(found) <= MOST_CRITERIA:
        raise ValueError(f"name from 1 to {MOST_CRITERIA} criteria, or a preset ({', '.join(PRESETS)}); {HOW}.")
    names = [criterion.name.lower() for criterion in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the criterion {name!r} is there twice.")
    return tuple(found)


def _criterion(part: str) -> Criterion:
    name, colon, values = (" ".join(piece.split()) for piece in part.partition(":"))
    if not colon or not re.fullmatch(rf"\w[\w -]{{0,{LONGEST - 1}}}", name):
        raise ValueError(
            f"{HOW}; a name has at most {LONGEST} letters, digits, blanks and hyphens; it was {part.strip()!r}."
        )
    # A comma inside a meaning is no border: only one before the next value is.
    pieces = re.split(r",\s*(?=[+-]?[\d.]+\s*(?:[=,]|$))", values)
    found = tuple(_value(name, piece) for piece in pieces)
    numbers = [value.number for value in found]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{name}: every value can be there once; they were {', '.join(v.text for v in found)}.")
    if not 2 <= len(found) <= MOST_VALUES:
        raise ValueError(f"{name}: give from 2 to {MOST_VALUES} values, such as 0=poor, 1=fair, 3=good.")
    return Criterion(name, found)


def _value(name: str, piece: str) -> Value:
    text, _, meaning = (part.strip() for part in piece.partition("="))
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{name}: a value is a number, with its meaning after =; it was {piece.strip()!r}.") from None
    if not isfinite(number) or abs(number) > LARGEST or round(number, 2) != number:
        raise ValueError(f"{name}: a value is a number up to {LARGEST} with at most two decimals; it was {text!r}.")
    return Value(int(number) if number == int(number) else number, meaning)
