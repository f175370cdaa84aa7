"""NOPE: its form, its pre-screener, and the way from ratings to labels (PROTOCOLS.md section 2)."""

import json
from pathlib import Path
from random import Random

import pytest

from annotation.protocols import NOPE
from annotation.protocols.base import BadRow, Collect, Counted, Settle, Unresolved
from annotation.protocols.nope import half, label, label_of, majority_of

(RATE,) = NOPE.stages
PRESCREENER = Path(__file__).parents[4] / "shared" / "data" / "nope_prescreener.json"
PAYLOAD = {"id": "p1-original", "item": "p1", "version": "original", "premise": "P.", "hypothesis": "H."}
OPTIONS = NOPE.read_options({})


# --- The form -------------------------------------------------------------------------------------


def taken(raw):
    answer, problems = RATE.read(PAYLOAD, raw)
    assert not problems, problems
    return answer


def said(raw):
    return [(p.field, p.text) for p in RATE.read(PAYLOAD, raw)[1] if p.blocking]


@pytest.mark.parametrize(("position", "rating"), [(0, 0.0), (500, 50.0), (900, 96.43), (1000, 100.0)])
def test_the_rating_is_computed_from_the_position(position, rating):
    assert taken({"position": position}) == {
        "position": position,
        "rating": rating,
        "confusing": False,
        "confusing_reason": "",
    }


def test_a_rating_from_outside_is_never_accepted():
    assert said({"position": 3, "rating": 99.0}) == [
        ("rating", "Send the slider's position alone; the rating is computed from it.")
    ]


@pytest.mark.parametrize("position", [-1, 1001, 3.0, True, "3", [], {}])
def test_what_is_no_position_is_refused(position):
    assert [field for field, _ in said({"position": position})] == ["position"]


@pytest.mark.parametrize("raw", [{}, {"position": None}])
def test_a_slider_that_was_not_touched_is_refused(raw):
    assert said(raw) == [("position", "Please adjust the slider to indicate your response.")]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"confusing": True}, "confusing_reason"),
        ({"confusing": True, "confusing_reason": " ab "}, "confusing_reason"),
        ({"confusing": True, "confusing_reason": "abc"}, "confusing_reason"),
        ({"confusing": True, "confusing_reason": 1234}, "confusing_reason"),
        ({"confusing": True, "confusing_reason": "a\x00bcd"}, "confusing_reason"),
        ({"confusing": False, "confusing_reason": "it is odd"}, "confusing_reason"),
        ({"confusing": "yes"}, "confusing"),
        ({"mood": "fine"}, ""),
    ],
)
def test_the_confusing_box_wants_a_reason_of_more_than_three_characters(given, field):
    assert [f for f, _ in said({"position": 5, **given})] == [field]


def test_a_reason_of_four_characters_will_do():
    assert taken({"position": 5, "confusing": True, "confusing_reason": " who? "})["confusing_reason"] == "who?"


@pytest.mark.parametrize(
    ("fields", "position"),
    [
        ({"position": "612"}, 612),
        ({"position": "", "position.typed": "96.43"}, 900),
        ({"position": "3", "position.typed": "96,43 %"}, 900),  # without JavaScript what is typed is newer
        ({"position.typed": "0"}, 0),
        ({"position.typed": "96.4"}, 899),
        ({"position.typed": "much"}, "much"),
        ({"position.typed": "101"}, "101"),
        ({"position.typed": "nan"}, "nan"),
        ({"position": "-1"}, "-1"),
        ({}, None),
    ],
)
def test_a_form_sends_a_position_or_without_a_slider_a_number(fields, position):
    assert RATE.compose(fields)["position"] == position


@pytest.mark.parametrize("raw", [{"position": 612}, {"position": 0, "confusing": True, "confusing_reason": "odd one"}])
def test_fields_and_answers_go_into_each_other(raw):
    answer = taken(raw)
    composed = RATE.compose(RATE.spread(answer))
    assert taken(composed) == answer


# --- What other systems wrote ---------------------------------------------------------------------


def test_a_published_rating_becomes_its_position():
    assert RATE.adopt({"rating": 96.43, "confusing": False}) == {"position": 900, "confusing": False}
    assert RATE.adopt({"position": 900, "rating": 96.43}) == {"position": 900}
    assert RATE.adopt({"position": 1, "rating": 0}) == {"position": 1}  # two positions have this rating
    assert RATE.adopt({"position": 7}) == {"position": 7}
    assert RATE.adopt("nonsense") == "nonsense"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"rating": 98.12}, "98.12 is no rating of the slider; the nearest are 98.11 and 98.16"),
        ({"rating": "98.11"}, "'rating' must be a number; it was '98.11'"),
        ({"rating": True}, "'rating' must be a number; it was True"),
        ({"rating": None}, "'rating' must be a number; it was None"),
        ({"rating": 96.43, "position": 901}, "the position 901 has the rating 96.49, not 96.43"),
    ],
)
def test_a_rating_that_no_slider_gives_is_refused(answer, sentence):
    with pytest.raises(BadRow, match=sentence):
        RATE.adopt(answer)


