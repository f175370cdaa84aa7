"""What one assignment looks like on a worker's screen: plain values for the templates to walk over."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from annotation.differences import Run, differ, runs
from annotation.forms import AnswerForm
from annotation.models import Annotation, Assignment
from annotation.protocols.base import Fields, Problem, Question, Stage
from annotation.protocols.slider import STEPS, Scale

LETTERS = ("A", "B")
Writing = Mapping[str, Sequence[Run]]


@dataclass(frozen=True)
class Button:
    """One choice: `value` is stored, `key` is printed and pressed."""

    value: str
    label: str
    key: str
    chosen: bool


@dataclass(frozen=True)
class Text:
    """One field to write in."""

    name: str
    label: str
    value: str
    problems: Sequence[Problem]


@dataclass(frozen=True)
class Cell:
    """One choice of a row in a grid; `name` is its input's."""

    name: str
    column: Question
    buttons: Sequence[Button]
    problems: Sequence[Problem]


@dataclass(frozen=True)
class Step:
    """One question with its present answer and what there is to say about it.

    cells: of a row in a grid.
    value: as the field holds it. before, now: of a text that is written against another, that text and the present
    one, each marked where it differs. position, typed: of a slider, where it stands ("" for nowhere), and the rating
    there.
    """

    number: int
    question: Question
    template: str
    buttons: Sequence[Button] = ()
    groups: Sequence[Sequence[Text]] = ()
    problems: Sequence[Problem] = ()
    value: str = ""
    before: Sequence[Run] = ()
    now: Sequence[Run] = ()
    position: str = ""
    typed: str = ""
    cells: Sequence[Cell] = ()


@dataclass(frozen=True)
class Card:
    """An annotation to judge, blind: `letter` is its place on the screen, `value` what is stored for choosing it.

    writings: per group of texts, the question's part -> the text, marked where that of the card `beside` differs.
    beside: the other card's letter, or "" when nothing is marked.
    """

    letter: str
    value: str
    answer: Mapping[str, Any]
    writings: Sequence[Writing] = ()
    beside: str = ""


@dataclass
class Dot:
    """One of the sitting's items in the row of dots."""

    number: int
    state: str
    current: bool = field(default=False)


def steps(stage: Stage, fields: Fields, problems: Sequence[Problem], cards: Sequence[Card] = ()) -> list[Step]:
    """The stage's questions as they stand."""
    return [_step(n, question, fields, problems, cards) for n, question in enumerate(stage.questions, 1)]


def _step(number: int, question: Question, fields: Fields, problems: Sequence[Problem], cards: Sequence[Card]) -> Step:
    chosen, shown = fields.get(question.name), {card.value: card.letter for card in cards}
    buttons = [
        Button(
            c.value,
            f"{shown[c.value]} is valid" if c.value in shown else c.label,
            shown.get(c.value, c.key).lower(),
            c.value == chosen,
        )
        for c in question.choices
    ]
    groups = [[_text(name, label, fields, problems) for name, _, label in group] for group in question.groups]
    return Step(
        number,
        question,
        f"annotation/questions/{question.kind}.html",
        sorted(buttons, key=lambda b: b.key) if cards else buttons,
        groups,
        [p for p in problems if p.field == question.name],
        fields.get(question.name, question.prefill),
        *_differences(question, fields),
        *(_stands(question.scale, question.name, fields) if question.scale else ("", "")),
        cells=[_cell(f"{question.name}.{column.name}", column, fields, problems) for column in question.columns],
    )


def _cell(name: str, column: Question, fields: Fields, problems: Sequence[Problem]) -> Cell:
    buttons = [Button(c.value, c.label, c.key, c.value == fields.get(name)) for c in column.choices]
    return Cell(name, column, buttons, [p for p in problems if p.field == name])


def _differences(question: Question, fields: Fields) -> tuple[Sequence[Run], Sequence[Run]]:
    """The text before and the present one, each with what the other has not marked."""
    now = fields.get(question.name, question.prefill)
    return (runs(question.against, now), runs(now, question.against)) if question.against else ((), ())


def differences(stage: Stage, fields: Fields) -> dict[str, list[list[list[object]]]]:
    """For a page that shows them while typing: field -> before and now, as pieces of text, each with its mark."""
    return {
        q.name: [[[run.text, run.is_marked] for run in each] for each in _differences(q, fields)]
        for q in stage.questions
        if q.against
    }


def _stands(scale: Scale, name: str, fields: Fields) -> tuple[str, str]:
    """The slider's position, and the rating for whoever has no slider: as typed, while it is no position."""
    position = scale.read(fields.get(name, ""), fields.get(f"{name}.typed", ""))
    if isinstance(position, int) and 0 <= position <= STEPS:
        return str(position), f"{scale.rating(position):.2f}"
    return "", "" if position is None else str(position)


def _text(name: str, label: str, fields: Fields, problems: Sequence[Problem]) -> Text:
    return Text(name, label, fields.get(name, ""), [p for p in problems if p.field == name])


def cards(assignment: Assignment, judged: Stage) -> list[Card]:
    """The annotations of the stage `judged` in an order of this assignment's own, the same at every look."""
    answers = dict(Annotation.objects.filter(pk__in=assignment.judges).values_list("pk", "answer"))
    pairs = [(value, answers[pk]) for value, pk in zip(LETTERS, assignment.judges, strict=False)]
    Random(assignment.pk).shuffle(pairs)
    judged = judged.fitted(assignment.item.payload)
    fields = [judged.spread(answer) for _, answer in pairs]
    shown = []
    for letter, other, (value, answer), mine, theirs in zip(
        LETTERS, reversed(LETTERS), pairs, fields, reversed(fields), strict=False
    ):
        writings = _writings(judged, mine, theirs)
        is_marked = any(differ(list(writing.values())) for writing in writings)
        shown.append(Card(letter, value, answer, writings, other if is_marked else ""))
    return shown


def _writings(stage: Stage, mine: Fields, theirs: Fields) -> list[Writing]:
    """What was written, group by group, each text against the one in the same place of the other annotation."""
    groups = [group for question in stage.questions for group in question.groups]
    found = [{part: runs(mine.get(name, ""), theirs.get(name, "")) for name, part, _ in group} for group in groups]
    return [writing for writing in found if any(writing.values())]


def known(stage: Stage, gold: Mapping[str, Any]) -> Mapping[str, Any]:
    """A known answer as a card shows it: the answer, and what it writes."""
    return {"answer": gold, "writings": _writings(stage, stage.spread(gold), {})}


def dots(
    asked: Mapping[int, Stage], assignments: Sequence[Assignment], current: int, unlearnt: Container[int] = ()
) -> list[Dot]:
    """done, attention (begun, but something is missing) or untouched. unlearnt: ids of practice not yet right.

    asked: the stage as each assignment's item asks it, by the assignment's id.
    """
    return [Dot(n, state_of(asked[a.pk], a, a.pk not in unlearnt), n == current) for n, a in enumerate(assignments, 1)]


def state_of(stage: Stage, assignment: Assignment, is_right: bool = True) -> str:
    if not assignment.draft:
        return "untouched"
    if not is_right:
        return "attention"
    form = AnswerForm.of_fields(stage, assignment.item.payload, assignment.draft)
    return "done" if form.is_valid() else "attention"


def while_writing(problems: Sequence[Problem], fields: Fields) -> list[Problem]:
    """Only what concerns something already written: nobody is told off for what they have not come to yet."""
    return [p for p in problems if fields.get(p.field, "").strip()]
