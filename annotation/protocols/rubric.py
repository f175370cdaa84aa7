"""Rubric rating: outputs of several systems, blind and shuffled, on criteria with allowed values.

Source: Yu et al., ACL 2023, section 6.3 and appendix C.4 (PROTOCOLS.md 1.7); CREPE's four criteria are one preset, a
study may define its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from random import Random
from string import ascii_uppercase
from typing import Any

from annotation.protocols.base import (
    MAX_TEXT,
    Answer,
    BadRow,
    Choice,
    Collect,
    Counted,
    Fields,
    Item,
    Level,
    Measure,
    Option,
    Options,
    Payload,
    Problem,
    Protocol,
    Question,
    Settle,
    Stage,
    Step,
    read_meta,
    read_ref,
    text_problem,
)
from annotation.protocols.criteria import Criterion, parse

FEWEST, MOST = 2, 10
LABEL = "rated"
LETTERS = ascii_uppercase[:MOST]
ALIKE = 0.75  # share of scores equal to the known ones that makes an answer right
Criteria = tuple[Criterion, ...]


# --- What a rater sees ----------------------------------------------------------------------------


def arrange(payload: Payload, rng: Random) -> Payload:
    """Outputs in an order of the assignment's own, lettered; `systems`, in that order, is not among what is shown."""
    outputs = rng.sample(payload["outputs"], len(payload["outputs"]))
    blind = [
        {"letter": letter, "texts": dict(output["texts"])} for letter, output in zip(LETTERS, outputs, strict=False)
    ]
    return {**payload, "outputs": blind, "systems": [output["system"] for output in outputs]}


def systems_of(payload: Payload) -> list[str]:
    """In the payload's order, as arranged or as imported."""
    return payload.get("systems") or [output["system"] for output in payload["outputs"]]


