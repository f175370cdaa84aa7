"""CREPE: does a question rest on a false presupposition? Source: Yu et al., ACL 2023 (PROTOCOLS.md section 1).

Two generators work independently; validators judge where they differ (Appendix B), or a third annotator does
(section 3.2), as the study's option `adjudication` says.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from random import Random
from typing import Any

from annotation.protocols.base import (
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
from annotation.protocols.votes import agree, majority
from annotation.protocols.writing import copied_share, starts_with_pronoun, words

FALSE, NORMAL, FILTER = LABELS = ("false presupposition", "normal", "filter")
REASONS = ("subjective", "nonsense", "uninformative", "low quality")
MAX_PAIRS = 3  # gold keeps lists [repo README]; up to three per generator is our decision
MAX_WORDS = 30
MAX_COPIED = 0.8
PARTS = ("presupposition", "correction")


# --- The generator's form (1.3) -----------------------------------------------------------------

GENERATE_QUESTIONS = (
    Question(
        "question",
        "Can the question be answered with facts?",
        choices=(
            Choice("usable", "Yes, usable", "1"),
            Choice("subjective", "No, subjective", "2"),
            Choice("nonsense", "No, nonsense", "3"),
        ),
        help="Feelings or personal experience are fine as long as a fact-based answer exists. About 1 in 20 is not usable.",
    ),
    Question(
        "response",
        "Is the response informative?",
        choices=(
            Choice("informative", "Yes, informative", "4"),
            Choice("uninformative", "No, uninformative", "5"),
            Choice("low quality", "No, low quality", "6"),
            Choice("nonsense", "No, nonsense", "7"),
        ),
        when=("question", "usable"),
        help="Do not judge whether it is right. A response that is not direct is fine if something in it may help.",
    ),
    Question(
        "wrong",
        "Does the response say that something the question assumes is wrong?",
        choices=(Choice("yes", "Yes, it does", "y"), Choice("no", "No, it does not", "n")),
        when=("response", "informative"),
        help="Openly or between the lines. Take the response to be right, always. About 1 in 3 does.",
    ),
    Question(
        "pairs",
        "Write the assumption, and how the response corrects it",
        kind="pairs",
        when=("wrong", "yes"),
        parts=(
            ("presupposition", "The assumption, as a sentence that stands alone"),
            ("correction", "The correction, in your own words"),
        ),
        at_most=MAX_PAIRS,
        help="Short plain statements, without pronouns, in the language of question and response; only what the response points out.",
    ),
)


def compose_generate(fields: Fields) -> dict[str, Any]:
    """Steps 1 and 2 decide about `filter`; step 3 about the label; texts count only after a yes in step 3."""
    for step, fine in (("question", "usable"), ("response", "informative")):
        if fields.get(step) != fine:
            return {"label": FILTER, "reason": fields.get(step), "pairs": []}
    if fields.get("wrong") == "no":
        return {"label": NORMAL, "reason": None, "pairs": []}
    pairs = [{part: fields.get(f"pairs.{i}.{part}", "") for part in PARTS} for i in range(MAX_PAIRS)]
    written = [i for i, pair in enumerate(pairs) if any(text.strip() for text in pair.values())]
    return {"label": FALSE, "reason": None, "pairs": pairs[: max(written, default=0) + 1]}


def spread_generate(answer: Answer) -> dict[str, str]:
    """Also of an unfinished answer: what it does not say is not chosen."""
    if answer.get("label") == FILTER:
        reason = _text(answer.get("reason"))
        if reason in ("subjective", "nonsense"):
            return {"question": reason}
        return {"question": "usable", "response": reason}
    if answer.get("label") not in LABELS:
        return {}
    fields = {"question": "usable", "response": "informative", "wrong": "yes" if answer.get("label") == FALSE else "no"}
    pairs = answer.get("pairs")
    for i, pair in enumerate(pairs[:MAX_PAIRS] if isinstance(pairs, list) else []):
        if isinstance(pair, Mapping):
            fields |= {f"pairs.{i}.{part}": _text(pair.get(part)) for part in PARTS}
    return fields


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_generate(payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
    """Check a generator's answer: its shape, then rules A to E of Figure 2."""
    if not isinstance(raw, Mapping):
        return {}, [Problem("", "An answer is an object with label, reason and pairs.")]
    label, reason, pairs = raw.get("label"), raw.get("reason"), raw.get("pairs")
    answer: dict[str, Any] = {"label": label, "reason": None, "pairs": []}
    if unknown := sorted(str(name) for name in raw.keys() - {"label", "reason", "pairs"}):
        return answer, [Problem("", f"Unknown field {unknown[0]!r}: an answer has label, reason and pairs.")]
    if label not in LABELS:
        return answer, [Problem("label", f"The label must be one of: {', '.join(LABELS)}.")]
    if label == FILTER:
        answer["reason"] = reason
        if reason not in REASONS:
            return answer, [Problem("reason", f"Say why it is left out, one of: {', '.join(REASONS)}.")]
    elif reason is not None:
        return answer, [Problem("reason", "Only a filtered item has a reason.")]
    if label != FALSE:
        return answer, [Problem("pairs", "Only a false presupposition has pairs.")] if pairs else []
    if not isinstance(pairs, list) or not all(isinstance(pair, Mapping) for pair in pairs):
        return answer, [Problem("pairs", "Pairs is a list of objects with presupposition and correction.")]
    if not 1 <= len(pairs) <= MAX_PAIRS:
        return answer, [Problem("pairs", f"Write from 1 to {MAX_PAIRS} pairs of assumption and correction.")]
    problems = [p for i, pair in enumerate(pairs) for p in _pair_problems(f"pairs.{i}", pair, payload)]
    if not any(p.blocking for p in problems):
        answer["pairs"] = [{part: " ".join(pair[part].split()) for part in PARTS} for pair in pairs]
    return answer, problems


