"""NOPE: how likely is a statement, given a text? Source: Parrish et al., CoNLL 2021 (PROTOCOLS.md section 2).

Five people rate each version of an item on a slider. Hidden fillers with a known answer say who is attentive, and where
each person draws the line between entailment, neutral and contradiction; the labels follow from both, for the whole
study at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from random import Random
from typing import Any

from annotation.protocols.base import (
    MAX_TEXT,
    Answer,
    BadRow,
    Choice,
    Collect,
    Counted,
    Cuts,
    Fields,
    Item,
    Labelling,
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
    Unresolved,
    read_meta,
    read_ref,
    text_problem,
)
from annotation.protocols.slider import STEPS, Scale
from annotation.protocols.votes import majority

LABELS = E, N, C = "E", "N", "C"
EXPECTED = ("entailment", "neutral", "contradiction")
VERSIONS = ("original", "negated")
POLARITIES = ("non-negated", "negated")
SCALE = Scale(low="impossible", high="certain")
MIN_REASON = 4  # characters: "longer than 3" [2.3]
LEAST = 3  # ratings without which nothing is labelled (2.9)
# Fillers: entailment is right from here, contradiction up to there; neutral ones are not scored (2.6).
HIGH, LOW = 90.0, 10.0

UNTOUCHED = "Please adjust the slider to indicate your response."
OFF = f"Put the slider on a position, a whole number from 0 to {STEPS}; without a slider, type a number from 0 to 100."


# --- The form (2.3, 2.4) --------------------------------------------------------------------------

QUESTIONS = (
    Question(
        "position",
        "How likely is the statement to be true?",
        kind="slider",
        scale=SCALE,
        help="Use the information in the text and your background knowledge about how the world works.",
    ),
    Question(
        "confusing",
        "Does the text sound strange?",
        kind="check",
        choices=(Choice("yes", "The text is confusing", "c"),),
    ),
    Question(
        "confusing_reason",
        "What is confusing about it? Rate it anyway.",
        kind="line",
        when=("confusing", "yes"),
    ),
)


def compose(fields: Fields) -> dict[str, Any]:
    """From the slider's position, or without a slider from the number that was typed."""
    confusing = fields.get("confusing") == "yes"
    reason = fields.get("confusing_reason", "") if confusing else ""
    position = SCALE.read(fields.get("position", ""), fields.get("position.typed", ""))
    return {"position": position, "confusing": confusing, "confusing_reason": reason}


def spread(answer: Answer) -> dict[str, str]:
    position, reason = answer.get("position"), answer.get("confusing_reason")
    fields = {"position": str(position)} if type(position) is int else {}
    if answer.get("confusing") is True:
        fields["confusing"] = "yes"
    return fields | ({"confusing_reason": reason} if isinstance(reason, str) and reason else {})


def read(payload: Payload, raw: object) -> tuple[dict[str, Any], list[Problem]]:
    """The rating is computed here, from the position; one that comes along is refused."""
    if not isinstance(raw, Mapping):
        return {}, [Problem("", "An answer is an object with position, confusing and confusing_reason.")]
    if "rating" in raw:
        return {}, [Problem("rating", "Send the slider's position alone; the rating is computed from it.")]
    if unknown := sorted(str(name) for name in raw.keys() - {"position", "confusing", "confusing_reason"}):
        said = f"Unknown field {unknown[0]!r}: an answer has position, confusing and confusing_reason."
        return {}, [Problem("", said)]
    position, confusing, reason = raw.get("position"), raw.get("confusing", False), raw.get("confusing_reason")
    answer: dict[str, Any] = {"position": position, "rating": None, "confusing": confusing, "confusing_reason": ""}
    problems = []
    if position in (None, ""):
        problems.append(Problem("position", UNTOUCHED))
    elif type(position) is not int or not 0 <= position <= STEPS:
        problems.append(Problem("position", OFF))
    else:
        answer["rating"] = SCALE.rating(position)
    if not isinstance(confusing, bool):
        problems.append(Problem("confusing", "Say whether the text is confusing: true or false."))
    elif confusing or reason not in (None, ""):
        answer["confusing_reason"] = str(reason).strip()
        problems += _reason_problems(reason, confusing=confusing)
    return answer, problems


