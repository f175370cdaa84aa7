"""The language protocols are written in: values and pure functions, standard library only.

A protocol says what an item carries, which stages it passes, what a worker is asked in each, and, in one pure
function, what an item needs next. The form, the page, the API schema, the tallies, the agreement report and the
export are read off that value.

Two shapes of an answer exist. *Fields* are what is on the screen: a flat mapping of input names to strings, kept as
the draft. The *answer* is what is stored for ever. `Stage.compose` makes the answer of complete fields and
`Stage.spread` goes back.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from random import Random
from typing import Any

from annotation.protocols.options import COMMON_OPTIONS, BadOption, Option
from annotation.protocols.release import Release
from annotation.protocols.slider import Scale

Payload = Mapping[str, Any]
Answer = Mapping[str, Any]
Fields = Mapping[str, str]
Options = Mapping[str, Any]

MAX_TEXT = 5_000  # characters in one written field
ANY = "*"  # in `Question.when`: whatever was chosen there


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
    when: (name, value) of the earlier question that makes this one relevant, ANY for any value; None means always.
    parts: for groups of texts, (input name, label) of each text.
    at_most: of `parts`, how many such groups, each with its number; 0 is one group without a number.
    scale: of a slider.
    columns: of a row in a grid (kind "grid"), the choices asked in it; their inputs are named ROW.COLUMN. about: what
        the row is about, (label, text) of each text.
    prefill: what the field holds before anything was written in it.
    against: the text that what is written here is shown beside, the changed words marked.
    """

    name: str
    text: str
    kind: str = "choice"
    choices: tuple[Choice, ...] = ()
    when: tuple[str, str] | None = None
    help: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    at_most: int = 0
    scale: Scale | None = None
    columns: "tuple[Question, ...]" = ()
    about: tuple[tuple[str, str], ...] = ()
    prefill: str = ""
    against: str = ""

    @property
    def groups(self) -> list[list[tuple[str, str, str]]]:
        """Of a question with parts, group by group: (input name, part, label)."""
        if not self.parts:
            return []
        names = [f"{self.name}.{i}" for i in range(self.at_most)] or [self.name]
        return [[(f"{name}.{part}", part, label) for part, label in self.parts] for name in names]

    def unchosen(self, fields: Fields) -> "list[Problem]":
        """A blocking problem for every choice here that has no answer."""
        if self.columns:
            return [
                Problem(f"{self.name}.{c.name}", f"{self.text}: choose a value for {c.text}.")
                for c in self.columns
                if not c.has(fields.get(f"{self.name}.{c.name}"))
            ]
        missing = self.kind == "choice" and not self.has(fields.get(self.name))
        return [Problem(self.name, "Choose one of these.")] if missing else []

    def has(self, value: str | None) -> bool:
        """Whether it offers this value."""
        return value in {c.value for c in self.choices}


@dataclass(frozen=True)
class Measure:
    """A vote read off an answer, over which agreement is computed.

    categories: none for a measure in numbers, whose level is then the interval one. An answer may then hold several
        numbers, each compared with the one in the same place of the item's other answers.
    study_wide: the vote is not in the answer; it is known once the whole study is labelled (see `Labelling`).

    left_out: categories whose presence leaves the whole item out of the agreement.
    raters: only the first so many votes of an item are compared: a later vote is asked for only where the first
        ones differ, so counting it would bias agreement. None compares all.
    key: the answer's member that `read` returns as it is, where there is one: then a database can count votes.
    """

    name: str
    categories: tuple[str, ...]
    read: Callable[[Answer], str | float | Sequence[float]]
    level: Level = Level.NOMINAL
    left_out: tuple[str, ...] = ()
    raters: int | None = 2
    key: str = ""
    study_wide: bool = False

    @property
    def is_numeric(self) -> bool:
        return not self.categories


@dataclass(frozen=True)
class Problem:
    """Something to say about one field. A blocking one stops the answer, a warning only shows."""

    field: str
    text: str
    blocking: bool = True


