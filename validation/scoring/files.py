"""Gold and predictions out of files, brought together by id. What does not fit is a sentence naming file and row."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

from annotation.errors import Refusal
from annotation.preparing.rows import rows
from annotation.protocols.base import BadRow
from annotation.reading import BadFile
from validation.scoring.assumptions import SIDES, Answered
from validation.scoring.detection import LABELS
from validation.scoring.writing import PARTS, Written

FALSE = LABELS[0]

Given = tuple[int, Mapping[str, Any]]  # the row's number and what it holds
K = TypeVar("K")


class BadScoring(Refusal):
    code, status = "bad_scoring", 422


@dataclass(frozen=True)
class File:
    """An open file, and how sentences call it."""

    name: str
    file: BinaryIO

    def rows(self) -> Iterable[Given]:
        """Raises BadScoring for the first row that cannot be read."""
        try:
            for number, row in rows(self.file):
                if isinstance(row, BadRow):
                    self.refuse(number, str(row))
                yield number, row
        except BadFile as error:
            raise BadScoring(f"{self.name}: {error.sentence}") from error

    def refuse(self, number: int, why: str) -> NoReturn:
        raise BadScoring(f"{self.name}, row {number}: {why}.")

    def by(self, key: Callable[[Given], K], called: Callable[[K], str] = repr) -> dict[K, Given]:
        """The rows by key, in their order. Raises BadScoring where two have the same."""
        found: dict[K, Given] = {}
        for given in self.rows():
            name = key(given)
            if name in found:
                self.refuse(given[0], f"the id {called(name)} is in row {found[name][0]} already")
            found[name] = given
        return found

    def ref(self, given: Given) -> str:
        """The row's id; a whole number becomes its digits."""
        value = given[1].get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            self.refuse(given[0], "'id' is missing or not a text")
        return value

    def text(self, given: Given, name: str) -> str:
        """A member that is a text; it may be empty, as an answer may be."""
        value = given[1].get(name)
        if not isinstance(value, str):
            self.refuse(given[0], f"{name!r} is missing or not a text")
        return value


# --- CREPE ---------------------------------------------------------------------------------------


def read_detection(gold: File, predictions: File) -> dict[str, tuple[str, str]]:
    """Id -> gold label, predicted label; in gold's order. Raises BadScoring."""
    known = {ref: (given[0], _label(gold, given)) for ref, given in gold.by(gold.ref).items()}
    said = predictions.by(predictions.ref)
    _need_all(gold, predictions, {ref: row for ref, (row, _) in known.items()}, said)
    return {ref: (label, _label(predictions, said[ref])) for ref, (_, label) in known.items()}


def read_writing(gold: File, predictions: File) -> tuple[dict[str, Written], list[str]]:
    """Id -> what was written, for gold's false presuppositions in their order; and the parts that were predicted.

    Predictions for other items of gold are passed over. Raises BadScoring.
    """
    known = gold.by(gold.ref)
    asked = {ref: given for ref, given in known.items() if _label(gold, given) == FALSE}
    said = predictions.by(predictions.ref)
    _need_all(gold, predictions, {ref: row for ref, (row, _) in asked.items()}, said, also=known)
    parts = [part for part in PARTS if any(part in said[ref][1] for ref in asked)]
    if not parts:
        predictions.refuse(said[next(iter(asked))][0], "'presupposition' and 'correction' are missing")
    written = {
        ref: Written(
            {part: predictions.text(said[ref], part) for part in parts},
            {part: _references(gold, given, f"{part}s") for part in parts},
        )
        for ref, given in asked.items()
    }
    return written, parts


def _label(file: File, given: Given) -> str:
    number, row = given
    labels = row.get("labels", row.get("label"))
    found = {str(label).replace("_", " ") for label in (labels if isinstance(labels, list) else [labels])}
    if len(found) > 1 and found <= set(LABELS):
        file.refuse(number, "it has both labels; leave unresolved items out")
    if len(found) != 1 or not found <= set(LABELS):
        file.refuse(number, f"the label must be one of {', '.join(LABELS)}; it was {labels!r}")
    return found.pop()


def _references(file: File, given: Given, name: str) -> list[str]:
    listed = given[1].get(name)
    if not isinstance(listed, list) or not listed or not all(isinstance(each, str) for each in listed):
        file.refuse(given[0], f"{name!r} is missing or not a list of texts, and the label is {FALSE}")
    return listed


# --- Syn-(QA)2 -----------------------------------------------------------------------------------

Asked = tuple[str, str]  # id, and one of SIDES for a question of a pair, else ""


def read_assumptions(gold: File, predictions: File) -> dict[Asked, Answered]:
    """Questions in gold's order, each with its answer. Of pairs only those kept are scored. Raises BadScoring."""
    known = gold.by(gold.ref)
    questions: dict[Asked, tuple[int, Answered]] = {}
    passed_over: set[Asked] = set()
    for ref, given in known.items():
        number, row = given
        kind = row.get("kind") if isinstance(row.get("kind"), str) else ""
        if "has_false_assumption" in row:
            if not isinstance(row["has_false_assumption"], bool):
                gold.refuse(number, "'has_false_assumption' must be true or false")
            side = SIDES[row["has_false_assumption"]]
            questions[ref, ""] = (number, Answered(ref, str(kind), side, ""))
        elif _is_kept(gold, given):
            for side in SIDES:
                questions[ref, side] = (number, Answered(ref, str(kind), side, ""))
        else:
            passed_over |= {(ref, side) for side in SIDES}

    def asked(given: Given) -> Asked:
        ref = predictions.ref(given)
        if ref not in known:
            predictions.refuse(given[0], f"the id {ref!r} is not in {gold.name}")
        if (ref, "") in questions:
            return ref, ""
        side = given[1].get("question")
        if side not in SIDES:
            predictions.refuse(given[0], f"'question' must be one of {', '.join(SIDES)}; it was {side!r}")
        return ref, str(side)

    said = predictions.by(asked, _called)
    _need_all(gold, predictions, {key: row for key, (row, _) in questions.items()}, said, passed_over, _called)
    return {
        key: Answered(each.unit, each.kind, each.side, predictions.text(said[key], "answer"))
        for key, (_, each) in questions.items()
    }


def _is_kept(file: File, given: Given) -> bool:
    """Whether the verifiers kept the pair."""
    number, row = given
    if isinstance(row.get("kept"), bool):
        return bool(row["kept"])
    if not isinstance(row.get("verdict"), str):
        file.refuse(number, "'verdict' is missing (or 'has_false_assumption', for a single question)")
    return bool(row["verdict"] == "keep")


def _called(key: Asked) -> str:
    return f"{key[0]!r} with question {key[1]!r}" if key[1] else repr(key[0])


def _need_all(
    gold: File,
    predictions: File,
    asked: Mapping[K, int],
    said: Mapping[K, Given],
    also: Iterable[K] = (),
    called: Callable[[K], str] = repr,
) -> None:
    """Every asked key has a prediction, and every prediction is asked for or one of `also`. Raises BadScoring."""
    if not asked:
        raise BadScoring(f"{gold.name} holds nothing that is scored.")
    allowed = {*asked, *also}
    for key, (number, _) in said.items():
        if key not in allowed:
            predictions.refuse(number, f"the id {called(key)} is not in {gold.name}")
    if missing := [key for key in asked if key not in said]:
        first = f"the first is {called(missing[0])}, row {asked[missing[0]]} of {gold.name}"
        raise BadScoring(f"{predictions.name} lacks {len(missing)} of {len(asked)} predictions; {first}.")
