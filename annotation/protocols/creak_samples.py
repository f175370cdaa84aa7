"""CREAK's stages on a sample: judge a claim blindly, flip its label by a small edit (PROTOCOLS.md 3.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from annotation.protocols.base import Answer, Choice, Measure, Payload, Problem, Question, Sentence, Stage
from annotation.protocols.claims import claim_problems
from annotation.protocols.creak_review import (
    FEW_WORDS,
    entity_of,
    final_claims,
    mentions_of,
    reviewed_of,
    written_of,
)
from annotation.protocols.creak_writing import LABELS, explanation_problems, shape, text_of
from annotation.protocols.writing import changed_words, normal


def drawn(claims: Sequence[Mapping[str, Any]], stage: str, payload: Payload) -> Mapping[str, Any]:
    """The one of an item's claims that a stage is about; the same for everybody."""
    return claims[Random(f"{stage} claim {payload['id']}").randrange(len(claims))]


def sampled(stage: str, payload: Payload, share: float) -> bool:
    """Whether the item is in a stage's sample; a larger share only adds items."""
    return Random(f"{stage} {payload['id']}").random() < share


def drawn_of(stage: str, payload: Payload, judged: Sequence[Answer]) -> tuple[Answer, Mapping[str, Any]] | None:
    """What was written, and the claim of it that a later stage is about; None where that is not known."""
    written = written_of(judged)
    claims = final_claims(written, reviewed_of(judged)) if written else []
    return (written, drawn(claims, stage, payload)) if written and claims else None


# --- Relabelling, blind (3.4) -----------------------------------------------------------------------


def read_relabel(payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
    if problem := shape(raw, ("label",), "An answer has a label."):
        return {}, [problem]
    assert isinstance(raw, Mapping)
    if raw.get("label") not in LABELS:
        return {}, [Problem("label", "Say whether the claim is true or false.")]
    return {"label": raw["label"]}, []


def fit_relabel(stage: Stage, payload: Payload, judged: Sequence[Answer]) -> Stage:
    """Blind: the claim and its entity, and nothing of what its writer says of it."""
    found = drawn_of("relabel", payload, judged)
    if found is None:
        return stage
    written, claim = found
    return replace(stage, shows={"entity": entity_of(payload, written["entity"]), "claim": claim["sentence"]})


RELABEL = Stage(
    name="relabel",
    title="True or false?",
    role="judge",
    questions=(
        Question(
            "label",
            "Is this claim true or false?",
            choices=(Choice("true", "True", "t"), Choice("false", "False", "f")),
            help="Use what you know; do not look it up.",
        ),
    ),
    measures=(Measure("label", LABELS, lambda answer: answer["label"], raters=None, key="label"),),
    read=read_relabel,
    compose=lambda fields: {"label": fields.get("label")},
    spread=lambda answer: {"label": text_of(answer["label"])} if answer.get("label") else {},
    judges=("write", "review"),
    shows={},
    afterwards="Others judge the same claims, without seeing your answers.",
)
RELABEL = replace(RELABEL, fit=partial(fit_relabel, RELABEL))


# --- Contrast (3.4) ---------------------------------------------------------------------------------

CONTRAST_QUESTIONS = (
    Question("claim", "Change as little of it as makes it say the opposite", kind="edit"),
    Question("explanation", "Why the changed claim is what you made it, in a sentence", kind="line"),
)


def read_contrast(
    payload: Payload,
    raw: object,
    *,
    written: Answer | None = None,
    claim: Mapping[str, Any] | None = None,
    me: str = "block",
) -> tuple[dict[str, Any], list[Problem]]:
    """written, claim: whose claim is changed, and the claim, where they are known."""
    if problem := shape(raw, ("claim", "explanation", "entity_mention_loc"), "An answer has claim and explanation."):
        return {}, [problem]
    assert isinstance(raw, Mapping)
    entity = written["entity"] if written else ""
    text = text_of(raw.get("claim")).strip()
    mentions = mentions_of({**claim, "claim": claim["sentence"]}) if claim else []
    problems = claim_problems("claim", raw.get("claim"), entity, mentions, me=me)
    problems += explanation_problems("explanation", raw.get("explanation"))
    if written and claim and text:
        there = {normal(claim["sentence"]), *(normal(written[label]["claim"]) for label in LABELS)}
        if normal(text) in there:
            problems.append(Problem("claim", "This says what is there already. Change what makes it true or false."))
        elif (count := changed_words(claim["sentence"], text)) > FEW_WORDS:
            said = f"{count} words changed: can fewer flip it?"
            problems.append(Problem("claim", said, blocking=False))
    return {"claim": text, "explanation": text_of(raw.get("explanation")).strip()}, problems


def fit_contrast(stage: Stage, me: str, payload: Payload, judged: Sequence[Answer]) -> Stage:
    found = drawn_of("contrast", payload, judged)
    if found is None:
        return stage
    written, claim = found
    now, then = claim["label"], other_label(claim["label"])
    edit, why = stage.questions
    edit = replace(
        edit,
        text=f"Change as little of it as makes it {then.upper()}",
        prefill=claim["sentence"],
        against=claim["sentence"],
    )
    why = replace(why, text=f"Why the changed claim is {then}, in a sentence")
    shows = {
        "entity": entity_of(payload, written["entity"]),
        "claim": claim["sentence"],
        "label": now,
        "explanation": claim["explanation"],
    }
    read = partial(read_contrast, written=written, claim=claim, me=me)
    return replace(stage, questions=(edit, why), read=read, shows=shows)


def other_label(label: str) -> str:
    return LABELS[1 - LABELS.index(label)]


def contrast_sentences(answer: Answer) -> list[Sentence]:
    text = text_of(answer.get("claim")).strip()
    return [Sentence("claim", text)] if text else []


CONTRAST = Stage(
    name="contrast",
    title="Flip claims",
    role="editor",
    questions=CONTRAST_QUESTIONS,
    measures=(),
    read=read_contrast,
    compose=lambda fields: {name: fields.get(name, "") for name in ("claim", "explanation")},
    spread=lambda answer: {n: text for n in ("claim", "explanation") if (text := text_of(answer.get(n)))},
    judges=("write", "review"),
    shows={},
    writings=lambda answer: [answer["claim"]],
    sentences=contrast_sentences,
    binds=True,
    afterwards="Your claims and those you changed go into the data as pairs.",
)
CONTRAST = replace(CONTRAST, fit=partial(fit_contrast, CONTRAST, "block"))
