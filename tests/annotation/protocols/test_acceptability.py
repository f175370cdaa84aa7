"""Acceptability: two blind ratings, their mean, and what a person decides where they differ."""

from random import Random

import pytest

from annotation.protocols.acceptability import ACCEPTABILITY
from annotation.protocols.base import BadRow, Collect, Counted, Settle

ROW = {"id": "gpt-1", "question": "When?", "answer": "Never.", "system": "gpt", "has_false_assumption": True}
PAYLOAD = ACCEPTABILITY.read_row(ROW, "work").payload
STAGE = ACCEPTABILITY.stage("rate")


def step(*ratings, raters=2, ruling=""):
    answers = [Counted(n, "rate", {"acceptable": r}, (), n) for n, r in enumerate(ratings, 1)]
    return ACCEPTABILITY.step(PAYLOAD, answers, {"raters": raters}, ruling)


@pytest.mark.parametrize(
    ("raters", "ratings", "label", "score"),
    [
        (2, [True, True], "acceptable", 1.0),
        (2, [False, False], "not acceptable", 0.0),
        (2, [True, False], "raters differ", 0.5),
        (3, [True, False, True], "raters differ", 2 / 3),
        (2, [True, True, False], "acceptable", 1.0),
    ],
)
def test_the_score_is_the_mean_of_the_ratings(raters, ratings, label, score):
    found = step(*ratings, raters=raters)
    assert isinstance(found, Settle)
    assert (found.label, found.gold) == (label, {"score": score, "ratings": ratings[:raters], "adjudicated": None})


def test_an_answer_waits_for_its_second_rating():
    assert step(True) == Collect("rate", 2)


@pytest.mark.parametrize(("value", "label"), [("true", "acceptable"), ("false", "not acceptable")])
def test_what_is_decided_stands_beside_ratings_that_stay(value, label):
    found = step(True, False, ruling=value)
    assert (found.label, found.gold) == (
        label,
        {"score": 0.5, "ratings": [True, False], "adjudicated": value == "true"},
    )
    assert step(True, ruling=value) == Collect("rate", 2)


def test_raters_see_neither_system_nor_kind_nor_the_id_that_may_name_them():
    assert ACCEPTABILITY.shown == ("question", "answer")


def test_an_export_says_who_answered_and_how_it_was_rated():
    assert ACCEPTABILITY.export_rows(PAYLOAD, step(True, False).gold) == [
        {
            "id": "gpt-1",
            "question": "When?",
            "system": "gpt",
            "answer": "Never.",
            "has_false_assumption": True,
            "score": 0.5,
            "ratings": [True, False],
            "adjudicated": None,
        }
    ]


@pytest.mark.parametrize("raw", [None, {}, {"acceptable": 1}, {"acceptable": "yes"}, {"acceptable": True, "more": 1}])
def test_only_true_or_false_is_an_answer(raw):
    assert [p.text for p in STAGE.read(PAYLOAD, raw)[1]] == ["Say whether the answer is acceptable: true or false."]


@pytest.mark.parametrize("given", [True, False])
def test_the_page_and_the_answer_say_the_same(given):
    assert STAGE.compose(STAGE.spread({"acceptable": given})) == {"acceptable": given}
    assert STAGE.measure("acceptable").read({"acceptable": given}) == ("yes" if given else "no")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": ""}, "'answer' is missing or not a text"),
        ({"system": None}, "'system' is missing or not a text"),
        ({"has_false_assumption": "maybe"}, "'has_false_assumption' must be true or false; it was 'maybe'"),
        ({"has_false_assumption": None}, "'has_false_assumption' must be true or false; it was None"),
    ],
)
def test_a_row_that_is_no_item_is_refused(change, said):
    with pytest.raises(BadRow) as refused:
        ACCEPTABILITY.read_row({**ROW, **change}, "work")
    assert str(refused.value) == said


def test_words_of_a_csv_file_are_true_and_false_too():
    flags = [
        ACCEPTABILITY.read_row({**ROW, "has_false_assumption": w}, "work").payload["has_false_assumption"]
        for w in ("True", "0")
    ]
    assert flags == [True, False]


def test_the_simulated_crowd_gives_answers_that_are_taken():
    answer = ACCEPTABILITY.imagine("rate", PAYLOAD, None, [], 0.5, Random(1))
    assert STAGE.read(PAYLOAD, answer) == (answer, [])