def _pair_problems(name: str, pair: Mapping[str, Any], payload: Payload) -> list[Problem]:
    problems = [p for part in PARTS for p in _sentence_problems(f"{name}.{part}", pair.get(part, ""), payload)]
    if unknown := sorted(str(key) for key in pair.keys() - set(PARTS)):
        problems.append(Problem(name, f"Unknown field {unknown[0]!r}: a pair has presupposition and correction."))
    if not problems and words(pair[PARTS[0]]) == words(pair[PARTS[1]]):
        said = "The correction says the same as the assumption. It usually says the opposite."
        problems.append(Problem(f"{name}.correction", said, blocking=False))
    return problems


def _sentence_problems(name: str, text: object, payload: Payload) -> list[Problem]:
    """The table of PROTOCOLS.md 1.3 for one written field."""
    if problem := text_problem(text):
        return [Problem(name, problem)]
    text = str(text).strip()
    lowered = text.lower()
    if not words(text):
        return [Problem(name, "Write a sentence here.")]
    problems = []
    if text.endswith("?"):
        problems.append(Problem(name, "Write a statement, not a question: it ends with a question mark."))
    for prefix in ("the question assumes that", "that"):
        if words(lowered)[: len(prefix.split())] == prefix.split():
            problems.append(Problem(name, f"Leave out “{prefix.capitalize()}” and start with the statement itself."))
    if copied_share(text, str(payload.get("comment", ""))) > MAX_COPIED:
        problems.append(Problem(name, "This is copied from the response. Say it in your own words."))
    if (count := len(words(text))) > MAX_WORDS:
        problems.append(Problem(name, f"{count} words: can it be shorter?", blocking=False))
    if pronoun := starts_with_pronoun(text):
        said = f"A sentence starts with “{pronoun}”. Name the thing, so that the sentence stands alone."
        problems.append(Problem(name, said, blocking=False))
    return problems


GENERATE = Stage(
    name="generate",
    title="Find false assumptions",
    role="generator",
    questions=GENERATE_QUESTIONS,
    # Agreement of the two generators, over non-filtered items [3.2].
    measures=(Measure("label", LABELS, lambda answer: answer["label"], left_out=(FILTER,), key="label"),),
    read=read_generate,
    compose=compose_generate,
    spread=spread_generate,
    matches=lambda known, given, options: known["label"] == given["label"],
    copied_from="comment",
    writings=lambda answer: [pair[part] for pair in answer["pairs"] for part in PARTS],
)


# --- The validator's form (1.4) -----------------------------------------------------------------

VERDICTS = ("A", "B", "neither")


