"""CREAK's first form: pick an entity, write a true and a false claim about it (PROTOCOLS.md 3.1, 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from annotation.protocols.base import (
    ANY,
    Answer,
    Choice,
    Fields,
    Measure,
    Payload,
    Problem,
    Question,
    Sentence,
    Stage,
    text_problem,
)
from annotation.protocols.claims import claim_problems, spans_of
from annotation.protocols.writing import normal

LABELS = ("true", "false")
CERTAINTIES = ("definitely", "maybe")
CLAIM = ("claim", "explanation", "certainty")
# What a claim may carry besides: the marked words; and the spans, which are always computed anew.
BESIDE = ("mention", "entity_mention_loc")

CERTAIN = {
    "true": (Choice("definitely", "Definitely true", "d"), Choice("maybe", "Maybe true", "m")),
    "false": (Choice("definitely", "Definitely false", "f"), Choice("maybe", "Maybe false", "n")),
}


def _claim_questions(label: str) -> tuple[Question, ...]:
    written = Question(
        label,
        f"Write a claim about it that is {label.upper()}",
        kind="claim",
        when=("entity", ANY),
        parts=(
            ("claim", f"The {label} claim"),
            ("explanation", f"Why it is {label}, in a sentence"),
            ("mention", "The words of the claim that mean it"),
        ),
        help={
            "true": "Something people can tell with common sense, without looking it up. Use an action verb.",
            "false": "False of this one, but sensible of another: no nonsense. Not only the true claim with a “not”.",
        }[label],
    )
    sure = Question(f"{label}.certainty", f"Is it {label} for sure?", "certainty", CERTAIN[label], when=("entity", ANY))
    return written, sure


WRITE_QUESTIONS = (
    Question("entity", "Pick the one you want to write about", kind="entities"),
    *_claim_questions("true"),
    *_claim_questions("false"),
)


def compose_write(fields: Fields) -> dict[str, Any]:
    answer: dict[str, Any] = {"entity": fields.get("entity")}
    for label in LABELS:
        answer[label] = {part: fields.get(f"{label}.{part}", "") for part in CLAIM}
        if mention := fields.get(f"{label}.mention", "").strip():
            answer[label]["mention"] = mention
    return answer


def spread_write(answer: Answer) -> dict[str, str]:
    """Also of an unfinished answer."""
    fields = {"entity": text_of(answer.get("entity"))}
    for label in LABELS:
        claim = answer.get(label)
        for part in (*CLAIM, "mention"):
            fields[f"{label}.{part}"] = text_of(claim.get(part)) if isinstance(claim, Mapping) else ""
    return {name: text for name, text in fields.items() if text}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_write(payload: Payload, raw: object, *, me: str = "block") -> tuple[dict[str, Any], list[Problem]]:
    """me: what a claim in the first person meets, "block" or "warn"."""
    if problem := shape(raw, ("entity", *LABELS), "An answer has entity, true and false."):
        return {}, [problem]
    assert isinstance(raw, Mapping)
    names = [entity["entity"] for entity in payload["entities"]]
    entity = str(raw.get("entity")) if raw.get("entity") in names else ""
    problems = [] if entity else [Problem("entity", "Pick one of these.")]
    answer: dict[str, Any] = {"entity": entity}
    for label in LABELS:
        answer[label], found = _read_claim(label, raw.get(label), entity, me)
        problems += found
    claims = [answer[label].get("claim") for label in LABELS]
    if all(isinstance(claim, str) and claim for claim in claims) and normal(claims[0]) == normal(claims[1]):
        problems.append(Problem("false.claim", "This is the true claim once more: the two must differ."))
    return answer, problems


def shape(raw: object, names: Sequence[str], said: str, field: str = "") -> Problem | None:
    if not isinstance(raw, Mapping):
        return Problem(field, said)
    if unknown := sorted(str(name) for name in raw.keys() - set(names)):
        return Problem(field, f"Unknown field {unknown[0]!r}: {said[0].lower()}{said[1:]}")
    return None


def _read_claim(label: str, raw: object, entity: str, me: str) -> tuple[dict[str, Any], list[Problem]]:
    if problem := shape(raw, (*CLAIM, *BESIDE), "A claim has claim, explanation and certainty.", label):
        return {}, [problem]
    assert isinstance(raw, Mapping)
    mention, problems = raw.get("mention", ""), []
    if said := text_problem(mention):
        problems.append(Problem(f"{label}.mention", said))
        mention = ""
    mention = mention.strip()
    problems += claim_problems(f"{label}.claim", raw.get("claim"), entity, [mention], me=me)
    claim = text_of(raw.get("claim")).strip()
    if mention and not spans_of(claim, mention):
        problems.append(Problem(f"{label}.mention", "The claim does not hold these words. Copy them from it."))
    problems += explanation_problems(f"{label}.explanation", raw.get("explanation"))
    if raw.get("certainty") not in CERTAINTIES:
        problems.append(Problem(f"{label}.certainty", f"Say how sure you are: {' or '.join(CERTAINTIES)} {label}."))
    answer = {"claim": claim, "explanation": text_of(raw.get("explanation")).strip(), "certainty": raw.get("certainty")}
    answer |= {"mention": mention} if mention else {}
    return answer | {"entity_mention_loc": spans_of(claim, entity, [mention]) if entity else []}, problems


def explanation_problems(field: str, text: object) -> list[Problem]:
    if problem := text_problem(text):
        return [Problem(field, problem)]
    return [] if str(text).strip() else [Problem(field, "Explain it in a sentence.")]


def written_sentences(answer: Answer) -> list[Sentence]:
    entity, found = text_of(answer.get("entity")), []
    for label in LABELS:
        claim = answer.get(label)
        if isinstance(claim, Mapping) and (text := text_of(claim.get("claim")).strip()):
            found.append(Sentence(f"{label}.claim", text, label, entity))
    return found


def fit_write(stage: Stage, payload: Payload, judged: Sequence[Answer]) -> Stage:
    """The choice is among the item's entities; keys 1 to 9, then 0."""
    choices = tuple(
        Choice(entity["entity"], entity["entity"], str(n % 10)) for n, entity in enumerate(payload["entities"], 1)
    )
    return replace(stage, questions=(replace(stage.questions[0], choices=choices), *stage.questions[1:]))


WRITE = Stage(
    name="write",
    title="Write claims",
    role="writer",
    questions=WRITE_QUESTIONS,
    # One person writes: how sure they are is shown, and there is nobody to agree with.
    measures=tuple(
        Measure(label, CERTAINTIES, lambda answer, label=label: answer[label]["certainty"], raters=1)  # type: ignore[misc]
        for label in LABELS
    ),
    read=read_write,
    compose=compose_write,
    spread=spread_write,
    writings=lambda answer: [answer[label]["claim"] for label in LABELS],
    sentences=written_sentences,
    binds=True,
    stacked=True,
    afterwards="Somebody else may read your claims and mend or leave out what does not fit the rules.",
)
WRITE = replace(WRITE, fit=partial(fit_write, WRITE))
