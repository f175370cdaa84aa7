"""`manage.py score`, as a person runs it."""

import gzip
import json
import re

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.validation.test_exports import finished_study

FP = "false presupposition"
GOLD = [
    {"id": "q1", "labels": [FP], "presuppositions": ["The sky is green."], "corrections": ["It is blue."]},
    {"id": "q2", "labels": ["normal"], "presuppositions": [], "corrections": []},
    {"id": 3, "labels": ["normal"], "presuppositions": [], "corrections": []},
]
SAID = [{"id": "3", "label": "normal"}, {"id": "q1", "label": "false_presupposition"}, {"id": "q2", "labels": [FP]}]
WROTE = [{"id": "q1", "presupposition": "Sky is green", "correction": "Blue"}]
PAIRS = [
    {"id": "s1", "kind": "single_hop", "question_without": "A?", "question_with": "B?", "verdict": "keep"},
    {"id": "s2", "kind": "single_hop", "question_without": "C?", "question_with": "D?", "verdict": "holds"},
]
ANSWERS = [{"id": "s1", "question": "with", "answer": "Yes"}, {"id": "s1", "question": "without", "answer": "Yes."}]


@pytest.fixture
def score(tmp_path, monkeypatch, capsys):
    """score("crepe-detection", gold, predictions, ...) -> what was printed; files in the folder are named so."""
    monkeypatch.chdir(tmp_path)

    def run(kind, gold, predictions, *more):
        for name, rows in (("gold", gold), ("said", predictions)):
            text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / name).write_text(text)
        call_command("score", kind, "--gold", "gold", "--predictions", "said", "--resamples", "50", *more)
        return json.loads(capsys.readouterr().out)

    return run


def test_detection_is_scored_and_each_item_with_it(score, tmp_path):
    found = score("crepe-detection", GOLD, SAID, "--per-item", "items")
    assert list(found) == ["macro_f1", "per_class", "n"]
    assert list(found["macro_f1"]) == ["value", "low", "high"]
    assert (found["macro_f1"]["value"], found["n"]) == (0.666667, 3)
    assert [json.loads(line) for line in (tmp_path / "items").read_text().splitlines()] == [
        {"id": "q1", "gold": FP, "predicted": FP, "right": True},
        {"id": "q2", "gold": "normal", "predicted": FP, "right": False},
        {"id": "3", "gold": "normal", "predicted": "normal", "right": True},
    ]


def test_writing_is_scored_over_golds_false_presuppositions(score, tmp_path):
    found = score("crepe-writing", GOLD, [*WROTE, {"id": "q2"}], "--per-item", "items")
    assert {name: found["unigram_f1"][name] for name in ("value", "presupposition")} == {
        "value": 0.75,
        "presupposition": {"value": 1.0, "low": 1.0, "high": 1.0},
    }
    assert (isinstance(found["bleu"], float), found["n"]) == (True, 1)
    assert [json.loads(line) for line in (tmp_path / "items").read_text().splitlines()] == [
        {
            "id": "q1",
            "presupposition": {"predicted": "Sky is green", "unigram_f1": 1.0, "reference": "The sky is green."},
            "correction": {"predicted": "Blue", "unigram_f1": 0.5, "reference": "It is blue."},
        }
    ]


def test_of_pairs_those_that_were_kept_are_scored(score, tmp_path):
    given = [*ANSWERS, {"id": "s2", "question": "with", "answer": "No"}]
    found = score("synqa2-detection", PAIRS, given, "--per-item", "items")
    assert (found["accuracy"]["value"], found["other"], found["n"]) == (0.5, 0.0, 2)
    assert {name: each["value"] for name, each in found["by_kind"].items()} == {
        "single_hop": 0.5,
        "with": 1.0,
        "without": 0.0,
    }
    assert [json.loads(line)["right"] for line in (tmp_path / "items").read_text().splitlines()] == [False, True]