def _reason_problems(reason: object, *, confusing: bool) -> list[Problem]:
    if not confusing:
        return [Problem("confusing_reason", "A reason is given only where the text is confusing.")]
    if reason is not None and (problem := text_problem(reason)):
        return [Problem("confusing_reason", problem)]
    if reason is None or len(str(reason).strip()) < MIN_REASON:
        return [Problem("confusing_reason", "Say in a few words what is confusing (more than three characters).")]
    return []


def adopt(answer: object) -> object:
    """An answer that names a rating, as published data do, instead of the position or beside it. Raises BadRow."""
    if not isinstance(answer, Mapping) or "rating" not in answer:
        return answer
    rating, rest = answer["rating"], {name: value for name, value in answer.items() if name != "rating"}
    if isinstance(rating, bool) or not isinstance(rating, int | float) or not isfinite(rating):
        raise BadRow(f"'rating' must be a number; it was {rating!r}")
    try:
        position = SCALE.position_of(rating)
    except ValueError as error:
        raise BadRow(str(error)) from None
    given = rest.setdefault("position", position)
    if type(given) is int and 0 <= given <= STEPS and SCALE.rating(given) != rating:
        raise BadRow(f"the position {given} has the rating {SCALE.rating(given):g}, not {rating:g}")
    return rest


# --- Known answers (2.5, 2.6) ---------------------------------------------------------------------


def matches(known: Answer, given: Answer, options: Options) -> bool | None:
    """A filler is right at its end of the scale; a trial is right inside its range, or less than the tolerance away."""
    rating = given["rating"]
    if expected := known.get("expected"):
        return {"entailment": rating >= HIGH, "contradiction": rating <= LOW}.get(expected)
    away = round(max(known["low"] - rating, rating - known["high"], 0), 2)
    return bool(away == 0 or away < known.get("tolerance", options["tolerance"]))


def hint(payload: Payload, known: Answer, given: Answer) -> str:
    """What a practice trial says to a rating outside its range."""
    meta = payload.get("meta", {})
    is_low = given["rating"] < known.get("low", 0)
    usual = "Your rating is too low." if is_low else "Your rating is too high."
    return str(meta.get("too_low" if is_low else "too_high") or usual)


RATE = Stage(
    name="rate",
    title="Rate statements",
    role="rater",
    questions=QUESTIONS,
    measures=(
        Measure("label", LABELS, read=lambda answer: "", raters=None, study_wide=True),
        Measure("rating", (), read=lambda answer: float(answer["rating"]), level=Level.INTERVAL, raters=None),
    ),
    read=read,
    compose=compose,
    spread=spread,
    matches=matches,
    hint=hint,
    adopt=adopt,
)


# --- From ratings to labels (2.7, 2.9) ------------------------------------------------------------


def next_step(payload: Payload, answers: Sequence[Counted], options: Options) -> Step:
    """As many ratings as the study wants, each person's first; a sixth of five is left out (2.7)."""
    votes = int(options["votes"])
    first: dict[int, Counted] = {}
    for answer in answers:
        first.setdefault(answer.worker, answer)
    rated = list(first.values())
    if len(rated) < votes:
        return Collect("rate", votes)
    gold = {
        "label": None,
        "nli_labels": [],
        "ratings": [a.answer["rating"] for a in rated[:votes]],
        "workers": [a.worker for a in rated[:votes]],
    }
    return Settle("", gold, f"{votes} ratings are in; the label follows from the raters' thresholds.")


def label_of(rating: float, contradiction: float, entailment: float) -> str:
    """Intervals closed on the right."""
    return C if rating <= contradiction else N if rating <= entailment else E


def majority_of(labels: Sequence[str]) -> str | None:
    """The label of more than half; never of fewer than three ratings."""
    return majority(labels) if len(labels) >= LEAST else None