def read_validate(payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
    verdict = raw.get("valid") if isinstance(raw, Mapping) else None
    if verdict not in VERDICTS or len(raw) != 1:  # type: ignore[arg-type]  # a Mapping when verdict is known
        return {}, [Problem("valid", "Say which annotation is valid: A, B or neither.")]
    return {"valid": verdict}, []


VALIDATE = Stage(
    name="validate",
    title="Judge two annotations",
    role="validator",
    questions=(
        Question(
            "valid",
            "Which annotation is valid?",
            kind="verdict",
            choices=(
                Choice("A", "A is valid", "a"),
                Choice("B", "B is valid", "b"),
                Choice("neither", "Neither: leave this item out", "n"),
            ),
            help="They contradict each other, so at most one is right. Take the response to be right, always.",
        ),
    ),
    measures=(Measure("valid", VERDICTS, lambda answer: answer["valid"], key="valid"),),
    read=read_validate,
    compose=lambda fields: {"valid": fields.get("valid")},
    spread=lambda answer: {"valid": _text(answer.get("valid"))},
    judges=("generate",),
)


# --- The workflow (1.4) -------------------------------------------------------------------------


def next_step(payload: Payload, answers: Sequence[Counted], options: Options) -> Step:
    """The state machine of PROTOCOLS.md 1.4, under either adjudication."""
    written = [a for a in answers if a.stage == "generate"]
    if len(written) < 2:
        return Collect("generate", votes=2)
    first, second = written[:2]
    for annotation in (first, second):
        if annotation.answer["label"] == FILTER:
            return Drop(FILTER, f"A generator left it out: {annotation.answer['reason']}.")
    if first.answer["label"] == second.answer["label"]:
        return _settle((first, second), first.answer["label"], (first, second), "Both generators gave the same label.")
    if options["adjudication"] == "third_annotator":
        return _third_annotator(written)
    judges = [a for a in answers if a.stage == "validate" and a.judges == (first.id, second.id)]
    return _validators(first, second, judges)


def _validators(first: Counted, second: Counted, judges: Sequence[Counted]) -> Step:
    """Two validators, a third when they differ [App. B]."""
    verdicts = [a.answer["valid"] for a in judges]
    if len(verdicts) < 2:
        return Collect("validate", votes=2)
    if agree(verdicts[:2]):
        verdict: str | None = verdicts[0]
        why = "Both validators gave the same verdict"
    elif len(verdicts) < 3:
        return Collect("validate", votes=3)
    else:
        verdict = majority(verdicts[:3])
        why = "Two of three validators gave the same verdict"
    if verdict is None:
        gold = _gold((first, second), (FALSE, NORMAL), (first, second))
        return Unresolved("Three validators gave three different verdicts.", gold)
    upheld = {a.id: a.answer["valid"] == verdict for a in judges[: 2 if agree(verdicts[:2]) else 3]}
    if verdict == "neither":
        upheld |= {first.id: False, second.id: False}
        return Drop(FILTER, f"{why}: neither annotation is valid.", upheld, judged=True)
    chosen = {"A": first, "B": second}[verdict]
    step = _settle((first, second), chosen.answer["label"], (chosen,), f"{why}: {verdict} is valid.", judged=True)
    return replace(step, upheld={**step.upheld, **upheld})


def _third_annotator(written: Sequence[Counted]) -> Step:
    """A third generator, then the majority of three [3.2]; `filter` by anyone still leaves the item out."""
    if len(written) < 3:
        return Collect("generate", votes=3)
    if written[2].answer["label"] == FILTER:
        return Drop(FILTER, f"The third annotator left it out: {written[2].answer['reason']}.")
    label = str(majority([a.answer["label"] for a in written[:3]]))  # three votes on two labels always have one
    return _settle(written[:3], label, written[:3], "Two of three annotators gave this label.", judged=True)


def _settle(
    written: Sequence[Counted], label: str, kept: Sequence[Counted], why: str, *, judged: bool = False
) -> Settle:
    """An annotation is valid when its label is gold's; of agreed items both are (1.5)."""
    upheld = {a.id: a.answer["label"] == label for a in written}
    return Settle(label, _gold(written, (label,), kept), why, upheld, judged)


def _gold(written: Sequence[Counted], labels: Sequence[str], kept: Sequence[Counted]) -> dict[str, Any]:
    """written: all annotations, for the raw columns. kept: those whose pairs become references (a normal one has none)."""
    references = [pair for a in kept if FALSE in labels for pair in a.answer["pairs"]]
    raw = [pair for a in written for pair in a.answer["pairs"]]
    return {
        "labels": list(labels),
        "presuppositions": [pair["presupposition"] for pair in references],
        "corrections": [pair["correction"] for pair in references],
        "raw_labels": [a.answer["label"] for a in written],
        "raw_presuppositions": [pair["presupposition"] for pair in raw],
        "raw_corrections": [pair["correction"] for pair in raw],
    }


# --- Rows in, rows out (1.1, 1.6) ---------------------------------------------------------------

GOLD = ("labels", "presuppositions", "corrections", "raw_labels", "raw_presuppositions", "raw_corrections")
TEXTS = ("question", "comment")
OPTIONAL = ("posted_at", "score", "split")


def read_row(row: Mapping[str, Any], role: str = "work") -> Item:
    """`id`, `question`, `comment`, optional `posted_at`, `score`, `split`, `gold`; anything else goes to `meta`."""
    ref = read_ref(row.get("id"))
    for name in TEXTS:
        value = row.get(name)
        if not isinstance(value, str) or not value.strip():
            raise BadRow(f"'{name}' is missing or not a text")
        if "\x00" in value:
            raise BadRow(f"'{name}' holds a NUL character")
    payload = {"id": ref, **{name: row[name] for name in TEXTS}}
    payload |= {name: row[name] for name in OPTIONAL if row.get(name) not in (None, "")}
    for name in ("posted_at", "split"):
        if not isinstance(payload.get(name, ""), str):
            raise BadRow(f"'{name}' must be a text")
    if "score" in payload:
        payload["score"] = _number(payload["score"])
    if meta := read_meta(row, {"id", "gold", *TEXTS, *OPTIONAL}):
        payload["meta"] = meta
    return Item(ref, payload, _read_gold(payload, row.get("gold")))


def _number(value: object) -> int | float:
    """A number, or the text of one, as CSV has it."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = int(value)
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise BadRow("'score' must be a number")
    return value


def _read_gold(payload: Payload, gold: object) -> dict[str, Any] | None:
    if gold in (None, ""):
        return None
    answer, problems = read_generate(payload, gold)
    if stop := next((p for p in problems if p.blocking), None):
        raise BadRow(f"'gold' is not an answer: {stop.field or 'gold'}: {stop.text}")
    return answer


def export_rows(payload: Payload, gold: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Exactly the keys of PROTOCOLS.md 1.6, in its order."""
    row = {"id": payload["id"], "question": payload["question"], "comment": payload["comment"]}
    kept = {name: gold[name] for name in GOLD}  # in this order: a database may have kept another
    return [{**row, **kept, "passages": []}]


# --- A simulated worker -------------------------------------------------------------------------


def imagine(
    stage: str, payload: Payload, gold: Answer | None, judged: Sequence[Answer], accuracy: float, rng: Random
) -> dict[str, Any]:
    """An answer that matches `gold` with probability `accuracy`. Without gold a truth is drawn per item, not per worker."""
    truth = gold or _invent(payload, Random(f"truth {payload['id']}").choices(LABELS, (36, 58, 6))[0])
    right = rng.random() < accuracy
    if stage == "validate":
        valid = next(
            (v for v, answer in zip(VERDICTS, judged, strict=False) if answer["label"] == truth["label"]), "neither"
        )
        return {"valid": valid if right else rng.choice([v for v in VERDICTS if v != valid])}
    if right:
        return dict(truth)
    others = [label for label in (FALSE, NORMAL, FILTER) if label != truth["label"]]
    return _invent(payload, rng.choices(others, (9, 1) if truth["label"] != FILTER else (4, 6))[0])


def _invent(payload: Payload, label: str) -> dict[str, Any]:
    topic = " ".join(payload["question"].rstrip("?. ").split()[:12])
    pair = {
        "presupposition": f"Something taken for granted by “{topic}” holds.",
        "correction": f"What is taken for granted by “{topic}” does not hold.",
    }
    return {
        "label": label,
        "reason": "subjective" if label == FILTER else None,
        "pairs": [pair] if label == FALSE else [],
    }


CREPE = Protocol(
    slug="crepe",
    version=1,
    title="CREPE",
    source="Yu, Min, Zettlemoyer, Hajishirzi: CREPE: Open-Domain Question Answering with False Presuppositions. ACL 2023.",
    shown=("id", "question", "comment", "posted_at"),
    stages=(GENERATE, VALIDATE),
    read_row=read_row,
    next_step=next_step,
    export_rows=export_rows,
    imagine=imagine,
    options=(
        Option(
            "adjudication",
            "validators",
            "who decides when the two generators differ: two validators and a third (Appendix B), or a third annotator (3.2)",
            choices=("validators", "third_annotator"),
        ),
    ),
    # App. B: 30 people passed, and who has more than 10% of their annotations marked invalid is removed; 1.5 decides
    # the rest. 1.2: four of five labels, then a person reads the writings.
    defaults={"pass_mark": 0.8, "max_qualified": 30, "revoke_invalid_share": 0.10, "revoke_after": 20},
)