@dataclass(frozen=True)
class Sentence:
    """A text that a study wants once. field: where it stands in the answer. label, about: what it is filed under."""

    field: str
    text: str
    label: str = ""
    about: str = ""


@dataclass(frozen=True)
class Stage:
    """What one kind of worker is asked about an item.

    read: raw answer (any JSON) -> (clean answer, problems); the clean answer means something only without blocking
        problems. Pure: it is called while typing and again when the answer is taken.
    judges: names of the stages whose annotations are looked at and judged here.
    """

    name: str
    title: str
    role: str
    questions: tuple[Question, ...]
    measures: tuple[Measure, ...]
    read: Callable[[Payload, object], tuple[dict[str, Any], list[Problem]]]
    compose: Callable[[Fields], dict[str, Any]]
    spread: Callable[[Answer], dict[str, str]]
    judges: tuple[str, ...] = ()
    # What `fit` lets people see of the judged answers, beside the payload; None shows them whole, as cards A and B.
    shows: Mapping[str, Any] | None = None
    # (known answer, given answer, options) -> whether it is right, None where that is not asked; for gold, fillers,
    # practice and tests.
    matches: Callable[[Answer, Answer, Options], bool | None] = lambda known, given, options: known == given
    # (payload, known answer, wrong answer) -> what helps without giving the answer away; "" where there is nothing.
    hint: Callable[[Payload, Answer, Answer], str] = lambda payload, known, given: str(
        payload.get("meta", {}).get("hint", "")
    )
    # An answer as other systems wrote it -> as `read` takes it; raises BadRow.
    adopt: Callable[[object], object] = lambda answer: answer
    # (payload, what draws an order) -> the item as one person gets to see it: shuffled, and what is not theirs to know
    # left out of what `shown` names. `fit` is given that.
    arrange: Callable[[Payload, Random], Payload] | None = None
    # (payload, judged answers) -> this stage as it asks about that item, where questions or inputs depend on it. Of
    # answers in a file the judged ones are not known: none are given, and what depends on them is not checked.
    fit: "Callable[[Payload, Sequence[Answer]], Stage] | None" = None
    # The item's text that a writing must not copy, by its payload key.
    copied_from: str = ""
    # The texts a person composed in an answer; what is compared to find copies.
    writings: Callable[[Answer], list[str]] | None = None
    # The texts that nobody else in the study may have written before, also of an answer that is not complete.
    sentences: Callable[[Answer], list[Sentence]] | None = None
    # Whether somebody who works here belongs to the part of the study (see `Protocol.part`) where they begin.
    binds: bool = False
    # Whether the questions stand below what they are about, over the whole width.
    stacked: bool = False
    # What becomes of the answers, said at the end of a sitting; "" for what is so in most studies.
    afterwards: str = ""

    @property
    def compares(self) -> bool:
        """Whether annotations are shown side by side, for one to be chosen."""
        return bool(self.judges) and self.shows is None

    def arranged(self, payload: Payload, assignment: int) -> Payload:
        """The item as that assignment (by its id) sees it, the same at every look."""
        return self.arrange(payload, Random(assignment)) if self.arrange else payload

    def fitted(self, payload: Payload, judged: Sequence[Answer] = ()) -> "Stage":
        """The stage as it asks about this item."""
        return self.fit(payload, judged) if self.fit else self

    @property
    def is_wide(self) -> bool:
        """Whether its questions need the whole width, under the item instead of beside it."""
        return any(q.scale or q.columns for q in self.questions)

    def texts(self, answer: Answer) -> list[str]:
        """What a person composed in this answer."""
        return self.writings(answer) if self.writings else []

    def relevant(self, fields: Fields) -> list[Question]:
        """The questions that apply, given what has been answered so far."""
        seen: set[str] = set()
        for question in self.questions:
            earlier, value = question.when or ("", "")
            given = fields.get(earlier, "")
            if not earlier or (earlier in seen and (given == value or (value == ANY and given))):
                seen.add(question.name)
        return [q for q in self.questions if q.name in seen]

    def unanswered(self, fields: Fields) -> list[Problem]:
        """A blocking problem for every relevant choice without an answer."""
        return [problem for q in self.relevant(fields) for problem in q.unchosen(fields)]

    def summary(self, answer: Answer) -> str:
        """What an answer comes to, in a word or a number for each measure."""
        return ", ".join(_said(m, m.read(answer)) for m in self.measures if not m.study_wide)

    def measure(self, name: str) -> Measure:
        return next(m for m in self.measures if m.name == name)


