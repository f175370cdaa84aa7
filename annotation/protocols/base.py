"""The language protocols are written in: values and pure functions, standard library only.

A protocol says what an item carries, which stages it passes, what a worker is asked in each, and, in one pure
function, what an item needs next. The form, the page, the API schema, the tallies, the agreement report and the
export are read off that value.

Two shapes of an answer exist. *Fields* are what is on the screen: a flat mapping of input names to strings, kept as
the draft. The *answer* is what is stored for ever. `Stage.compose` makes the answer of complete fields and
`Stage.spread` goes back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from random import Random
from typing import Any

Payload = Mapping[str, Any]
Answer = Mapping[str, Any]
Fields = Mapping[str, str]
Options = Mapping[str, Any]

MAX_TEXT = 5_000  # characters in one written field


class Level(StrEnum):
    """Level of measurement of a vote; it chooses the distance function of Krippendorff's alpha."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True)
class Choice:
    """One button: the value it stores, its words, and the key printed on it."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class Question:
    """One step on the screen.

    kind: names the widget, `templates/annotation/questions/<kind>.html`.
    when: (name, value) of the earlier question that makes this one relevant; None means always.
    parts: for repeated groups of texts (kind "pairs"), (input name, label) of each text.
    """

    name: str
    text: str
    kind: str = "choice"
    choices: tuple[Choice, ...] = ()
    when: tuple[str, str] | None = None
    help: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    at_most: int = 1


@dataclass(frozen=True)
class Measure:
    """A vote read off an answer, over which agreement is computed.

    left_out: categories whose presence leaves the whole item out of the agreement.
    raters: only the first so many votes of an item are compared: a later vote is asked for only where the first
        ones differ, so counting it would bias agreement.
    """

    name: str
    categories: tuple[str, ...]
    read: Callable[[Answer], str]
    level: Level = Level.NOMINAL
    left_out: tuple[str, ...] = ()
    raters: int = 2


@dataclass(frozen=True)
class Problem:
    """Something to say about one field. A blocking one stops the answer, a warning only shows."""

    field: str
    text: str
    blocking: bool = True


@dataclass(frozen=True)
class Stage:
    """What one kind of worker is asked about an item.

    read: raw answer (any JSON) -> (clean answer, problems); the clean answer means something only without blocking
        problems. Pure: it is called while typing and again when the answer is taken.
    judges: name of the stage whose annotations are shown and judged here, or "".
    """

    name: str
    title: str
    role: str
    questions: tuple[Question, ...]
    measures: tuple[Measure, ...]
    read: Callable[[Payload, object], tuple[dict[str, Any], list[Problem]]]
    compose: Callable[[Fields], dict[str, Any]]
    spread: Callable[[Answer], dict[str, str]]
    judges: str = ""

    def relevant(self, fields: Fields) -> list[Question]:
        """The questions that apply, given what has been answered so far."""
        seen: set[str] = set()
        for question in self.questions:
            if question.when is None or (question.when[0] in seen and fields.get(question.when[0]) == question.when[1]):
                seen.add(question.name)
        return [q for q in self.questions if q.name in seen]

    def unanswered(self, fields: Fields) -> list[Problem]:
        """A blocking problem for every relevant choice without an answer."""
        return [
            Problem(q.name, "Choose one of these.")
            for q in self.relevant(fields)
            if q.kind == "choice" and fields.get(q.name) not in {c.value for c in q.choices}
        ]

    def measure(self, name: str) -> Measure:
        return next(m for m in self.measures if m.name == name)


@dataclass(frozen=True)
class Counted:
    """One annotation that counts. judges: ids of the annotations it judged, in order A, B."""

    id: int
    stage: str
    answer: Answer
    judges: tuple[int, ...] = ()


@dataclass(frozen=True)
class Collect:
    """The item needs `votes` counted annotations in `stage` before the next decision."""

    stage: str
    votes: int


@dataclass(frozen=True)
class Settle:
    """The item has its gold. label: the one word that charts and tables show. why: a sentence for the evidence card."""

    label: str
    gold: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class Drop:
    """The item leaves the collection without gold."""

    label: str
    why: str


@dataclass(frozen=True)
class Unresolved:
    """Nobody is left to ask. gold: what an export with unresolved items kept would print."""

    why: str
    gold: Mapping[str, Any]


Step = Collect | Settle | Drop | Unresolved


class BadRow(ValueError):
    """A row that cannot become an item; the message says why, for the person who wrote the file."""


class BadOption(ValueError):
    """A setting that is unknown or out of range; the message lists what would be right."""


@dataclass(frozen=True)
class Option:
    """One setting of a study, with its default and what it may be."""

    name: str
    default: int | str
    help: str
    choices: tuple[str, ...] = ()
    at_least: int = 1
    at_most: int = 1_000_000

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ").capitalize()

    def parse(self, text: object) -> int | str:
        """Turn what a person typed into a value. Raises BadOption."""
        if self.choices:
            if text not in self.choices:
                raise BadOption(f"{self.name} must be one of {', '.join(self.choices)}; it was {text!r}.")
            return str(text)
        try:
            number = int(str(text))
        except ValueError:
            raise BadOption(f"{self.name} must be a whole number; it was {text!r}.") from None
        if not self.at_least <= number <= self.at_most:
            raise BadOption(f"{self.name} must be from {self.at_least} to {self.at_most}; it was {number}.")
        return number


COMMON_OPTIONS = (
    Option("items_per_sitting", 10, "items a worker gets at once", at_most=200),
    Option(
        "lease_minutes", 60, "minutes without any activity after which a worker's open items go back", at_most=10_080
    ),
)


@dataclass(frozen=True)
class Item:
    """What an import makes of a row. ref: the row's own id. gold: a known answer of the first stage, or None."""

    ref: str
    payload: dict[str, Any]
    gold: dict[str, Any] | None = None


