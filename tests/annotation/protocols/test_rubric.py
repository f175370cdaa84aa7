"""Rubric rating: blind outputs, a complete grid, means as gold."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.forms import AnswerForm, input_names, read_draft
from annotation.protocols.base import BadOption, BadRow, Collect, Counted, Settle
from annotation.protocols.rubric import RUBRIC

ROW = {
    "id": "q1",
    "question": "Why is it so?",
    "comment": "It is not so.",
    "outputs": [
        {"system": "reference", "presupposition": "It is so.", "correction": "It is not."},
        {"system": "model-x", "presupposition": "Is it?", "correction": "No."},
        {"system": "model-y", "presupposition": "So.", "correction": "Not so."},
    ],
}
TWO = {"criteria": "fluency: 0=no, 3=yes; detail: 1, 2", "raters": 2}
PROTOCOL = RUBRIC.fitted(RUBRIC.read_options(TWO))
STAGE = PROTOCOL.stage("rate")
PAYLOAD = PROTOCOL.read_row(ROW, "work").payload
SYSTEMS = ["reference", "model-x", "model-y"]


def seen(assignment=7):
    payload = STAGE.arranged(PAYLOAD, assignment)
    return payload, STAGE.fitted(payload)


def scores(fluency=3, detail=1):
    return {"fluency": fluency, "detail": detail}


def full(names, **more):
    return {"scores": {name: scores(**more) for name in names}}


def test_nothing_a_rater_sees_names_a_system():
    payload, stage = seen()
    shown = {name: payload[name] for name in PROTOCOL.shown}
    said = json.dumps([shown, [repr(q) for q in stage.questions], input_names(stage)])
    assert [system for system in SYSTEMS if system in said] == []


def test_every_assignment_has_an_order_of_its_own_and_keeps_it():
    orders = [tuple(seen(n)[0]["systems"]) for n in range(200)]
    assert len(set(orders)) == 6
    assert orders == [tuple(seen(n)[0]["systems"]) for n in range(200)]


def test_letters_come_in_the_assignments_order_with_the_texts_of_their_systems():
    payload, stage = seen()
    texts = {output["system"]: dict(output["texts"]) for output in PAYLOAD["outputs"]}
    assert [output["letter"] for output in payload["outputs"]] == ["A", "B", "C"]
    assert [output["texts"] for output in payload["outputs"]] == [texts[system] for system in payload["systems"]]
    assert [dict(question.about) for question in stage.questions] == [texts[s] for s in payload["systems"]]


def test_the_page_posts_letters_and_what_is_stored_names_systems():
    payload, stage = seen()
    fields = {name: "3" if "fluency" in name else "1" for name in input_names(stage)} | {"scores.B.detail": "2"}
    form = AnswerForm.of_fields(stage, payload, fields)
    assert form.problems == []
    second = payload["systems"][1]
    assert form.answer == {"scores": {s: scores(detail=2 if s == second else 1) for s in payload["systems"]}}


def test_an_answer_by_letter_and_one_by_system_are_the_same():
    payload, stage = seen()
    by_letter = {"scores": {"A": scores(0, 2), "B": scores(), "C": scores()}}
    by_system = {"scores": dict(zip(payload["systems"], by_letter["scores"].values(), strict=True))}
    assert stage.read(PAYLOAD, by_letter) == (by_system, [])
    assert stage.read(PAYLOAD, by_system) == (by_system, [])


def test_in_a_file_outputs_are_named_by_system_and_letters_mean_nothing():
    stage = STAGE.fitted(PAYLOAD)
    assert stage.read(PAYLOAD, full(SYSTEMS)) == (full(SYSTEMS), [])
    _, problems = stage.read(PAYLOAD, full("ABC"))
    assert [p.text for p in problems] == ["There is no output 'A': rate reference, model-x, model-y."]


def test_every_cell_that_is_not_rated_is_named():
    payload, stage = seen()
    form = AnswerForm.of_fields(stage, payload, {"scores.A.fluency": "0", "scores.B.detail": "7"})
    assert [(p.field, p.text) for p in form.problems] == [
        ("scores.A.detail", "Output A: choose a value for Detail."),
        ("scores.B.fluency", "Output B: choose a value for Fluency."),
        ("scores.B.detail", "Output B: choose a value for Detail."),
        ("scores.C.fluency", "Output C: choose a value for Fluency."),
        ("scores.C.detail", "Output C: choose a value for Detail."),
    ]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, [("scores", "An answer is an object with scores: output, then criterion, then number.")]),
        (
            {"scores": {}, "more": 1},
            [("scores", "An answer is an object with scores: output, then criterion, then number.")],
        ),
        (full("ABCD"), [("scores", "There is no output 'D': rate A, B, C.")]),
        (
            full("AB"),
            [
                ("scores.C.fluency", "Output C: fluency is not rated yet: 0 or 3."),
                ("scores.C.detail", "Output C: detail is not rated yet: 1 or 2."),
            ],
        ),
        (
            {"scores": {"A": 3, "B": scores(), "C": scores()}},
            [("scores.A", "The scores of output A are an object: criterion, then number.")],
        ),
        (
            {"scores": {"A": scores(1), "B": scores(True), "C": scores("3")}},
            [
                ("scores.A.fluency", "Output A: fluency takes 0 or 3; it was 1."),
                ("scores.B.fluency", "Output B: fluency takes 0 or 3; it was True."),
                ("scores.C.fluency", "Output C: fluency takes 0 or 3; it was '3'."),
            ],
        ),
        (
            {"scores": {"A": {**scores(), "charm": 1}, "B": scores(), "C": scores()}},
            [("scores.A", "There is no criterion 'charm'; there is detail, fluency.")],
        ),
    ],
)
def test_an_answer_that_is_not_one_is_refused_cell_by_cell(raw, said):
    payload, stage = seen()
    assert [(p.field, p.text) for p in stage.read(payload, raw)[1]] == said


def test_an_output_cannot_be_rated_twice():
    payload, stage = seen()
    first = payload["systems"][0]
    _, problems = stage.read(payload, {"scores": {"A": scores(), first: scores()}})
    assert [p.text for p in problems] == ["Output A is rated twice."]


def test_a_draft_comes_back_as_it_was_sent():
    _, stage = seen()
    begun = {"scores": {"B": {"fluency": 0}}}
    assert read_draft(stage, begun) == ({"scores.B.fluency": "0"}, [])
    assert stage.compose({"scores.B.fluency": "0"}) == begun


def counted(*answers):
    return [Counted(n, "rate", answer, (), n) for n, answer in enumerate(answers, 1)]


def test_gold_is_the_mean_of_two_raters():
    low, high = full(SYSTEMS, fluency=0), full(SYSTEMS, fluency=3, detail=2)
    assert PROTOCOL.next_step(PAYLOAD, counted(low), TWO) == Collect("rate", 2)
    step = PROTOCOL.next_step(PAYLOAD, counted(low, high), TWO)
    assert isinstance(step, Settle)
    assert step.gold == {
        "scores": {system: {"fluency": 1.5, "detail": 1.5} for system in SYSTEMS},
        "ratings": [low["scores"], high["scores"]],
    }
    assert PROTOCOL.export_rows(PAYLOAD, step.gold) == [
        {"id": "q1", "question": "Why is it so?", "comment": "It is not so.", **step.gold}
    ]


@given(st.permutations(range(3)), st.lists(st.sampled_from([0, 3]), min_size=6, max_size=6))
def test_the_order_of_raters_and_outputs_changes_no_mean(order, values):
    answers = [{"scores": {s: scores(values[3 * n + i]) for i, s in enumerate(SYSTEMS)}} for n in range(2)]
    shuffled = [{"scores": {SYSTEMS[i]: a["scores"][SYSTEMS[i]] for i in order}} for a in reversed(answers)]
    first, second = (PROTOCOL.next_step(PAYLOAD, counted(*a), TWO) for a in (answers, shuffled))
    assert first.gold["scores"] == second.gold["scores"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outputs": ROW["outputs"][:1]}, "'outputs' must be a list of 2 to 10 outputs"),
        ({"outputs": ROW["outputs"] * 4}, "'outputs' must be a list of 2 to 10 outputs"),
        (
            {"outputs": [ROW["outputs"][0]] * 2},
            "the system 'reference' has two outputs; every output needs a system of its own",
        ),
        (
            {"outputs": [{"system": "A", "t": "x"}, ROW["outputs"][0]]},
            "the 'system' of output 1 must be a name of 2 to 60 characters",
        ),
        ({"outputs": [{"system": "ab"}, ROW["outputs"][0]]}, "output 1 (ab) has no text beside its system"),
        (
            {"outputs": [{"system": "ab", "t": 3}, ROW["outputs"][0]]},
            "'t' of output 1 (ab) is not a text of at most 5,000 characters",
        ),
        ({"question": " "}, "'question' is missing or not a text"),
        ({"id": None}, "'id' must be a text of 1 to 200 characters"),
        ({"gold": full(["reference"])}, "'gold' is not an answer: Output model-x: fluency is not rated yet: 0 or 3."),
    ],
)
def test_a_row_that_is_no_item_is_refused_with_the_reason(change, said):
    with pytest.raises(BadRow) as refused:
        PROTOCOL.read_row({**ROW, **change}, "work")
    assert str(refused.value) == said


def test_criteria_are_checked_when_a_study_is_made():
    with pytest.raises(BadOption, match="criteria: fluency: give from 2 to 10 values"):
        RUBRIC.read_options({"criteria": "fluency: 1"})


def test_a_studys_own_criteria_are_its_measures_and_in_its_snapshot():
    assert [m.name for m in STAGE.measures] == ["fluency", "detail"]
    asked = PROTOCOL.snapshot()["stages"][0]["questions"][0]["columns"]
    assert [(c["name"], [v["value"] for v in c["choices"]]) for c in asked] == [
        ("fluency", ["0", "3"]),
        ("detail", ["1", "2"]),
    ]


@pytest.mark.parametrize("accuracy", [0, 0.5, 1])
def test_the_simulated_crowd_gives_answers_that_are_taken(accuracy):
    for payload in (PAYLOAD, seen()[0]):
        answer = PROTOCOL.imagine("rate", payload, None, [], accuracy, Random(1))
        assert STAGE.fitted(payload).read(payload, answer) == (answer, [])


def test_an_answer_is_right_with_three_quarters_of_the_known_scores():
    known = full(SYSTEMS)
    nearly = {"scores": {**known["scores"], "model-x": scores(detail=2)}}
    far = full(SYSTEMS, detail=2)
    assert [STAGE.matches(known, given, {}) for given in (known, nearly, far)] == [True, True, False]