# --- Pre-screener and fillers ----------------------------------------------------------------------


def at(rating):
    return {"rating": rating}


@pytest.mark.parametrize(
    ("low", "high", "rating", "right"),
    [
        (50, 99.9, 45.0, False),  # exactly 5 points away
        (50, 99.9, 45.01, True),
        (50, 99.9, 50, True),
        (50, 99.9, 100, True),
        (100, 100, 95.0, False),
        (100, 100, 95.01, True),
        (0, 0, 4.99, True),
        (0, 0, 5.0, False),
        (0, 20, 25.0, False),
        (40, 60, 65.0, False),
        (40, 60, 64.99, True),
    ],
)
def test_a_trial_is_right_less_than_five_points_beside_its_range(low, high, rating, right):
    assert RATE.matches({"low": low, "high": high}, at(rating), OPTIONS) is right


def test_the_tolerance_is_a_setting_and_practice_has_none():
    assert RATE.matches({"low": 100, "high": 100}, at(99), {"tolerance": 0}) is False
    assert RATE.matches({"low": 100, "high": 100}, at(100), {"tolerance": 0}) is True
    assert RATE.matches({"low": 99, "high": 100, "tolerance": 0}, at(98.98), OPTIONS) is False


@pytest.mark.skipif(not PRESCREENER.exists(), reason="the published pre-screener is not part of this repository")
def test_the_published_pre_screener_by_its_rule():
    published = json.loads(PRESCREENER.read_text())
    items = [NOPE.read_row(row, "qualification") for row in published["items"]]
    assert (len(items), published["pass_rule"]["needed"]) == (10, round(OPTIONS["pass_mark"] * 10))
    assert OPTIONS["tolerance"] == published["pass_rule"]["tolerance_points"]
    ends = [[RATE.matches(item.gold, at(r), OPTIONS) for item in items] for r in (0, 50, 100)]
    assert [sum(right) for right in ends] == [4, 3, 3]


@pytest.mark.parametrize(
    ("expected", "rating", "right"),
    [
        ("entailment", 90.0, True),
        ("entailment", 89.99, False),
        ("contradiction", 10.0, True),
        ("contradiction", 10.01, False),
        ("neutral", 50.0, None),
        ("neutral", 100.0, None),
    ],
)
def test_fillers_are_right_at_their_end_and_neutral_ones_are_not_scored(expected, rating, right):
    assert RATE.matches({"expected": expected}, at(rating), OPTIONS) is right


def test_practice_says_what_was_wrong_without_the_answer():
    payload = {"meta": {"too_high": "Not certain.", "too_low": "Not impossible."}}
    known = {"low": 0.01, "high": 99.99, "tolerance": 0}
    assert RATE.hint(payload, known, at(100.0)) == "Not certain."
    assert RATE.hint(payload, known, at(0.0)) == "Not impossible."
    assert RATE.hint({}, known, at(0.0)) == "Your rating is too low."


# --- Labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rating", "expected"),
    [(0.0, "C"), (2.0, "C"), (2.01, "N"), (50.0, "N"), (95.0, "N"), (95.01, "E"), (100.0, "E")],
)
def test_intervals_are_closed_on_the_right(rating, expected):
    assert label_of(rating, 2.0, 95.0) == expected


@pytest.mark.parametrize(
    ("labels", "majority"),
    [
        ("EEEEE", "E"),
        ("EEENN", "E"),
        ("EENNC", None),
        ("NNNCC", "N"),
        ("EENN", None),  # the authors' general rule would take the earlier of two equal ones
        ("EEEN", "E"),
        ("EEN", "E"),
        ("ENC", None),
        ("EE", None),  # never fewer than three
        ("E", None),
        ("", None),
        ("EEENNN", None),
        ("EEEENN", "E"),
    ],
)
def test_the_label_of_more_than_half_and_never_of_fewer_than_three(labels, majority):
    assert majority_of(labels) == majority


def rated(*ratings):
    return [Counted(n, "rate", {"rating": r}, worker=n) for n, r in enumerate(ratings, 1)]


