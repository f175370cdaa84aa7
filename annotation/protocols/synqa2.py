"""Syn-(QA)2: does a pair of questions differ in an assumption that is false? Source: Daswani et al. 2024, section 2
(PROTOCOLS.md section 4).

A pair is made by replacing one entity of a question whose assumption is true. People say whether the assumption of the
second question is false, as it must be, or the pair has to go.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import urlsplit

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
from annotation.protocols.pairs import differs_in_one_mention
from annotation.protocols.votes import majority

KEEP, HOLDS, NONSENSE, WRONG, UNSURE = VERDICTS = ("keep", "holds", "nonsense", "original wrong", "unsure")
# What gold is called in charts.
LABELS = {
    KEEP: "kept",
    HOLDS: "removed: assumption holds",
    NONSENSE: "removed: nonsense",
    WRONG: "removed: original wrong",
}
DISPUTED = "disputed"
KINDS = ("single_hop", "multi_hop")
MOST = 3  # verdicts on one pair (4.3)
MAX_NOTE = 500  # characters of a note that stands for a link


# --- The form (4.3) -------------------------------------------------------------------------------

QUESTIONS = (
    Question(
        "verdict",
        "Should this pair stay?",
        choices=(
            Choice(KEEP, "Keep: the first assumes something true, the second something false", "1"),
            Choice(HOLDS, "Remove: what the second assumes holds, too", "2"),
            Choice(NONSENSE, "Remove: the second makes no sense", "3"),
            Choice(WRONG, "Remove: the first is wrong already", "4"),
            Choice(UNSURE, "I cannot tell", "5"),
        ),
        help="Look it up where you are not sure. “I cannot tell” never decides: somebody else is asked.",
    ),
    Question(
        "evidence",
        "Where can one see that? A link or a few words, if you have them",
        kind="line",
        help="Optional.",
    ),
)


def compose(fields: Fields) -> dict[str, Any]:
    answer = {"verdict": fields.get("verdict")}
    evidence = fields.get("evidence", "").strip()
    return answer | ({"evidence": evidence} if evidence else {})


def spread(answer: Answer) -> dict[str, str]:
    given = {name: answer.get(name) for name in ("verdict", "evidence")}
    return {name: value for name, value in given.items() if isinstance(value, str) and value}


def read(payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
    if not isinstance(raw, Mapping):
        return {}, [Problem("", "An answer is an object with verdict, and evidence where there is some.")]
    if unknown := sorted(str(name) for name in raw.keys() - {"verdict", "evidence"}):
        return {}, [Problem("", f"Unknown field {unknown[0]!r}: an answer has verdict and evidence.")]
    verdict, evidence = raw.get("verdict"), raw.get("evidence")
    problems = []
    if verdict not in VERDICTS:
        problems.append(Problem("verdict", f"The verdict must be one of: {', '.join(VERDICTS)}."))
    answer: dict[str, Any] = {"verdict": verdict}
    if evidence not in (None, ""):
        if problem := evidence_problem(evidence):
            problems.append(Problem("evidence", problem))
        elif text := str(evidence).strip():
            answer["evidence"] = text
    return answer, problems


def evidence_problem(value: object) -> str:
    """Why this cannot be evidence, or "". What looks like a link must be one that is safe to show as a link."""
    if problem := text_problem(value):
        return problem
    text = str(value).strip()
    if is_link(text):
        return ""
    if "://" in text.split(" ", 1)[0] or text.lower().startswith(("javascript:", "data:")):
        return "A link starts with http:// or https:// and names a site; without one, write a short note."
    if len(text) > MAX_NOTE:
        return f"A note has at most {MAX_NOTE} characters; this has {len(text):,}."
    return ""


def is_link(text: object) -> bool:
    """An address of the web without blanks, that may stand on a page as a link."""
    if not isinstance(text, str) or any(c.isspace() for c in text) or "\x00" in text:
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


VERIFY = Stage(
    name="verify",
    title="Verify pairs of questions",
    role="verifier",
    questions=QUESTIONS,
    measures=(Measure("verdict", VERDICTS, lambda answer: answer["verdict"], key="verdict"),),
    read=read,
    compose=compose,
    spread=spread,
    matches=lambda known, given, options: known["verdict"] == given["verdict"],
)


# --- The workflow (4.3) ---------------------------------------------------------------------------


def next_step(payload: Payload, answers: Sequence[Counted], options: Options) -> Step:
    """As many verifiers as the study wants, and one more up to three while more than half do not say the same.

    "unsure" never decides, and nobody more is asked where they could not decide either.
    """
    given = [a for a in answers if a.stage == "verify"]
    for asked in range(int(options["verifiers"]), MOST + 1):
        if len(given) < asked:
            return Collect("verify", votes=asked)
        verdict = decided([a.answer["verdict"] for a in given[:asked]])
        if verdict:
            return _settle(verdict, given[:asked])
        if not may_decide([a.answer["verdict"] for a in given[:asked]]):
            return _disputed(given[:asked])
    return _disputed(given[:MOST])


def decided(verdicts: Sequence[str]) -> str | None:
    """The verdict of more than half, or None; never "unsure"."""
    verdict = majority(verdicts)
    return None if verdict == UNSURE else verdict


def may_decide(verdicts: Sequence[str]) -> bool:
    """Whether further verdicts, up to three in all, could still decide."""
    most = max(Counter(v for v in verdicts if v != UNSURE).values(), default=0)
    return 2 * (most + MOST - len(verdicts)) > MOST


def _settle(verdict: str, given: Sequence[Counted]) -> Settle:
    said = sum(a.answer["verdict"] == verdict for a in given)
    why = f"{said} of {len(given)} verifiers gave this verdict."
    upheld = {a.id: a.answer["verdict"] == verdict for a in given if a.answer["verdict"] != UNSURE}
    return Settle(LABELS[verdict], _gold(verdict, given), why, upheld, judged=len(set(upheld.values())) > 1)


def _disputed(given: Sequence[Counted]) -> Unresolved:
    said = ", ".join(f"{n} {verdict}" for verdict, n in Counter(a.answer["verdict"] for a in given).most_common())
    return Unresolved(f"No verdict has a majority: {said}.", _gold(DISPUTED, given), DISPUTED)


def _gold(verdict: str, given: Sequence[Counted]) -> dict[str, Any]:
    """verdicts: in the order in which they were given, without who gave them."""
    verdicts = [{"verdict": a.answer["verdict"], "evidence": a.answer.get("evidence")} for a in given]
    return {"verdict": verdict, "verdicts": verdicts}


def _decide(step: Settle | Drop | Unresolved, value: str) -> Settle:
    """What somebody of the team says about a disputed pair."""
    gold = {**getattr(step, "gold", {}), "verdict": value}
    return Settle(LABELS[value], gold, f"Decided by a person: {value}.")


# --- Items and export (4.1, 4.3) ------------------------------------------------------------------

TEXTS = ("x", "replacement", "y", "question_without", "question_with")
KEYS = ("id", "kind", "relation", *TEXTS)


def read_row(row: Mapping[str, Any], role: str = "work") -> Item:
    """The keys of an export; `relation` and, of multi-hop pairs, `y` may be null. Anything else goes to `meta`."""
    payload: dict[str, Any] = {"id": read_ref(row.get("id"))}
    payload["kind"] = row.get("kind")
    if payload["kind"] not in KINDS:
        raise BadRow(f"'kind' must be one of {', '.join(KINDS)}; it was {row.get('kind')!r}")
    payload["relation"] = _text(row, "relation", needed=False)
    for name in TEXTS:
        payload[name] = _text(row, name, needed=name != "y" or payload["kind"] == "single_hop")
    pair = payload["question_without"], payload["question_with"]
    if not differs_in_one_mention(*pair, payload["x"], payload["replacement"]):
        raise BadRow(
            f"the two questions must differ in exactly one mention: {payload['x']!r} in the first is"
            f" {payload['replacement']!r} in the second, and everything else is the same"
        )
    if meta := read_meta(row, {*KEYS, "verdict", "verdicts", "gold"}):
        payload["meta"] = meta
        if links := [link for link in _links(meta) if is_link(link)]:
            payload["links"] = links
    return Item(payload["id"], payload, _read_gold(payload, row.get("gold")))


def _text(row: Mapping[str, Any], name: str, *, needed: bool) -> str | None:
    value = row.get(name)
    if value in (None, "") and not needed:
        return None
    if not isinstance(value, str) or not value.strip():
        raise BadRow(f"'{name}' is missing or not a text")
    if problem := text_problem(value):
        raise BadRow(f"'{name}': {problem} At most {MAX_TEXT:,} characters are kept.")
    return value.strip()


def _links(meta: Mapping[str, Any]) -> list[object]:
    """Links a row brings along, alone or in lists, so that verifiers can look things up."""
    found: list[object] = []
    for value in meta.values():
        found += value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    return found


def _read_gold(payload: Payload, gold: object) -> dict[str, Any] | None:
    if gold in (None, ""):
        return None
    answer, problems = read(payload, gold)
    if problems:
        raise BadRow(f"'gold' is not an answer: {problems[0].field or 'gold'}: {problems[0].text}")
    return answer


def export_rows(payload: Payload, gold: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Removed pairs too: whoever wants the data set takes the rows whose `verdict` is "keep"."""
    said = [{"verdict": each["verdict"], "evidence": each["evidence"]} for each in gold["verdicts"]]
    return [{**{name: payload[name] for name in KEYS}, "verdict": gold["verdict"], "verdicts": said}]