def label(gold: Mapping[str, Any], cuts: Mapping[int, Cuts]) -> Settle | Unresolved:
    labels = [label_of(r, *cuts[w]) for r, w in zip(gold["ratings"], gold["workers"], strict=True)]
    winner, counts = majority_of(labels), Counter(labels)
    labelled = {**gold, "label": winner, "nli_labels": labels}
    said = ", ".join(f"{counts[name]} {name}" for name in LABELS if counts[name])
    if winner is None:
        few = f"; nothing is labelled from fewer than {LEAST} ratings" if len(labels) < LEAST else ""
        return Unresolved(f"No majority: {said}{few}.", labelled)
    return Settle(winner, labelled, f"Majority of {len(labels)} ratings: {said}.")


# --- Items and export (2.1) -----------------------------------------------------------------------

PARTS = ("context1", "context2", "target")
# What the published files call it.
ALIASES = {
    "uid": "id",
    "item_id": "item",
    "target_sentence": "target",
    "type": "version",
    "original_negated": "original_was_negated",
}


def read_row(row: Mapping[str, Any], role: str = "work") -> Item:
    """A sentence pair with its trigger, a filler with its expected label, or a trial with its range."""
    row = _renamed(row)
    payload = {"id": _ref(row), "hypothesis": _text(row, "hypothesis"), **_premise(row)}
    known = {"id", "hypothesis", "premise", "lines", "speakers", *PARTS}
    gold: dict[str, Any] | None
    if role in ("practice", "qualification"):
        gold = _range(row, tolerance=role == "qualification")
        known |= {"low", "high", "tolerance"}
    else:
        gold = _expected(row, needed=role in ("filler", "gold"))
        known |= {"expected"}
    if role == "work":
        payload |= _design(row)
        known |= {"item", "version", "trigger_type", "polarity", "original_was_negated", "adversarial"}
    if meta := read_meta(row, known):
        payload["meta"] = meta
    return Item(payload["id"], payload, gold)


def _renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the release, or of our own export, as one of ours: what is in `metadata` is taken out of it."""
    inner = row.get("metadata")
    flat = {**inner, **{k: v for k, v in row.items() if k != "metadata"}} if isinstance(inner, Mapping) else dict(row)
    for theirs, ours in ALIASES.items():
        if theirs in flat and ours not in flat:
            flat[ours] = flat.pop(theirs)
    spoken = {part: flat.pop(f"speaker_{part}") for part in PARTS if f"speaker_{part}" in flat}
    if any(spoken.values()) and "speakers" not in flat:
        flat["speakers"] = {part: name for part, name in spoken.items() if name}
    return flat


def _ref(row: Mapping[str, Any]) -> str:
    """The row's id; published rows have none, but an item and a version."""
    ref = row.get("id")
    if ref is None and row.get("item") is not None:
        ref = f"{row['item']}-{row.get('version')}"
    return read_ref(ref)