@pytest.mark.parametrize("given", [0, 1, 4])
def test_an_item_is_rated_until_it_has_its_votes(given):
    assert NOPE.next_step(PAYLOAD, rated(*[50.0] * given), OPTIONS) == Collect("rate", 5)


def test_a_complete_item_is_settled_and_labelled_by_its_raters_thresholds():
    step = NOPE.next_step(PAYLOAD, rated(97.0, 97.0, 97.0, 1.0, 1.0, 50.0), OPTIONS)
    assert isinstance(step, Settle)
    assert step.label == ""
    assert (step.gold["ratings"], step.gold["workers"]) == ([97.0, 97.0, 97.0, 1.0, 1.0], [1, 2, 3, 4, 5])
    usual = dict.fromkeys(range(1, 6), (2.0, 95.0))
    labelled = label(step.gold, usual)
    assert isinstance(labelled, Settle)
    assert (labelled.label, labelled.gold["nli_labels"]) == ("E", ["E", "E", "E", "C", "C"])
    assert labelled.why == "Majority of 5 ratings: 3 E, 2 C."
    # The same ratings under another line of one rater; labelling again starts from the ratings.
    again = label(labelled.gold, usual | {1: (2.0, 98.0)})
    assert isinstance(again, Unresolved)
    assert (again.gold["label"], again.gold["nli_labels"]) == (None, ["N", "E", "E", "C", "C"])
    assert again.why == "No majority: 2 E, 1 N, 2 C."


def test_a_workers_second_rating_is_left_out():
    twice = [
        *rated(10.0, 20.0),
        Counted(9, "rate", {"rating": 99.0}, worker=1),
        *rated(10.0, 20.0, 30.0, 40.0, 50.0)[2:],
    ]
    step = NOPE.next_step(PAYLOAD, twice, OPTIONS)
    assert isinstance(step, Settle)
    assert step.gold["ratings"] == [10.0, 20.0, 30.0, 40.0, 50.0]


def test_two_raters_make_no_label():
    step = NOPE.next_step(PAYLOAD, rated(99.0, 99.0), {**OPTIONS, "votes": 2})
    assert isinstance(step, Settle)
    found = label(step.gold, dict.fromkeys((1, 2), (10.0, 90.0)))
    assert isinstance(found, Unresolved)
    assert found.why == "No majority: 2 E; nothing is labelled from fewer than 3 ratings."


# --- Rows -----------------------------------------------------------------------------------------

ROW = {"id": "p1-o", "item": "p1", "version": "original", "premise": "P.", "hypothesis": "H.", "trigger_type": "clefts"}


def test_a_row_keeps_its_design_and_what_else_it_has():
    item = NOPE.read_row({**ROW, "polarity": "non-negated", "adversarial": True, "source": "own"})
    assert item.payload == {
        "id": "p1-o",
        "hypothesis": "H.",
        "premise": "P.",
        "item": "p1",
        "version": "original",
        "trigger_type": "clefts",
        "polarity": "non-negated",
        "adversarial": True,
        "meta": {"source": "own"},
    }
    assert item.gold is None


def test_a_published_row_is_taken_as_it_is():
    row = {
        "item_id": 7,
        "version": "negated",
        "trigger_type": "clefts",
        "original_was_negated": True,
        "context1": "",
        "context2": " One. ",
        "target_sentence": "Two.",
        "premise": " One. Two.",
        "hypothesis": "H.",
    }
    payload = NOPE.read_row(row).payload
    assert (payload["id"], payload["item"], payload["premise"]) == ("7-negated", "7", "One. Two.")
    assert payload["polarity"] == "non-negated"  # its original is the negated one


def test_a_row_of_the_release_is_taken_too():
    row = {
        "uid": "9_negated",
        "premise": "KING: Hello. GUEST: Bye.",
        "hypothesis": "H.",
        "label": "E",
        "metadata": {
            "item_id": "9",
            "context1": "",
            "context2": "Hello.",
            "target_sentence": "Bye.",
            "speaker_context1": "",
            "speaker_context2": "KING",
            "speaker_target": "GUEST",
            "type": "negated",
            "original_negated": "False",
            "adversarial": "False",
            "trigger_type": "clefts",
            "ratings": [100.0],
        },
    }
    item = NOPE.read_row(row)
    assert (item.payload["id"], item.payload["version"], item.payload["polarity"]) == (
        "9_negated",
        "negated",
        "negated",
    )
    assert [line["speaker"] for line in item.payload["lines"]] == ["Speaker B", "Speaker A"]
    assert item.payload["meta"] == {"label": "E", "ratings": [100.0]}