def _said(measure: Measure, vote: str | float | Sequence[float]) -> str:
    if isinstance(vote, str | float | int):
        return str(vote)
    return f"{measure.name} {' '.join(f'{number:g}' for number in vote)}"


@dataclass(frozen=True)
class Counted:
    """One annotation that counts. judges: ids of the annotations it judged, in order A, B. worker: who gave it."""

    id: int
    stage: str
    answer: Answer
    judges: tuple[int, ...] = ()
    worker: int = 0


@dataclass(frozen=True)
class Collect:
    """The item needs `votes` counted annotations in `stage` before the next decision."""

    stage: str
    votes: int


@dataclass(frozen=True)
class Settle:
    """The item has its gold. label: the one word that charts and tables show; "" where the protocol labels the whole
    study at once (see `Labelling`). why: a sentence for the evidence card.

    upheld: annotation id -> whether the outcome agrees with it; one that is not named counts in no share.
    judged: whether others decided it, because the answers differed.
    """

    label: str
    gold: Mapping[str, Any]
    why: str
    upheld: Mapping[int, bool] = field(default_factory=dict)
    judged: bool = False


@dataclass(frozen=True)
class Drop:
    """The item leaves the collection without gold. upheld, judged: as in Settle."""

    label: str
    why: str
    upheld: Mapping[int, bool] = field(default_factory=dict)
    judged: bool = False


@dataclass(frozen=True)
class Unresolved:
    """Nobody is left to ask. gold: what an export with unresolved items kept would print. label: as charts call it."""

    why: str
    gold: Mapping[str, Any]
    label: str = ""


Step = Collect | Settle | Drop | Unresolved


class BadRow(ValueError):
    """A row that cannot become an item; the message says why, for the person who wrote the file."""


@dataclass(frozen=True)
class Item:
    """What an import makes of a row. ref: the row's own id. gold: a known answer of the first stage, or None."""

    ref: str
    payload: dict[str, Any]
    gold: dict[str, Any] | None = None


@dataclass(frozen=True)
class Adjudication:
    """What one person may decide in the end, where people differ.

    choices: what may be decided; a decision is stored as the text of its value.
    contested: labels of what came to no agreement, and waits for a decision.
    decide: (what the answers came to, the value) -> what the item comes to with it.
    """

    choices: tuple[Choice, ...]
    contested: tuple[str, ...]
    decide: Callable[["Settle | Drop | Unresolved", str], Settle]


Cuts = tuple[float, float]  # a worker's thresholds: contradiction, entailment


@dataclass(frozen=True)
class Labelling:
    """Labels that need the whole study: everybody's ratings are cut at thresholds of their own, which their fillers
    give. `next_step` then settles an item's ratings, and `label` says what they come to.

    stage, measure: whose ratings, and the measure of the labels. rating: answer -> 0 to 100. expected: known answer of
    a filler -> "entailment", "neutral" or "contradiction".
    label: (gold as `next_step` made it, or as labelled before; every worker's thresholds) -> Settle or Unresolved.
    labels: labelled gold -> the label of each rating.
    """

    stage: str
    measure: str
    rating: Callable[[Answer], float]
    expected: Callable[[Answer], str]
    label: Callable[[Mapping[str, Any], Mapping[int, Cuts]], Settle | Unresolved]
    labels: Callable[[Mapping[str, Any]], Sequence[str]]


