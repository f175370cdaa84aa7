"""The one gate for answers, from the page, the API and files alike; the rules themselves are the protocol's."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from annotation.protocols.base import Fields, Payload, Problem, Stage, text_problem


class AnswerForm:
    """Checks one answer. `errors` and `warnings`: field -> sentences; `answer` is what may be stored when valid."""

    def __init__(self, stage: Stage, payload: Payload, raw: object) -> None:
        self.answer, self.problems = stage.read(payload, raw)

    @classmethod
    def of_fields(cls, stage: Stage, payload: Payload, fields: Fields) -> Self:
        """From the inputs of the page. Steps without a choice are named before the answer is looked at as a whole."""
        form = cls(stage, payload, stage.compose(fields))
        if unanswered := stage.unanswered(fields):
            form.problems = unanswered
        return form

    @classmethod
    def of(cls, stage: Stage, payload: Payload, raw: object, draft: Fields | None) -> Self:
        """From an answer when there is one, else from the draft."""
        return cls.of_fields(stage, payload, draft or {}) if raw is None else cls(stage, payload, raw)

    def is_valid(self) -> bool:
        return not any(p.blocking for p in self.problems)

    @property
    def errors(self) -> dict[str, list[str]]:
        return by_field(p for p in self.problems if p.blocking)

    @property
    def warnings(self) -> dict[str, list[str]]:
        return by_field(p for p in self.problems if not p.blocking)


def by_field(problems: Iterable[Problem]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for problem in problems:
        found.setdefault(problem.field, []).append(problem.text)
    return found


def read_fields(stage: Stage, posted: Mapping[str, Any]) -> dict[str, str]:
    """The stage's own inputs out of a posted form, as text; what is not an input of this stage is left out.

    Text that no database can hold is dropped to "" here only for drafts' sake; the check names it to the worker.
    """
    return {name: str(posted[name]) for name in input_names(stage) if name in posted}


def input_names(stage: Stage) -> list[str]:
    names = [q.name for q in stage.questions if not q.parts and not q.columns]
    names += [f"{q.name}.{column.name}" for q in stage.questions for column in q.columns]
    names += [f"{q.name}.typed" for q in stage.questions if q.scale]
    return names + [name for q in stage.questions for group in q.groups for name, _, _ in group]


def storable(fields: Fields) -> list[Problem]:
    """Problems of fields that cannot be kept even as a draft."""
    return [Problem(name, said) for name, text in fields.items() if (said := text_problem(text))]


def read_draft(stage: Stage, answer: object) -> tuple[dict[str, str], list[Problem]]:
    """The fields that keep an unfinished answer, and what could not be kept: a draft comes back as it was sent."""
    if not isinstance(answer, Mapping):
        return {}, [Problem("", "An answer is an object.")]
    fields = stage.spread(answer)
    lost = [Problem(path, "The form has no place for this.") for path in _lost(answer, stage.compose(fields))]
    return fields, storable(fields) or lost


def _lost(sent: object, kept: object, path: str = "") -> Iterator[str]:
    """Paths of what was sent and is not in what is kept; nothing is lost of what is empty."""
    if isinstance(sent, Mapping | list):
        held = _parts(kept)
        for name, value in _parts(sent).items():
            yield from _lost(value, held.get(name), f"{path}.{name}".removeprefix("."))
    elif sent not in (None, "") and (type(sent), sent) != (type(kept), kept):
        yield path


def _parts(value: object) -> Mapping[Any, object]:
    if isinstance(value, Mapping):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else {}