# --- A simulated verifier -------------------------------------------------------------------------


def imagine(
    stage: str, payload: Payload, gold: Answer | None, judged: Sequence[Answer], accuracy: float, rng: Random
) -> dict[str, Any]:
    """Of pairs without gold most stay, as in the paper: 59.7% of single-hop ones and 72.5% of the others."""
    truth = Random(f"truth {payload['id']}").choices(VERDICTS[:4], (66, 16, 12, 6))[0]
    known = str(gold["verdict"]) if gold else truth
    verdict = known if rng.random() < accuracy else rng.choices(VERDICTS, (20, 30, 15, 10, 25))[0]
    links = payload.get("links")
    evidence = {"evidence": links[0]} if links and verdict == HOLDS else {}
    return {"verdict": verdict, **evidence}


SYNQA2 = Protocol(
    slug="synqa2",
    version=1,
    title="Syn-(QA)2",
    source="Daswani, Sawant, Kim: Syn-QA2: Evaluating False Assumptions in Long-tail Questions with Synthetic QA "
    "Datasets. 2024.",
    shown=("question_without", "question_with", "kind", "relation", "x", "replacement", "y", "links"),
    stages=(VERIFY,),
    read_row=read_row,
    next_step=next_step,
    export_rows=export_rows,
    imagine=imagine,
    options=(
        Option("verifiers", 2, "people who verify a pair; a third is asked where the verdicts differ", at_most=3),
    ),
    defaults={"review_tests": "off"},
    labels=(*LABELS.values(), DISPUTED),
    adjudication=Adjudication(
        choices=tuple(replace(c, key="") for c in QUESTIONS[0].choices if c.value != UNSURE),
        contested=(DISPUTED,),
        decide=_decide,
    ),
)