@dataclass(frozen=True)
class Protocol:
    """One paper's way of collecting. Adding one is: a module, a line in `ALL`, a test module.

    shown: payload keys a worker may see; everything else stays with the researchers.
    next_step: (payload, counted annotations in order of submission, options) -> Step; the whole workflow.
    export_row: (payload, gold) -> one line of gold, with exactly the paper's keys.
    imagine: (stage, payload, known gold or None, judged answers, accuracy, rng) -> an answer; the simulated crowd.
    """

    slug: str
    version: int
    title: str
    source: str
    shown: tuple[str, ...]
    stages: tuple[Stage, ...]
    read_row: Callable[[Mapping[str, Any]], Item]
    next_step: Callable[[Payload, Sequence[Counted], Options], Step]
    export_row: Callable[[Payload, Mapping[str, Any]], dict[str, Any]]
    imagine: Callable[[str, Payload, Answer | None, Sequence[Answer], float, Random], dict[str, Any]]
    options: tuple[Option, ...] = field(default=())

    def stage(self, name: str) -> Stage:
        """Raises KeyError for a name this protocol does not have."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    @property
    def known_options(self) -> dict[str, Option]:
        return {o.name: o for o in (*COMMON_OPTIONS, *self.options)}

    def read_options(self, given: Mapping[str, object]) -> dict[str, int | str]:
        """Defaults with `given` on top. Raises BadOption for unknown names or bad values."""
        known = self.known_options
        for name in given:
            if name not in known:
                raise BadOption(f"Unknown setting {name!r}. {self.title} knows: {', '.join(sorted(known))}.")
        return {name: o.parse(given[name]) if name in given else o.default for name, o in known.items()}

    def snapshot(self) -> dict[str, Any]:
        """What was asked, in JSON, so that an export can be read years later."""
        return {
            "slug": self.slug,
            "version": self.version,
            "title": self.title,
            "source": self.source,
            "stages": [
                {
                    "name": s.name,
                    "role": s.role,
                    "questions": [asdict(q) for q in s.questions],
                    "measures": [
                        {"name": m.name, "level": m.level, "categories": list(m.categories)} for m in s.measures
                    ],
                }
                for s in self.stages
            ],
        }


def text_problem(value: object) -> str:
    """Why a value cannot be stored as text, or ''. NUL and lone surrogates are refused: no database takes them."""
    if not isinstance(value, str):
        return "This must be text."
    if "\x00" in value:
        return "This text holds a NUL character, which cannot be stored. Please remove it."
    try:
        value.encode()
    except UnicodeEncodeError:
        return "This text is broken (a character that is not valid Unicode). Please type it again."
    if len(value) > MAX_TEXT:
        return f"This text is too long: {len(value):,} characters, at most {MAX_TEXT:,} are taken."
    return ""