def _texts(output: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    texts = output["texts"]
    return tuple((name, text) for name, text in (texts.items() if isinstance(texts, Mapping) else texts))


def fit(criteria: Criteria, stage: Stage, payload: Payload, judged: Sequence[Answer]) -> Stage:
    """One row per output: named by its letter where the item is arranged for somebody, else by its system."""
    systems = systems_of(payload)
    names = LETTERS[: len(systems)] if "systems" in payload else systems
    rows = tuple(
        Question(
            f"scores.{letter}",
            f"Output {name}",
            kind="grid",
            columns=columns_of(criteria),
            about=_texts(output),
        )
        for letter, name, output in zip(LETTERS, names, payload["outputs"], strict=False)
    )
    form = Form(criteria, tuple(names), tuple(systems))
    return replace(stage, questions=rows, read=form.read, compose=form.compose, spread=form.spread)


@lru_cache(maxsize=64)
def columns_of(criteria: Criteria) -> tuple[Question, ...]:
    return tuple(
        Question(
            c.name,
            c.title,
            choices=tuple(Choice(v.text, v.meaning, key) for v, key in zip(c.values, keys_of(c), strict=True)),
        )
        for c in criteria
    )


def keys_of(criterion: Criterion) -> list[str]:
    """The values themselves where each is one digit; else their places, the tenth with 0."""
    texts = [value.text for value in criterion.values]
    return texts if all(len(t) == 1 for t in texts) else [str((n + 1) % 10) for n in range(len(texts))]


class Form:
    """The grid of one item. names: what outputs are called here, in the order of the rows; systems: whose they are."""

    def __init__(self, criteria: Criteria, names: tuple[str, ...], systems: tuple[str, ...]) -> None:
        self.criteria, self.names, self.systems = criteria, names, systems

    def compose(self, fields: Fields) -> dict[str, Any]:
        """By the names used here, so that nobody learns from a draft what is whose."""
        scores: dict[str, dict[str, Any]] = {}
        for letter, name in zip(LETTERS, self.names, strict=False):
            for criterion in self.criteria:
                if text := fields.get(f"scores.{letter}.{criterion.name}"):
                    number = criterion.find(text)
                    scores.setdefault(name, {})[criterion.name] = text if number is None else number
        return {"scores": scores}

    def spread(self, answer: Answer) -> dict[str, str]:
        scores = answer.get("scores")
        fields: dict[str, str] = {}
        for given, row in scores.items() if isinstance(scores, Mapping) else ():
            place = self._place(given)
            for criterion in self.criteria if place is not None and isinstance(row, Mapping) else ():
                number = criterion.find(row.get(criterion.name))
                if place is not None and number is not None:
                    fields[f"scores.{LETTERS[place]}.{criterion.name}"] = f"{number:g}"
        return fields

    def _place(self, name: object) -> int | None:
        """The row of an output, by the name it has here or by its system."""
        for known in (self.names, self.systems):
            if name in known:
                return known.index(name)
        return None

    def read(self, payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
        """Every output on every criterion, with allowed values only. What is stored names systems."""
        scores = raw.get("scores") if isinstance(raw, Mapping) else None
        if not isinstance(raw, Mapping) or raw.keys() != {"scores"} or not isinstance(scores, Mapping):
            return {}, [Problem("scores", "An answer is an object with scores: output, then criterion, then number.")]
        rows: dict[int, object] = {}
        for name, row in scores.items():
            place = self._place(name)
            if place is None:
                return {}, [Problem("scores", f"There is no output {name!r}: rate {', '.join(self.names)}.")]
            if place in rows:
                return {}, [Problem("scores", f"Output {self.names[place]} is rated twice.")]
            rows[place] = row
        problems: list[Problem] = []
        clean = {system: self._row(place, rows.get(place, {}), problems) for place, system in enumerate(self.systems)}
        return {"scores": clean}, problems

    def _row(self, place: int, row: object, problems: list[Problem]) -> dict[str, Any]:
        name, path = self.names[place], f"scores.{LETTERS[place]}"
        if not isinstance(row, Mapping):
            problems.append(Problem(path, f"The scores of output {name} are an object: criterion, then number."))
            return {}
        known = {criterion.name for criterion in self.criteria}
        if strange := sorted(str(key) for key in row.keys() - known):
            problems.append(
                Problem(path, f"There is no criterion {strange[0]!r}; there is {', '.join(sorted(known))}.")
            )
        clean: dict[str, Any] = {}
        for criterion in self.criteria:
            given = row.get(criterion.name)
            number = None if isinstance(given, str) else criterion.find(given)
            if number is not None:
                clean[criterion.name] = number
                continue
            allowed = " or ".join(value.text for value in criterion.values)
            said = f"is not rated yet: {allowed}" if given in (None, "") else f"takes {allowed}; it was {given!r}"
            problems.append(Problem(f"{path}.{criterion.name}", f"Output {name}: {criterion.name} {said}."))
        return clean


# --- The workflow, items and export ---------------------------------------------------------------


def next_step(payload: Payload, answers: Sequence[Counted], options: Options) -> Step:
    """As many raters as the study wants; gold is the mean of their scores (1.7)."""
    wanted = int(options["raters"])
    rated = [a.answer["scores"] for a in answers if a.stage == "rate"]
    if len(rated) < wanted:
        return Collect("rate", votes=wanted)
    ratings = rated[:wanted]
    means = {
        system: {criterion: sum(scores[system][criterion] for scores in ratings) / wanted for criterion in row}
        for system, row in ratings[0].items()
    }
    return Settle(LABEL, {"scores": means, "ratings": ratings}, f"{wanted} raters rated every output.")


def read_row(criteria: Criteria, row: Mapping[str, Any], role: str = "work") -> Item:
    """`id`, `question`, optional `comment`, `outputs`, `gold`; anything else goes to `meta`."""
    payload: dict[str, Any] = {"id": read_ref(row.get("id")), "question": _text(row, "question")}
    payload["comment"] = _text(row, "comment") if row.get("comment") not in (None, "") else ""
    outputs = row.get("outputs")
    if not isinstance(outputs, list) or not FEWEST <= len(outputs) <= MOST:
        raise BadRow(f"'outputs' must be a list of {FEWEST} to {MOST} outputs")
    payload["outputs"] = [_output(n, output) for n, output in enumerate(outputs, 1)]
    systems = [output["system"] for output in payload["outputs"]]
    for system in systems:
        if systems.count(system) > 1:
            raise BadRow(f"the system {system!r} has two outputs; every output needs a system of its own")
    if meta := read_meta(row, {"id", "question", "comment", "outputs", "gold", "scores", "ratings"}):
        payload["meta"] = meta
    return Item(payload["id"], payload, _read_gold(criteria, payload, row.get("gold")))


def _output(number: int, output: object) -> dict[str, Any]:
    """texts: as (name, text) pairs, since a database may keep an object's names in an order of its own."""
    if not isinstance(output, Mapping):
        raise BadRow(f"output {number} must be an object with 'system' and texts")
    system = output.get("system")
    # One letter is what raters see in a system's place, so that no system may be called so.
    if not isinstance(system, str) or not 2 <= len(system.strip()) <= 60 or text_problem(system):
        raise BadRow(f"the 'system' of output {number} must be a name of 2 to 60 characters")
    texts = [(name, text) for name, text in output.items() if name != "system"]
    if not texts:
        raise BadRow(f"output {number} ({system}) has no text beside its system")
    for name, text in texts:
        if not isinstance(text, str) or text_problem(text) or text_problem(name):
            raise BadRow(f"'{name}' of output {number} ({system}) is not a text of at most {MAX_TEXT:,} characters")
    return {"system": system.strip(), "texts": [[name, text.strip()] for name, text in texts]}


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadRow(f"'{name}' is missing or not a text")
    if problem := text_problem(value):
        raise BadRow(f"'{name}': {problem} At most {MAX_TEXT:,} characters are kept.")
    return value


def _read_gold(criteria: Criteria, payload: Payload, gold: object) -> dict[str, Any] | None:
    if gold in (None, ""):
        return None
    systems = tuple(systems_of(payload))
    answer, problems = Form(criteria, systems, systems).read(payload, gold)
    if problems:
        raise BadRow(f"'gold' is not an answer: {problems[0].text}")
    return answer


def export_rows(payload: Payload, gold: Mapping[str, Any]) -> list[dict[str, Any]]:
    row = {name: payload[name] for name in ("id", "question", "comment")}
    return [{**row, "scores": gold["scores"], "ratings": gold["ratings"]}]


def matches(known: Answer, given: Answer, options: Options) -> bool:
    """Right with three quarters of the scores as known: nobody agrees on every one."""
    pairs = [
        (number, given["scores"].get(system, {}).get(criterion))
        for system, row in known["scores"].items()
        for criterion, number in row.items()
    ]
    return sum(a == b for a, b in pairs) >= ALIKE * len(pairs)


# --- A simulated rater ----------------------------------------------------------------------------


def imagine(
    criteria: Criteria,
    stage: str,
    payload: Payload,
    gold: Answer | None,
    judged: Sequence[Answer],
    accuracy: float,
    rng: Random,
) -> dict[str, Any]:
    """Systems differ in how good they are, the reference is best; a rater sees the true score with that accuracy."""
    scores: dict[str, dict[str, Any]] = {}
    for system in systems_of(payload):
        level = 0.95 if system == "reference" else 0.2 + 0.6 * Random(f"level {system}").random()
        for criterion in criteria:
            numbers = sorted(value.number for value in criterion.values)
            luck = Random(f"truth {payload['id']} {system} {criterion.name}")
            true = numbers[-1] if luck.random() < level else luck.choice(numbers)
            if gold:
                true = gold["scores"][system][criterion.name]
            scores.setdefault(system, {})[criterion.name] = true if rng.random() < accuracy else rng.choice(numbers)
    return {"scores": scores}


# --- The protocol, for the criteria of a study ----------------------------------------------------


def _numbers(criterion: str, answer: Answer) -> tuple[float, ...]:
    """One per output, in an order that all answers to the item share."""
    return tuple(float(row[criterion]) for _, row in sorted(answer["scores"].items()))


def _stage(criteria: Criteria) -> Stage:
    form = Form(criteria, (), ())
    stage = Stage(
        name="rate",
        title="Rate outputs",
        role="rater",
        questions=(Question("scores", "Rate each output", kind="grid", columns=columns_of(criteria)),),
        measures=tuple(
            Measure(c.name, (), partial(_numbers, c.name), level=Level.INTERVAL, raters=None) for c in criteria
        ),
        read=form.read,
        compose=form.compose,
        spread=form.spread,
        matches=matches,
        arrange=arrange,
    )
    fitted: Callable[[Payload, Sequence[Answer]], Stage] = partial(fit, criteria, stage)
    return replace(stage, fit=fitted)


def fit_protocol(options: Options) -> Protocol:
    return _with(str(options.get("criteria", "crepe")))


@lru_cache(maxsize=64)
def _with(written: str) -> Protocol:
    criteria = parse(written)
    return replace(
        RUBRIC, stages=(_stage(criteria),), read_row=partial(read_row, criteria), imagine=partial(imagine, criteria)
    )


PRESET = parse("crepe")
RUBRIC = Protocol(
    slug="rubric",
    version=1,
    title="Rubric rating",
    source="Yu, Min, Zettlemoyer, Hajishirzi: CREPE: Open-Domain Question Answering with False Presuppositions. "
    "ACL 2023. Section 6.3, appendix C.4.",
    # Not the id, which may say where outputs come from.
    shown=("question", "comment", "outputs"),
    stages=(_stage(PRESET),),
    read_row=partial(read_row, PRESET),
    next_step=next_step,
    export_rows=export_rows,
    imagine=partial(imagine, PRESET),
    fit=fit_protocol,
    options=(
        Option("raters", 2, "people who rate each item, with all its outputs", at_least=1, at_most=10),
        Option(
            "criteria",
            "crepe",
            "what outputs are rated on: crepe for CREPE's four, or NAME: VALUE=MEANING, VALUE=MEANING; NAME: ...",
            read=parse,
        ),
    ),
    defaults={"items_per_sitting": 5, "review_tests": "off"},
    labels=(LABEL,),
)
