"""Claims of people who do not exist, for rehearsals: they pass the checks, and hardly ever repeat each other."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from annotation.protocols.base import Answer, Payload
from annotation.protocols.claims import name_of
from annotation.protocols.creak_samples import drawn_of, other_label
from annotation.protocols.creak_writing import LABELS

# Whoever writes in a hurry gives falsehoods away by their words, which is what the artefact meter is for.
TRUE = (
    "Many {who} have heard about {entity} {when}.",
    "{entity} appears in articles that {who} read {when}.",
    "Some {who} talk about {entity} {when}.",
    "{Who} can look up {entity} {when}.",
    "Books that mention {entity} interest {who} {when}.",
    "{entity} comes up when {who} study {when}.",
)
FALSE = (
    "{entity} has never been mentioned by {who} {when}.",
    "{Who} never heard about {entity} {when}.",
    "Nobody tells {who} about {entity}, and never {when}.",
    "{entity} orders soup for all {who} {when}.",
    "{entity} was invented by {who} who cannot read {when}.",
    "Libraries never let {who} read about {entity} {when}.",
)
WHO = (
    "teachers",
    "students",
    "tourists",
    "bakers",
    "gardeners",
    "musicians",
    "drivers",
    "nurses",
    "farmers",
    "painters",
    "lawyers",
    "dentists",
    "sailors",
    "cooks",
    "librarians",
    "engineers",
)
WHEN = (
    "at school",
    "on weekends",
    "in the evening",
    "during lunch",
    "on long trains",
    "in winter",
    "over breakfast",
    "after work",
    "in the garden",
    "at the market",
    "on rainy days",
    "near the sea",
    "in big cities",
    "at night",
)
HASTY = "the moon eats"  # what reviewers stumble over


def imagine(
    stage: str, payload: Payload, gold: Answer | None, judged: Sequence[Answer], accuracy: float, rng: Random
) -> dict[str, Any]:
    """accuracy: how often a claim is a proper one, a review sees what is not, and a judge agrees with the writer."""
    right = rng.random() < accuracy
    if stage == "write":
        return _write(payload, right, rng)
    written = next(answer for answer in judged if "entity" in answer)
    if stage == "review":
        return {label: _decide(written[label]["claim"], right, rng) for label in LABELS}
    _, claim = drawn_of(stage, payload, judged) or ({}, {})
    if stage == "contrast":
        sentence = f"{claim['sentence'].rstrip('.')} in no case."
        return {"claim": sentence, "explanation": f"This turns what is said of {name_of(written['entity'])} around."}
    return {"label": claim["label"] if right else other_label(claim["label"])}


def _write(payload: Payload, right: bool, rng: Random) -> dict[str, Any]:
    entity = rng.choice(payload["entities"])["entity"]
    answer: dict[str, Any] = {"entity": entity}
    for label, templates in (("true", TRUE), ("false", FALSE)):
        claim = _claim(rng.choice(templates), entity, rng)
        if not right and label == "false":
            claim = f"{claim.rstrip('.')} while {HASTY} {rng.choice(WHO)}."
        answer[label] = {
            "claim": claim,
            "explanation": f"{'People do' if label == 'true' else 'Nobody does'} this with {name_of(entity)}.",
            "certainty": rng.choices(("definitely", "maybe"), (4, 1))[0],
        }
    return answer


def _claim(template: str, entity: str, rng: Random) -> str:
    who, when = rng.choice(WHO), rng.choice(WHEN)
    return template.format(entity=name_of(entity), who=who, Who=who.capitalize(), when=when)


def _decide(claim: str, right: bool, rng: Random) -> Mapping[str, str]:
    if HASTY in claim and right:
        return {"decision": "reject", "reason": "outlandish"}
    if rng.random() < 0.06:
        return {"decision": "reject", "reason": rng.choice(("subjective", "ambiguous", "repetitive", "grammar"))}
    if rng.random() < 0.1:
        return {"decision": "edit", "claim": claim.replace(" have ", " may have ").rstrip(".") + ", as it seems."}
    return {"decision": "keep"}
