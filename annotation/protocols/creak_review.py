"""CREAK's second form: keep, edit or reject each of two claims (PROTOCOLS.md 3.4); and what is left of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from annotation.protocols.base import Answer, Choice, Fields, Measure, Payload, Problem, Question, Sentence, Stage
from annotation.protocols.claims import claim_problems, spans_of
from annotation.protocols.creak_writing import CLAIM, LABELS, shape, text_of
from annotation.protocols.writing import changed_words

DECISIONS = KEEP, EDIT, REJECT = ("keep", "edit", "reject")
# Why claims are rejected [Table 6; 3.2].
REASONS = (
    "subjective",
    "offensive",
    "ambiguous",
    "outlandish",
    "first person",
    "definitional",
    "grammar",
    "repetitive",
)
FEW_WORDS = 4  # changed words from which an edit is no longer a small one (our decision)


def _review_questions(label: str, written: Answer | None = None) -> tuple[Question, ...]:
    """The keys of the upper row of letters are for the true claim, those of the middle row for the false one."""
    numbers, letters = {"true": ("123", "qwertyui"), "false": ("456", "asdfghjk")}[label]
    words = ("Keep it", "Edit its grammar", "Reject it")
    claim = text_of(written[label]["claim"]) if written else ""
    return (
        Question(
            f"{label}.decision",
            f"The {label} claim",
            kind="decision",
            choices=tuple(Choice(*each) for each in zip(DECISIONS, words, numbers, strict=True)),
            help=claim,
        ),
        Question(
            f"{label}.claim",
            f"The {label} claim in good grammar; what it says stays the same",
            kind="edit",
            when=(f"{label}.decision", EDIT),
            prefill=claim,
            against=claim,
        ),
        Question(
            f"{label}.reason",
            f"Why the {label} claim is rejected",
            kind="decision",
            choices=tuple(
                Choice(reason, reason.capitalize(), key) for reason, key in zip(REASONS, letters, strict=True)
            ),
            when=(f"{label}.decision", REJECT),
        ),
    )


def compose_review(fields: Fields) -> dict[str, Any]:
    """A text counts with an edit alone, a reason with a rejection alone."""
    answer = {}
    for label in LABELS:
        decision = fields.get(f"{label}.decision")
        beside = {EDIT: "claim", REJECT: "reason"}.get(decision or "")
        answer[label] = {"decision": decision} | ({beside: fields.get(f"{label}.{beside}", "")} if beside else {})
    return answer


def spread_review(answer: Answer) -> dict[str, str]:
    fields = {}
    for label in LABELS:
        decided = answer.get(label)
        for part in ("decision", "claim", "reason"):
            fields[f"{label}.{part}"] = text_of(decided.get(part)) if isinstance(decided, Mapping) else ""
    return {name: text for name, text in fields.items() if text}


def read_review(
    payload: Payload, raw: object, *, written: Answer | None = None, me: str = "block"
) -> tuple[dict[str, Any], list[Problem]]:
    """written: the answer under review, where it is known."""
    if problem := shape(raw, LABELS, "A review has true and false."):
        return {}, [problem]
    assert isinstance(raw, Mapping)
    answer, problems = {}, []
    for label in LABELS:
        answer[label], found = _read_decision(label, raw.get(label), written, me)
        problems += found
    return answer, problems


def _read_decision(label: str, raw: object, written: Answer | None, me: str) -> tuple[dict[str, Any], list[Problem]]:
    if problem := shape(raw, ("decision", "claim", "reason"), "A decision has decision, claim and reason.", label):
        return {}, [problem]
    assert isinstance(raw, Mapping)
    decision, claim, reason = raw.get("decision"), raw.get("claim"), raw.get("reason")
    if decision not in DECISIONS:
        return {}, [Problem(f"{label}.decision", f"Decide about the {label} claim: {', '.join(DECISIONS)}.")]
    if decision == REJECT and reason not in REASONS:
        return {}, [Problem(f"{label}.reason", f"Say why, one of: {', '.join(REASONS)}.")]
    if decision != REJECT and reason not in (None, ""):
        return {}, [Problem(f"{label}.reason", "Only a claim that is rejected has a reason.")]
    if decision != EDIT:
        problems = (
            [Problem(f"{label}.claim", "Only a claim that is edited has a text.")] if claim not in (None, "") else []
        )
        return {"decision": decision} | ({"reason": reason} if decision == REJECT else {}), problems
    original = written[label] if written else {"claim": ""}
    entity = written["entity"] if written else ""
    problems = claim_problems(f"{label}.claim", claim, entity, mentions_of(original), me=me)
    text = text_of(claim).strip()
    if written and text == original["claim"]:
        problems.append(Problem(f"{label}.claim", "Nothing is changed yet. Change it, or keep the claim as it is."))
    elif written and text and (count := changed_words(original["claim"], text)) > FEW_WORDS:
        said = f"{count} words changed: mend the grammar only, and reject what needs more."
        problems.append(Problem(f"{label}.claim", said, blocking=False))
    return {"decision": decision, "claim": text}, problems


def mentions_of(claim: Mapping[str, Any]) -> list[str]:
    """The words of a claim that mean its entity: marked by its writer, and where the name was found."""
    named = [claim["claim"][start:end] for start, end in claim.get("entity_mention_loc", ())]
    return [mention for mention in [claim.get("mention", ""), *named] if mention]


def edited_sentences(answer: Answer) -> list[Sentence]:
    """The entity is not in the answer: edits are filed under none."""
    decided = [(label, answer.get(label)) for label in LABELS]
    return [
        Sentence(f"{label}.claim", text, label)
        for label, each in decided
        if isinstance(each, Mapping) and each.get("decision") == EDIT and (text := text_of(each.get("claim")).strip())
    ]


def fit_review(stage: Stage, me: str, payload: Payload, judged: Sequence[Answer]) -> Stage:
    written = written_of(judged)
    if written is None:
        return stage
    questions = tuple(q for label in LABELS for q in _review_questions(label, written))
    claims = [{"label": label, **_shown(written[label])} for label in LABELS]
    shows = {"entity": entity_of(payload, written["entity"]), "claims": claims}
    return replace(stage, questions=questions, read=partial(read_review, written=written, me=me), shows=shows)


def _shown(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {part: claim[part] for part in CLAIM}


def entity_of(payload: Payload, name: str) -> dict[str, Any]:
    return next((dict(entity) for entity in payload["entities"] if entity["entity"] == name), {"entity": name})


def written_of(judged: Sequence[Answer]) -> Answer | None:
    return next((answer for answer in judged if "entity" in answer), None)


def reviewed_of(judged: Sequence[Answer]) -> Answer | None:
    return next((answer for answer in judged if "entity" not in answer), None)


REVIEW = Stage(
    name="review",
    title="Review claims",
    role="reviewer",
    questions=tuple(q for label in LABELS for q in _review_questions(label)),
    measures=tuple(
        Measure(label, DECISIONS, lambda answer, label=label: answer[label]["decision"], raters=1)  # type: ignore[misc]
        for label in LABELS
    ),
    read=read_review,
    compose=compose_review,
    spread=spread_review,
    judges=("write",),
    shows={},
    sentences=edited_sentences,
    afterwards="The claims you kept go into the data; the wording before an edit is kept beside them.",
)
REVIEW = replace(REVIEW, fit=partial(fit_review, REVIEW, "block"))


# --- What is left of the claims -------------------------------------------------------------------


def final_claims(written: Answer, review: Answer | None) -> list[dict[str, Any]]:
    """The claims that were not rejected, with their spans, the true one first. original: before an edit, or null."""
    claims = []
    for label in LABELS:
        decided = review[label] if review else {"decision": KEEP}
        if decided["decision"] == REJECT:
            continue
        claim, edited = written[label], decided["decision"] == EDIT
        sentence = decided["claim"] if edited else claim["claim"]
        claims.append(
            {
                "label": label,
                "sentence": sentence,
                "explanation": claim["explanation"],
                "entity_mention_loc": spans_of(sentence, written["entity"], mentions_of(claim)),
                "certainty": claim["certainty"],
                "original": claim["claim"] if edited else None,
            }
        )
    return claims