def test_single_questions_are_scored_as_well(score):
    gold = [{"id": f"f{n}", "question": "?", "has_false_assumption": n < 2, "kind": "multi_hop"} for n in range(4)]
    given = [{"id": f"f{n}", "answer": answer} for n, answer in enumerate(["Yes", "NO", "no", "Hm"])]
    found = score("synqa2-detection", gold, given)
    assert (found["accuracy"]["value"], found["other"], found["n"]) == (0.5, 0.25, 4)


def test_files_may_be_compressed(tmp_path, capsys):
    for name, rows in (("gold", GOLD), ("said", SAID)):
        (tmp_path / name).write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    call_command("score", "crepe-detection", "--gold", f"{tmp_path}/gold", "--predictions", f"{tmp_path}/said")
    assert json.loads(capsys.readouterr().out)["n"] == 3


def test_the_same_seed_gives_the_same_interval(score):
    assert score("crepe-writing", GOLD, WROTE, "--seed", "4") == score("crepe-writing", GOLD, WROTE, "--seed", "4")


@pytest.mark.parametrize(
    ("kind", "gold", "said"),
    [
        ("crepe-detection", GOLD, SAID),
        ("crepe-writing", [*GOLD, {**GOLD[0], "id": "q4"}], [*WROTE, {**WROTE[0], "id": "q4", "correction": "So"}]),
        ("synqa2-detection", PAIRS, ANSWERS),
    ],
)
def test_neither_the_order_of_rows_nor_ids_matter(score, kind, gold, said):
    renamed = [[{**row, "id": f"other {row['id']}"} for row in reversed(rows)] for rows in (gold, said)]
    assert score(kind, *renamed) == score(kind, gold, said)


DETECTION, WRITING, ASSUMPTIONS = "crepe-detection", "crepe-writing", "synqa2-detection"


@pytest.mark.parametrize(
    ("kind", "gold", "said", "sentence"),
    [
        (DETECTION, GOLD, SAID[:2], "said lacks 1 of 3 predictions; the first is 'q2', row 2 of gold."),
        (DETECTION, GOLD, [*SAID, {"id": "q9", "label": "normal"}], "said, row 4: the id 'q9' is not in gold."),
        (DETECTION, GOLD, [*SAID, SAID[0]], "said, row 4: the id '3' is in row 1 already."),
        (DETECTION, [*GOLD, GOLD[2]], SAID, "gold, row 4: the id '3' is in row 3 already."),
        (DETECTION, GOLD, [{"label": "normal"}], "said, row 1: 'id' is missing or not a text."),
        (DETECTION, [], [], "gold holds nothing that is scored."),
        (DETECTION, GOLD, "nonsense\n", "said, row 1: is not JSON: Expecting value at column 1."),
        (DETECTION, GOLD, "[1,", "said: The file is not JSON: Expecting value: line 1 column 4 (char 3)."),
        (
            DETECTION,
            GOLD,
            [{"id": "q1"}, *SAID[:1], *SAID[2:]],
            "said, row 1: the label must be one of false presupposition, normal; it was None.",
        ),
        (
            DETECTION,
            GOLD,
            [{"id": "q1", "label": "filter"}, *SAID[:1], *SAID[2:]],
            "said, row 1: the label must be one of false presupposition, normal; it was 'filter'.",
        ),
        (
            DETECTION,
            [{"id": "q1", "labels": [FP, "normal"]}],
            SAID[1:2],
            "gold, row 1: it has both labels; leave unresolved items out.",
        ),
        (WRITING, GOLD, [{"id": "q1"}], "said, row 1: 'presupposition' and 'correction' are missing."),
        (WRITING, GOLD, [{"id": "q1", "correction": 3}], "said, row 1: 'correction' is missing or not a text."),
        (WRITING, GOLD[1:], WROTE, "gold holds nothing that is scored."),
        (WRITING, GOLD, [], "said lacks 1 of 1 predictions; the first is 'q1', row 1 of gold."),
        (
            WRITING,
            [{**GOLD[0], "corrections": []}],
            WROTE,
            f"gold, row 1: 'corrections' is missing or not a list of texts, and the label is {FP}.",
        ),
        (
            ASSUMPTIONS,
            PAIRS,
            ANSWERS[:1],
            "said lacks 1 of 2 predictions; the first is 's1' with question 'without', row 1 of gold.",
        ),
        (
            ASSUMPTIONS,
            PAIRS,
            [{"id": "s1", "answer": "Yes"}],
            "said, row 1: 'question' must be one of without, with; it was None.",
        ),
        (
            ASSUMPTIONS,
            PAIRS,
            [*ANSWERS, ANSWERS[0]],
            "said, row 3: the id 's1' with question 'with' is in row 1 already.",
        ),
        (ASSUMPTIONS, PAIRS, [{"id": "s9"}], "said, row 1: the id 's9' is not in gold."),
        (
            ASSUMPTIONS,
            PAIRS,
            [{"id": "s1", "question": "with"}, ANSWERS[1]],
            "said, row 1: 'answer' is missing or not a text.",
        ),
        (
            ASSUMPTIONS,
            [{"id": "s1", "question_with": "B?"}],
            ANSWERS,
            "gold, row 1: 'verdict' is missing (or 'has_false_assumption', for a single question).",
        ),
        (
            ASSUMPTIONS,
            [{"id": "s1", "has_false_assumption": "no"}],
            ANSWERS,
            "gold, row 1: 'has_false_assumption' must be true or false.",
        ),
        (ASSUMPTIONS, PAIRS[1:], [], "gold holds nothing that is scored."),
    ],
)
def test_what_does_not_fit_is_a_sentence_naming_file_and_row(score, kind, gold, said, sentence):
    with pytest.raises(CommandError, match=f"^{re.escape(sentence)}$"):
        score(kind, gold, said)