def _text(row: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    value = row.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise BadRow(f"'{name}' is missing or not a text")
    if problem := text_problem(value):
        raise BadRow(f"'{name}': {problem} At most {MAX_TEXT:,} characters are kept.")
    return value.strip()


def _premise(row: Mapping[str, Any]) -> dict[str, Any]:
    """The text before the statement, as one piece; and in lines where speakers are known."""
    if row.get("target") is None:
        if not isinstance(row.get("premise"), str):
            raise BadRow("'premise' is missing, or 'target' (with 'context1' and 'context2') in its place")
        premise = _text(row, "premise", needed=False)
        return {"premise": premise, "lines": _spoken(row)} if row.get("lines") else {"premise": premise}
    parts = {name: _text(row, name, needed=False) for name in PARTS}
    premise = " ".join(filter(None, parts.values()))
    speakers = row.get("speakers") or {}
    if not isinstance(speakers, Mapping) or not all(n in PARTS and isinstance(v, str) for n, v in speakers.items()):
        raise BadRow(f"'speakers' must name who says {', '.join(PARTS)}")
    lines = _lines(parts, {name: speakers.get(name, "").strip() for name in PARTS})
    return {"premise": premise, "lines": lines} if lines else {"premise": premise}


def _spoken(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """Lines as `_lines` made them, of a row that was ours before."""
    lines = row["lines"]
    if not isinstance(lines, list) or not all(
        isinstance(line, Mapping) and line.keys() == {"speaker", "text"} for line in lines
    ):
        raise BadRow("'lines' must be a list of objects with 'speaker' and 'text'")
    return [{name: _text(line, name, needed=name == "text") for name in ("speaker", "text")} for line in lines]


def _lines(parts: Mapping[str, str], speakers: Mapping[str, str]) -> list[dict[str, str]]:
    """A line for each change of speaker, none where nobody is known. The target's speaker is A, then as they come."""
    names: dict[str, str] = {}
    for name in ("target", "context1", "context2"):
        if speakers[name]:
            names.setdefault(speakers[name], f"Speaker {chr(ord('A') + len(names))}")
    lines: list[dict[str, str]] = []
    for name in PARTS if names else ():
        if not parts[name]:
            continue
        speaker = names.get(speakers[name], "")
        if lines and lines[-1]["speaker"] == speaker:
            lines[-1]["text"] += f" {parts[name]}"
        else:
            lines.append({"speaker": speaker, "text": parts[name]})
    return lines


def _design(row: Mapping[str, Any]) -> dict[str, Any]:
    """Which item in which version, and what the tables group by."""
    version = row.get("version")
    if version not in VERSIONS:
        raise BadRow(f"'version' must be one of {', '.join(VERSIONS)}; it was {version!r}")
    item = row.get("item")
    if isinstance(item, int) and not isinstance(item, bool):
        item = str(item)
    if not isinstance(item, str) or not item.strip():
        raise BadRow("'item' is missing: the name that both versions share")
    usual = POLARITIES[(version == "negated") != _flag(row, "original_was_negated")]
    polarity = row.get("polarity") or usual
    if polarity not in POLARITIES:
        raise BadRow(f"'polarity' must be one of {', '.join(POLARITIES)}; it was {polarity!r}")
    trigger = _text(row, "trigger_type")
    return {
        "item": item.strip(),
        "version": version,
        "trigger_type": trigger,
        "polarity": polarity,
        "adversarial": _flag(row, "adversarial"),
    }


def _flag(row: Mapping[str, Any], name: str) -> bool:
    """True or false, also in the words a CSV file has; false where it is missing."""
    value = row.get(name)
    words = {None: False, "": False, "true": True, "false": False, "1": True, "0": False}
    found = value if isinstance(value, bool) else words.get(value.strip().lower() if isinstance(value, str) else value)
    if found is None:
        raise BadRow(f"'{name}' must be true or false; it was {value!r}")
    return found


def _expected(row: Mapping[str, Any], *, needed: bool) -> dict[str, Any] | None:
    expected = row.get("expected")
    if expected in (None, "") and not needed:
        return None
    if expected not in EXPECTED:
        said = "is missing" if expected in (None, "") else f"was {expected!r}"
        raise BadRow(f"'expected' must be one of {', '.join(EXPECTED)}; it {said}")
    return {"expected": expected}


def _range(row: Mapping[str, Any], *, tolerance: bool) -> dict[str, Any]:
    """The ratings that are right. Practice takes nothing beside them; a test takes what the study tolerates."""
    low, high = (_bound(row, name) for name in ("low", "high"))
    if not 0 <= low <= high <= 100:
        raise BadRow("'low' and 'high' must be a range within 0 to 100")
    return {"low": low, "high": high} | ({} if tolerance else {"tolerance": 0})


def _bound(row: Mapping[str, Any], name: str) -> float:
    """A number, or the text of one, as CSV has it."""
    value = row.get(name)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        return float(value)
    except ValueError:
        raise BadRow(f"'{name}' must be a number from 0 to 100; it was {value!r}") from None


def half(payload: Payload) -> int | None:
    """Which half of the people gets this version first: of each item the versions are in a random order (2.2)."""
    if "version" not in payload:
        return None
    return (VERSIONS.index(payload["version"]) + Random(f"half {payload['item']}").randrange(2)) % 2


METADATA = ("item", "version", "trigger_type", "polarity", "adversarial")


def export_rows(payload: Payload, gold: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The keys of the release: label and text, and all that is behind the label in `metadata`."""
    behind = {"nli_labels": gold["nli_labels"], "ratings": gold["ratings"]}
    row = {
        "uid": payload["id"],
        "premise": payload["premise"],
        "hypothesis": payload["hypothesis"],
        "label": gold["label"],
        "metadata": {**{name: payload[name] for name in METADATA}, **behind},
    }
    return [row]


# --- A simulated rater ----------------------------------------------------------------------------

# Where on the slider people put what they take for certain, open or impossible: mean and deviation.
AROUND = {"entailment": (985, 45), "neutral": (560, 190), "contradiction": (15, 45)}


def imagine(
    stage: str, payload: Payload, gold: Answer | None, judged: Sequence[Answer], accuracy: float, rng: Random
) -> dict[str, Any]:
    """A position where most people would put it, or with probability 1 - `accuracy` anywhere."""
    known = gold or {"expected": Random(f"truth {payload['id']}").choices(EXPECTED, (60, 28, 12))[0]}
    if rng.random() >= accuracy:
        position = rng.randint(0, STEPS)
    elif "expected" in known:
        position = round(rng.gauss(*AROUND[known["expected"]]))
    else:
        position = SCALE.nearest_position((known["low"] + known["high"]) / 2)
    return {"position": min(max(position, 0), STEPS), "confusing": False, "confusing_reason": ""}


EXIT_FORM = (
    Question(
        "instructions",
        "Did you read the instructions, and do you think you did the task right?",
        choices=(Choice("yes", "Yes", ""), Choice("no", "No", ""), Choice("confused", "I was confused", "")),
    ),
    Question(
        "fair_pay",
        "Was the pay fair?",
        choices=(
            Choice("too low", "Too low", ""),
            Choice("fair", "Fair", ""),
            Choice("more than fair", "More than fair", ""),
        ),
    ),
    Question(
        "enjoyed",
        "Did you enjoy it?",
        choices=(
            Choice("less", "Less than most tasks", ""),
            Choice("average", "About as much", ""),
            Choice("more", "More than most tasks", ""),
        ),
    ),
    Question("comment", "Anything else you want to tell the team?", kind="line"),
)

NOPE = Protocol(
    slug="nope",
    version=1,
    title="NOPE",
    source="Parrish et al.: NOPE: A Corpus of Naturally-Occurring Presuppositions. CoNLL 2021.",
    # Not the id: a published filler's says what is expected.
    shown=("hypothesis", "premise", "lines"),
    stages=(RATE,),
    read_row=read_row,
    next_step=next_step,
    export_rows=export_rows,
    imagine=imagine,
    options=(
        Option("votes", 5, "ratings for each version of an item", at_least=2, at_most=100),
        Option(
            "tolerance",
            5.0,
            "a trial of the pre-screener is right when it is less than so many points beside its range",
            at_least=0,
            at_most=50,
        ),
        Option(
            "threshold_method",
            "exact",
            "how a person's thresholds are found: the best cut, or the local optimum that NOPE's authors found",
            choices=("exact", "brent"),
            late=True,
        ),
        Option(
            "fixed_contradiction",
            0.0,
            "one threshold of contradiction for everybody, such as the 2.2133 of NOPE's release; 0 for each their own",
            at_least=0,
            at_most=49.99,
            late=True,
        ),
    ),
    defaults={
        "items_per_sitting": 20,  # and 5 fillers (2.2)
        "fillers_per_sitting": 5,
        "lease_minutes": 120,
        "pass_mark": 0.7,
        "review_tests": "off",
        "max_share": 0.15,  # 3.4; 2.2
        "max_per_group": "item:1",  # nobody sees both versions
        "revoke_filler_accuracy": 0.7,  # App. D; 2.6
        "work_of_revoked": "exclude",
        "recollect_above_accuracy": 0.85,  # 2.7
        "recollect_above_fillers": 10,
        "recollect_max_share": 0.11,
    },
    labelling=Labelling(
        stage="rate",
        measure="label",
        rating=lambda answer: float(answer["rating"]),
        expected=lambda known: str(known["expected"]),
        label=label,
        labels=lambda gold: list(gold["nli_labels"]),
    ),
    half=half,
    shuffled=True,
    keeps_first=True,
    exit_form=EXIT_FORM,
)