def test_what_was_exported_can_be_imported_as_items_again():
    payload = NOPE.read_row({**ROW, "adversarial": True}).payload
    gold = {"label": "E", "nli_labels": ["E"] * 5, "ratings": [99.0] * 5, "workers": [1, 2, 3, 4, 5]}
    again = NOPE.read_row(NOPE.export_rows(payload, gold)[0]).payload
    assert {name: again[name] for name in payload} == payload


def test_speakers_become_letters_from_the_targets_on_and_lines_change_with_them():
    row = {k: v for k, v in ROW.items() if k != "premise"}
    row |= {"context1": "Hello.", "context2": "Hi.", "target": "Bye."}
    spoken = {"context1": "KING", "context2": "GUEST", "target": "GUEST"}
    payload = NOPE.read_row({**row, "speakers": spoken}).payload
    assert payload["premise"] == "Hello. Hi. Bye."
    assert payload["lines"] == [
        {"speaker": "Speaker B", "text": "Hello."},
        {"speaker": "Speaker A", "text": "Hi. Bye."},
    ]
    assert "lines" not in NOPE.read_row({**row, "speakers": {}}).payload
    assert NOPE.read_row(payload).payload == payload


def test_a_text_without_context_may_be_empty():
    assert NOPE.read_row({**ROW, "premise": ""}).payload["premise"] == ""


@pytest.mark.parametrize(
    ("change", "role", "sentence"),
    [
        ({"version": "prior"}, "work", "'version' must be one of original, negated; it was 'prior'"),
        ({"version": None}, "work", "'version' must be one of"),
        ({"item": None}, "work", "'item' is missing"),
        ({"polarity": "up"}, "work", "'polarity' must be one of non-negated, negated; it was 'up'"),
        ({"adversarial": "maybe"}, "work", "'adversarial' must be true or false; it was 'maybe'"),
        ({"trigger_type": ""}, "work", "'trigger_type' is missing"),
        ({"premise": None}, "work", "'premise' is missing, or 'target'"),
        ({"hypothesis": " "}, "work", "'hypothesis' is missing"),
        ({"id": ""}, "work", "'id' must be a text"),
        ({"speakers": "KING", "target": "T."}, "work", "'speakers' must name who says"),
        ({"lines": [{"speaker": "A"}]}, "work", "'lines' must be a list of objects with 'speaker' and 'text'"),
        ({"meta": 3}, "work", "'meta' must be an object"),
        ({}, "filler", "'expected' must be one of entailment, neutral, contradiction; it is missing"),
        ({"expected": "e"}, "filler", "'expected' must be one of entailment, neutral, contradiction; it was 'e'"),
        ({"low": 3}, "qualification", "'high' must be a number from 0 to 100; it was None"),
        ({"low": 30, "high": 20}, "practice", "must be a range within 0 to 100"),
        ({"low": "x", "high": 20}, "practice", "'low' must be a number from 0 to 100; it was 'x'"),
        ({"low": "nan", "high": 20}, "practice", "must be a range within 0 to 100"),
    ],
)
def test_a_bad_row_is_refused_with_what_would_be_right(change, role, sentence):
    with pytest.raises(BadRow, match=sentence):
        NOPE.read_row({**ROW, **change}, role)


def test_the_words_of_a_csv_file_are_read():
    item = NOPE.read_row({**ROW, "adversarial": "True", "low": "5", "high": "10.5"}, "qualification")
    assert item.gold == {"low": 5.0, "high": 10.5}
    assert NOPE.read_row({**ROW, "adversarial": "1"}).payload["adversarial"] is True


def test_the_two_versions_of_an_item_lie_in_different_halves_in_a_random_order():
    halves = [[half({"item": f"i{n}", "version": v}) for v in ("original", "negated")] for n in range(200)]
    assert all(sorted(pair) == [0, 1] for pair in halves)
    assert 70 < sum(pair[0] for pair in halves) < 130
    assert half({"id": "filler"}) is None


def test_workers_never_see_an_id_that_says_what_is_expected():
    assert not {"id", "item", "version", "expected"} & set(NOPE.shown)


def test_the_simulated_crowd_rates_as_accurately_as_it_is_told():
    rng, known = Random(1), {"expected": "entailment"}
    for accuracy, low, high in ((1.0, 0.9, 1.0), (0.0, 0.1, 0.35)):
        answers = [taken(NOPE.imagine("rate", PAYLOAD, known, (), accuracy, rng)) for _ in range(300)]
        assert low <= sum(a["rating"] >= 90 for a in answers) / 300 <= high
    assert all(taken(NOPE.imagine("rate", {"id": str(n)}, None, (), 1.0, rng)) for n in range(20))
