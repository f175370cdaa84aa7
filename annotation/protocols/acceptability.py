"""Acceptability: is a model's answer to a question acceptable? Source: Daswani et al. 2024, sections 3.1 and 3.3
(PROTOCOLS.md 4.5).

Two people rate each answer without knowing which system gave it, or whether the question rests on a false assumption.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from annotation.protocols.base import (
    MAX_TEXT,
    Adjudication,
    Answer,
    BadRow,
    Choice,
    Collect,
    Counted,
    Drop,
    Fields,
    Item,
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
    Unresolved,
    read_meta,
    read_ref,
    text_problem,
)

ACCEPTABLE, NOT, DISAGREE = LABELS = ("acceptable", "not acceptable", "raters differ")
VOTES = ("yes", "no")

QUESTIONS = (
    Question(
        "acceptable",
        "Is the answer acceptable?",
        choices=(Choice("yes", "Yes, acceptable", "y"), Choice("no", "No, not acceptable", "n")),
        help="It is acceptable when it answers the question rightly, or says what the question gets wrong.",
    ),
)


def compose(fields: Fields) -> dict[str, Any]:
    return {"acceptable": {"yes": True, "no": False}.get(fields.get("acceptable", ""))}


def spread(answer: Answer) -> dict[str, str]:
    given = answer.get("acceptable")
    return {"acceptable": VOTES[not given]} if isinstance(given, bool) else {}


def read(payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
    if not isinstance(raw, Mapping) or raw.keys() != {"acceptable"} or not isinstance(raw["acceptable"], bool):
        return {}, [Problem("acceptable", "Say whether the answer is acceptable: true or false.")]
    return {"acceptable": raw["acceptable"]}, []


RATE = Stage(
    name="rate",
    title="Rate answers",
    role="rater",
    questions=QUESTIONS,
    measures=(Measure("acceptable", VOTES, lambda answer: VOTES[not answer["acceptable"]], raters=None),),
    read=read,
    compose=compose,
    spread=spread,
)


def next_step(payload: Payload, answers: Sequence[Counted], options: Options) -> Step:
    """As many ratings as the study wants; the score is their mean (4.5). No more are asked where they differ."""
    wanted = int(options["raters"])
    rated = [a for a in answers if a.stage == "rate"]
    if len(rated) < wanted:
        return Collect("rate", votes=wanted)
    ratings = [bool(a.answer["acceptable"]) for a in rated[:wanted]]
    gold = {"score": sum(ratings) / wanted, "ratings": ratings, "adjudicated": None}
    label = ACCEPTABLE if all(ratings) else DISAGREE if any(ratings) else NOT
    said = f"{sum(ratings)} of {wanted} raters find the answer acceptable."
    return Settle(label, gold, said)


def decide(step: Settle | Drop | Unresolved, value: str) -> Settle:
    """The ratings and their mean stay as they were given; what was decided stands beside them."""
    gold = {**getattr(step, "gold", {}), "adjudicated": value == "true"}
    label = ACCEPTABLE if value == "true" else NOT
    return Settle(label, gold, f"{step.why} Decided by a person: {label}.", getattr(step, "upheld", {}))


KEYS = ("id", "question", "answer", "system", "has_false_assumption")


def read_row(row: Mapping[str, Any], role: str = "work") -> Item:
    """The five keys of an item, and `gold` where it is known; anything else goes to `meta`."""
    payload: dict[str, Any] = {"id": read_ref(row.get("id"))}
    for name in ("question", "answer", "system"):
        value = row.get(name)
        if not isinstance(value, str) or not value.strip():
            raise BadRow(f"'{name}' is missing or not a text")
        if problem := text_problem(value):
            raise BadRow(f"'{name}': {problem} At most {MAX_TEXT:,} characters are kept.")
        payload[name] = value.strip()
    payload["has_false_assumption"] = _flag(row.get("has_false_assumption"))
    if meta := read_meta(row, {*KEYS, "gold", "score", "ratings", "adjudicated"}):
        payload["meta"] = meta
    gold = row.get("gold")
    if gold in (None, ""):
        return Item(payload["id"], payload)
    answer, problems = read(payload, gold)
    if problems:
        raise BadRow(f"'gold' is not an answer: {problems[0].text}")
    return Item(payload["id"], payload, answer)


def _flag(value: object) -> bool:
    """True or false, also in the words a CSV file has."""
    words = {"true": True, "1": True, "false": False, "0": False}
    found = value if isinstance(value, bool) else words.get(str(value).strip().lower())
    if found is None:
        raise BadRow(f"'has_false_assumption' must be true or false; it was {value!r}")
    return found


def export_rows(payload: Payload, gold: Mapping[str, Any]) -> list[dict[str, Any]]:
    kept = {name: payload[name] for name in ("id", "question", "system", "answer", "has_false_assumption")}
    return [{**kept, **{name: gold[name] for name in ("score", "ratings", "adjudicated")}}]


def imagine(
    stage: str, payload: Payload, gold: Answer | None, judged: Sequence[Answer], accuracy: float, rng: Random
) -> dict[str, Any]:
    truth = bool(gold["acceptable"]) if gold else Random(f"truth {payload['id']}").random() < 0.7
    return {"acceptable": truth if rng.random() < accuracy else not truth}


ACCEPTABILITY = Protocol(
    slug="acceptability",
    version=1,
    title="Acceptability of answers",
    source="Daswani, Sawant, Kim: Syn-QA2: Evaluating False Assumptions in Long-tail Questions with Synthetic QA "
    "Datasets. 2024. Sections 3.1 and 3.3.",
    # Not the id, which may name the system.
    shown=("question", "answer"),
    stages=(RATE,),
    read_row=read_row,
    next_step=next_step,
    export_rows=export_rows,
    imagine=imagine,
    options=(Option("raters", 2, "people who rate each answer", at_least=2, at_most=10),),
    defaults={"review_tests": "off"},
    labels=LABELS,
    adjudication=Adjudication(
        choices=(Choice("true", "Acceptable", ""), Choice("false", "Not acceptable", "")),
        contested=(DISAGREE,),
        decide=decide,
    ),
    shuffled=True,
)
