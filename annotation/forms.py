"""The one gate for answers, from the page, the API and files alike; the rules themselves are the protocol's."""

from collections.abc import Mapping
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
        return self._by_field(blocking=True)

    @property
    def warnings(self) -> dict[str, list[str]]:
        return self._by_field(blocking=False)

    def _by_field(self, *, blocking: bool) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for problem in self.problems:
            if problem.blocking == blocking:
                found.setdefault(problem.field, []).append(problem.text)
        return found


def read_fields(stage: Stage, posted: Mapping[str, Any]) -> dict[str, str]:
    """The stage's own inputs out of a posted form, as text; what is not an input of this stage is left out.

    Text that no database can hold is dropped to "" here only for drafts' sake; the check names it to the worker.
    """
    return {name: str(posted[name]) for name in input_names(stage) if name in posted}


def input_names(stage: Stage) -> list[str]:
    names = [q.name for q in stage.questions if not q.parts]
    for question in stage.questions:
        names += [f"{question.name}.{i}.{part}" for i in range(question.at_most) for part, _ in question.parts]
    return names


def storable(fields: Fields) -> list[Problem]:
    """Problems of fields that cannot be kept even as a draft."""
    return [Problem(name, said) for name, text in fields.items() if (said := text_problem(text))]