@dataclass(frozen=True)
class Protocol:
    """One paper's way of collecting. Adding one is: a module, a line in `ALL`, a test module.

    shown: payload keys a worker may see; everything else stays with the researchers.
    next_step: (payload, counted annotations in order of submission, options) -> Step; the whole workflow.
    export_rows: (payload, gold) -> the item's lines of gold, with exactly the paper's keys.
    imagine: (stage, payload, known gold or None, judged answers, accuracy, rng) -> an answer; the simulated crowd.
    fit: options -> this protocol as a study with them asks it, where what is asked is the study's to define.
    heading: payload -> the words by which people tell items apart; by default the first text shown.
    part: payload -> the part of the study that the item belongs to, such as a split. People are bound to the part they
        begin in (see `Stage.binds`), no sitting mixes parts, and shares of a study are shares of a part's items.
    half: payload -> 0 or 1 for items of a balanced design, of which half the people get one half first; None for any.
    """

    slug: str
    version: int
    title: str
    source: str
    shown: tuple[str, ...]
    stages: tuple[Stage, ...]
    read_row: Callable[[Mapping[str, Any], str], Item]  # (row, role of the item)
    next_step: Callable[[Payload, Sequence[Counted], Options], Step]
    export_rows: Callable[[Payload, Mapping[str, Any]], list[dict[str, Any]]]
    imagine: Callable[[str, Payload, Answer | None, Sequence[Answer], float, Random], dict[str, Any]]
    options: tuple[Option, ...] = field(default=())
    # What the paper sets where the common options have another default.
    defaults: Mapping[str, int | float | str] = field(default_factory=dict)
    fit: "Callable[[Options], Protocol] | None" = None
    labelling: Labelling | None = None
    adjudication: Adjudication | None = None
    # What gold is called in charts, in their order, where that is not what the first stage's people choose.
    labels: tuple[str, ...] = ()
    heading: Callable[[Payload], str] | None = None
    part: Callable[[Payload], str] | None = None
    release: Release | None = None
    half: Callable[[Payload], int | None] | None = None
    # Whether everybody gets the items of a sitting, or of a test, in an order of their own.
    shuffled: bool = False
    # In a file, whether a worker's second answer to an item is left out instead of refused.
    keeps_first: bool = False
    # What may be asked at the end of a sitting, all of it optional.
    exit_form: tuple[Question, ...] = ()

    def fitted(self, options: Options) -> "Protocol":
        """The protocol as a study with these options asks it."""
        return self.fit(options) if self.fit else self

    def step(self, payload: Payload, answers: Sequence[Counted], options: Options, ruling: str = "") -> Step:
        """What the item needs next. ruling: what a person decided about it, or ""."""
        step = self.next_step(payload, answers, options)
        if not ruling or self.adjudication is None or isinstance(step, Collect):
            return step
        return self.adjudication.decide(step, ruling)

    @property
    def collects_sentences(self) -> bool:
        return any(stage.sentences for stage in self.stages)

    def stage(self, name: str) -> Stage:
        """Raises KeyError for a name this protocol does not have."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    @property
    def known_options(self) -> dict[str, Option]:
        return {o.name: o for o in (*COMMON_OPTIONS, *self.options)}

    def read_options(self, given: Mapping[str, object]) -> dict[str, int | float | str]:
        """Defaults with `given` on top. Raises BadOption for unknown names or bad values."""
        known = self.known_options
        for name in given:
            if name not in known:
                raise BadOption(f"Unknown setting {name!r}. {self.title} knows: {', '.join(sorted(known))}.")
        defaults = {name: o.default for name, o in known.items()} | dict(self.defaults)
        return defaults | {name: known[name].parse(value) for name, value in given.items()}

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


def read_ref(value: object) -> str:
    """The name an item has in the researcher's own files; a whole number becomes its digits. Raises `BadRow`."""
    ref = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(ref, str) or not ref.strip() or len(ref) > 200 or text_problem(ref):
        raise BadRow("'id' must be a text of 1 to 200 characters")
    return ref


def read_meta(row: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """What a row says beyond the names its protocol knows, kept as it is. Raises `BadRow`."""
    meta = row.get("meta") or {}
    if not isinstance(meta, Mapping):
        raise BadRow("'meta' must be an object")
    return {**meta, **{name: value for name, value in row.items() if name not in known and name != "meta"}}
