"""The CREPE forms: rules A to E of Figure 2 and their checks (PROTOCOLS.md 1.3)."""

from random import Random

import pytest

from annotation.protocols import CREPE
from annotation.protocols.base import BadRow

COMMENT = (
    "Veins do not carry blue blood at all. Blood in the veins is dark red, and it only looks blue because of the "
    "way that light passes through the skin before it reaches your eye."
)
PAYLOAD = {"id": "q1", "question": "Why is the blood in veins blue?", "comment": COMMENT}
GENERATE, VALIDATE = CREPE.stages
GOOD = {"presupposition": "The blood in veins is blue.", "correction": "The blood in veins is dark red."}


def false(*pairs):
    return {"label": "false presupposition", "reason": None, "pairs": list(pairs)}


def problems(answer, stage=GENERATE):
    return [(p.field, p.text, p.blocking) for p in stage.read(PAYLOAD, answer)[1]]


@pytest.mark.parametrize(
    "answer",
    [
        {"label": "normal"},
        {"label": "normal", "reason": None, "pairs": []},
        {"label": "filter", "reason": "low quality"},
        false(GOOD),
        false(GOOD, {"presupposition": "Light does not matter.", "correction": "Light makes them look blue."}),
    ],
)
def test_a_good_answer_has_no_problems(answer):
    assert problems(answer) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Write a sentence here."),
        (" ... ", "Write a sentence here."),
        ("Is the blood in veins blue?", "Write a statement, not a question: it ends with a question mark."),
        (
            "The question assumes that veins hold blue blood.",
            "Leave out “The question assumes that” and start with the statement itself.",
        ),
        ("That veins hold blue blood.", "Leave out “That” and start with the statement itself."),
        (COMMENT.split(".")[0], "This is copied from the response. Say it in your own words."),
        (
            "Blood in the veins is dark red, and it only looks blue, mind you",  # 12 of 14 words in one run: 86%
            "This is copied from the response. Say it in your own words.",
        ),
        ("with a \x00 in it", "This text holds a NUL character, which cannot be stored. Please remove it."),
        ("broken \ud800", "This text is broken (a character that is not valid Unicode). Please type it again."),
        ("x" * 5_001, "This text is too long: 5,001 characters, at most 5,000 are taken."),
        (17, "This must be text."),
        (None, "This must be text."),
    ],
)
@pytest.mark.parametrize("part", ["presupposition", "correction"])
def test_a_check_blocks(part, text, said):
    assert problems(false({**GOOD, part: text})) == [(f"pairs.0.{part}", said, True)]


@pytest.mark.parametrize(
    ("pair", "field", "said"),
    [
        (
            {**GOOD, "presupposition": " ".join(["word"] * 31)},
            "pairs.0.presupposition",
            "31 words: can it be shorter?",
        ),
        (
            {**GOOD, "presupposition": "They are blue."},
            "pairs.0.presupposition",
            "A sentence starts with “They”. Name the thing, so that the sentence stands alone.",
        ),
        (
            {**GOOD, "correction": "Blood is red. It never turns blue."},
            "pairs.0.correction",
            "A sentence starts with “It”. Name the thing, so that the sentence stands alone.",
        ),
        (
            {**GOOD, "correction": "the blood in veins is BLUE"},
            "pairs.0.correction",
            "The correction says the same as the assumption. It usually says the opposite.",
        ),
    ],
)
def test_a_check_warns(pair, field, said):
    assert problems(false(pair)) == [(field, said, False)]


@pytest.mark.parametrize(
    "text", ["The blood in veins is red, it is said.", "Thistles are blue.", " ".join(["word"] * 30)]
)
def test_a_check_stays_quiet_just_inside_its_limit(text):
    assert problems(false({**GOOD, "correction": text})) == []