def test_wrong_arguments_and_files_are_refused(score, tmp_path):
    with pytest.raises(CommandError, match="--resamples must be 1 or more"):
        score(DETECTION, GOLD, SAID, "--resamples", "0")
    with pytest.raises(CommandError, match="Cannot write /nowhere/items"):
        score(DETECTION, GOLD, SAID, "--per-item", "/nowhere/items")
    with pytest.raises(CommandError, match="Cannot read absent"):
        call_command("score", DETECTION, "--gold", "absent", "--predictions", "said")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
odd_rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.sampled_from(["q1", "s1"]) | json_values,
            "label": st.sampled_from([FP, "normal"]) | json_values,
            "labels": st.lists(st.sampled_from([FP, "normal"]) | json_values, max_size=2),
            "presuppositions": json_values,
            "presupposition": json_values,
            "verdict": st.just("keep") | json_values,
            "has_false_assumption": json_values,
            "kind": json_values,
            "question": st.sampled_from(["with", "without"]) | json_values,
            "answer": json_values,
        },
    ),
    max_size=3,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([DETECTION, WRITING, ASSUMPTIONS]), odd_rows, odd_rows)
def test_any_rows_are_scored_or_refused_with_a_sentence(score, kind, gold, said):
    try:
        found = score(kind, gold, said)
    except CommandError as error:
        found = {"refused": str(error)}
    assert found.get("n") or re.search(r"[.]$", found["refused"])


@pytest.mark.django_db
def test_gold_is_taken_as_it_was_exported(tmp_path, capsys):
    finished_study()  # q1 is a false presupposition, q3 normal, q4 unresolved
    gold, said = tmp_path / "gold.jsonl", tmp_path / "said.jsonl"
    call_command("export_gold", "crepe-a", "--out", str(gold))
    said.write_text("".join(json.dumps({"id": ref, "label": FP, "correction": "No."}) + "\n" for ref in ("q1", "q3")))
    found = []
    for kind in (DETECTION, WRITING):
        call_command("score", kind, "--gold", str(gold), "--predictions", str(said))
        found.append(json.loads(capsys.readouterr().out))
    assert (found[0]["macro_f1"]["value"], found[0]["n"]) == (0.333333, 2)
    assert (list(found[1]["bleu_by_part"]), found[1]["n"]) == (["correction"], 1)
    call_command("export_gold", "crepe-a", "--keep-unresolved", "--out", str(gold))
    with pytest.raises(CommandError, match="row 3: it has both labels; leave unresolved items out"):
        call_command("score", DETECTION, "--gold", str(gold), "--predictions", str(said))