def test_a_text_of_which_just_four_fifths_are_copied_passes():
    # "veins is dark red" is a run of 4 of 5 words: 80% is not more than 80%.
    assert problems(false({**GOOD, "correction": "Blueish veins is dark red"})) == []


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        (None, ""),
        ([], ""),
        ("normal", ""),
        ({}, "label"),
        ({"label": "Normal"}, "label"),
        ({"label": ["normal"]}, "label"),
        ({"label": "normal", "mood": 1}, ""),
        ({"label": "normal", "reason": "subjective"}, "reason"),
        ({"label": "normal", "pairs": [GOOD]}, "pairs"),
        ({"label": "filter"}, "reason"),
        ({"label": "filter", "reason": "boring"}, "reason"),
        (false(), "pairs"),
        (false(GOOD, GOOD, GOOD, GOOD), "pairs"),
        (false("text"), "pairs"),
        ({"label": "false presupposition", "pairs": {"0": GOOD}}, "pairs"),
        (false({**GOOD, "mood": "x"}), "pairs.0"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(answer, field):
    assert [(p[0], p[2]) for p in problems(answer)] == [(field, True)]


@pytest.mark.parametrize(
    ("fields", "unanswered"),
    [
        ({}, ["question"]),
        ({"question": "usable"}, ["response"]),
        ({"question": "usable", "response": "informative"}, ["wrong"]),
        ({"question": "usable", "response": "informative", "wrong": "no"}, []),
        ({"question": "nonsense"}, []),
        ({"question": "usable", "response": "low quality", "wrong": "yes"}, []),
        ({"question": "something else"}, ["question"]),
    ],
)
def test_steps_are_asked_only_where_they_apply(fields, unanswered):
    assert [p.field for p in GENERATE.unanswered(fields)] == unanswered


@pytest.mark.parametrize(
    "answer",
    [
        {"label": "normal", "reason": None, "pairs": []},
        {"label": "filter", "reason": "subjective", "pairs": []},
        {"label": "filter", "reason": "nonsense", "pairs": []},
        {"label": "filter", "reason": "uninformative", "pairs": []},
        {"label": "filter", "reason": "low quality", "pairs": []},
        false(GOOD),
        false(GOOD, {"presupposition": "One.", "correction": "Two."}),
    ],
)
def test_an_answer_survives_the_way_to_the_screen_and_back(answer):
    assert GENERATE.compose(GENERATE.spread(answer)) == answer


def test_a_pair_left_empty_in_the_middle_is_named_and_not_dropped():
    fields = GENERATE.spread(false(GOOD)) | {
        "pairs.2.presupposition": "The third was written.",
        "pairs.2.correction": "The second was not.",
    }
    blocked = [p.field for p in GENERATE.read(PAYLOAD, GENERATE.compose(fields))[1]]
    assert blocked == ["pairs.1.presupposition", "pairs.1.correction"]


def test_spaces_are_trimmed_when_an_answer_is_stored():
    clean, _ = GENERATE.read(PAYLOAD, false({part: f"  {text}\n " for part, text in GOOD.items()}))
    assert clean == false(GOOD)


@pytest.mark.parametrize(
    ("answer", "fine"),
    [
        ({"valid": "A"}, True),
        ({"valid": "neither"}, True),
        ({"valid": "C"}, False),
        ({}, False),
        (None, False),
        ({"valid": "A", "x": 1}, False),
    ],
)
def test_a_verdict_is_one_of_three(answer, fine):
    assert (problems(answer, VALIDATE) == []) is fine


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"question": "Q?", "comment": "C"}, "'id' must be a text of 1 to 200 characters"),
        ({"id": "", "question": "Q?", "comment": "C"}, "'id' must be a text of 1 to 200 characters"),
        ({"id": True, "question": "Q?", "comment": "C"}, "'id' must be a text of 1 to 200 characters"),
        ({"id": "1", "comment": "C"}, "'question' is missing or not a text"),
        ({"id": "1", "question": "Q?", "comment": None}, "'comment' is missing or not a text"),
        ({"id": "1", "question": "Q?", "comment": " "}, "'comment' is missing or not a text"),
        ({"id": "1", "question": "Q?\x00", "comment": "C"}, "'question' holds a NUL character"),
        ({"id": "1", "question": "Q?", "comment": "C", "score": "many"}, "'score' must be a number"),
        ({"id": "1", "question": "Q?", "comment": "C", "score": "inf"}, "'score' must be a number"),
        ({"id": "1", "question": "Q?", "comment": "C", "score": True}, "'score' must be a number"),
        ({"id": "1", "question": "Q?", "comment": "C", "split": 3}, "'split' must be a text"),
        ({"id": "1", "question": "Q?", "comment": "C", "meta": "x"}, "'meta' must be an object"),
        (
            {"id": "1", "question": "Q?", "comment": "C", "gold": {"label": "maybe"}},
            "'gold' is not an answer: label: The label must be one of: false presupposition, normal, filter.",
        ),
    ],
)
def test_a_bad_row_says_why(row, why):
    with pytest.raises(BadRow, match="^" + why.replace("(", r"\(").replace(")", r"\)") + "$"):
        CREPE.read_row(row)


def test_a_row_keeps_what_it_does_not_know_in_meta():
    item = CREPE.read_row(
        {"id": 7, "question": "Q?", "comment": "C", "score": "12", "split": "dev", "fp_type": "x", "meta": {"a": 1}}
    )
    assert item.payload == {
        "id": "7",
        "question": "Q?",
        "comment": "C",
        "score": 12,
        "split": "dev",
        "meta": {"a": 1, "fp_type": "x"},
    }


def test_a_simulated_worker_with_accuracy_one_gives_the_known_gold():
    gold = false(GOOD)
    assert CREPE.imagine("generate", PAYLOAD, gold, [], 1.0, Random(1)) == gold
    normal = {"label": "normal", "reason": None, "pairs": []}
    assert CREPE.imagine("validate", PAYLOAD, gold, [normal, gold], 1.0, Random(1)) == {"valid": "B"}


def test_whatever_a_simulated_worker_writes_passes_the_form():
    rng = Random(7)
    for n in range(300):
        answer = CREPE.imagine("generate", {**PAYLOAD, "id": str(n)}, None, [], 0.5, rng)
        assert [p for p in problems(answer) if p[2]] == []


def test_gold_rows_carry_exactly_the_papers_keys():
    gold = {
        name: []
        for name in ("labels", "presuppositions", "corrections", "raw_labels", "raw_presuppositions", "raw_corrections")
    }
    assert list(CREPE.export_rows(PAYLOAD | {"meta": {"x": 1}}, gold)[0]) == [
        "id",
        "question",
        "comment",
        "labels",
        "presuppositions",
        "corrections",
        "raw_labels",
        "raw_presuppositions",
        "raw_corrections",
        "passages",
    ]


@pytest.mark.parametrize(("given", "kept"), [("12", 12), ("1.5", 1.5), (" 3 ", 3), ("-2e1", -20.0), (7, 7), (0.5, 0.5)])
def test_a_score_is_a_number_however_the_file_writes_it(given, kept):
    assert CREPE.read_row({"id": "1", "question": "Q?", "comment": "C", "score": given}).payload["score"] == kept
