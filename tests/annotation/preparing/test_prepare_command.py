"""`manage.py prepare`, as a person runs it."""

import gzip
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.intake import import_items
from tests.factories import make_study

ROOT = Path(__file__).parents[3]
DATA = ROOT / "data"
SINGLE = ["synqa2-single", *(str(DATA / f"synqa2_{name}.json") for name in ("entities", "entities", "templates"))]
CREAK = ["creak", str(DATA / "creak_pool.jsonl"), "--times", "2"]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def prepare(tmp_path, capsys):
    """prepare("creak", ...) -> what was printed, the items and the report."""

    def run(*arguments):
        out, report = tmp_path / "items.jsonl", tmp_path / "report.jsonl"
        call_command("prepare", *arguments, "--out", str(out), "--report", str(report))
        return json.loads(capsys.readouterr().out), lines(out), lines(report)

    return run


@pytest.fixture
def dump(tmp_path):
    """Questions and comments as a forum's dump has them, the comments compressed."""
    names = ["Why is the sky blue?", "Why is the sky so blue?", "How do planes fly?", "What the heck?"]
    questions = [
        {"id": f"q{n}", "title": name, "selftext": "", "score": 10 * n, "created_utc": f"{stamp}"}
        for n, (name, stamp) in enumerate(zip(names, [1430438400, 1556668800, 1556668800, 1430438400], strict=True))
    ]
    comments = [
        {"id": f"c{n}", "link_id": f"t3_q{n % 4}", "parent_id": f"t3_q{n % 4}", "body": f"Because {n}.", "score": n}
        for n in range(8)
    ]
    files = tmp_path / "questions.jsonl", tmp_path / "comments.jsonl.gz", tmp_path / "words.txt"
    files[0].write_text("".join(json.dumps(row) + "\n" for row in questions))
    files[1].write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in comments).encode()))
    files[2].write_text("heck\nhell\n")
    return [str(file) for file in files]


@pytest.mark.django_db
def test_pairs_out_of_a_dump_are_imported_as_items(prepare, dump):
    *files, words = dump
    printed, items, report = prepare("crepe", *files, "--words", words, "--similar", "0.6")
    assert [(item["id"], item["split"], item["comment"]) for item in items] == [
        ("q0", "train", "Because 4."),
        ("q1", "dev", "Because 5."),
        ("q2", "dev", "Because 6."),
    ]
    assert {name: printed[name] for name in printed if name != "out"} == {
        "kind": "crepe",
        "items": 3,
        "dropped": 6,
        "reasons": {
            "comments": {"another comment has a higher score": 3, "its question was dropped": 2},
            "questions": {"holds a word of the list": 1},
        },
        "near_duplicates": 1,
        "splits": {"dev": 2, "train": 1},
    }
    assert [row for row in report if "near" in row] == [
        {"near": ["q0", "q1"], "splits": ["train", "dev"], "similarity": 0.6667}
    ]
    with Path(printed["out"]).open("rb") as file:
        counts = import_items(make_study(), file, by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert counts.as_dict() == {"created": 3, "unchanged": 0, "bad": 0}


def test_near_duplicates_are_dropped_from_the_training_side_when_that_is_wanted(prepare, dump):
    printed, items, report = prepare("crepe", *dump[:2], "--similar", "0.6", "--drop-near", "--min-score", "0")
    assert [item["id"] for item in items] == ["q1", "q2", "q3"]
    assert printed["reasons"]["questions"] == {"near duplicate in another split": 1}
    assert report[-1]["kept"] == "q1"


def test_sets_of_entities_are_drawn_within_their_splits(prepare):
    printed, items, report = prepare(*CREAK, "--mode", "strict")
    assert (printed["splits"], printed["entities"]) == (
        {"dev": 8, "test": 8, "train": 64},
        {"train": 160, "dev": 20, "test": 20},
    )
    by_split = {}
    for item in items:
        by_split.setdefault(item["split"], set()).update(each["en_wiki_pageid"] for each in item["entities"])
    assert {split: len(pages) for split, pages in by_split.items()} == {"train": 160, "dev": 20, "test": 20}
    assert len(set.union(*by_split.values())) == 200
    assert report == []


def test_pairs_are_made_of_the_demos_triples(prepare):
    printed, items, report = prepare(*SINGLE)
    assert [(item["x"], item["similarity"]) for item in items] == [
        ("Albert Einstein", 6),
        ("Dorothy Hodgkin", 3),
        ("Lise Meitner", 4),
        ("George Orwell", 3),
        ("Charles Dickens", 3),
        ("Bill Clinton", 5),
        ("Werner Heisenberg", 6),
        ("Barack Obama", 5),
        ("Barack Obama", 5),
    ]
    assert [(row["id"], row["best"]) for row in report] == [
        ("Jane Austen", {"similarity": 2, "entity": "Virginia Woolf"})
    ]
    assert (printed["items"], printed["without_index"]) == (9, 190)
    assert printed["entity_pairs_compared"] < 190


def test_pairs_are_made_of_multi_hop_questions(prepare, tmp_path):
    question = {
        "_id": "h1",
        "question": "Who wrote Emma?",
        "answer": "Jane Austen",
        "type": "bridge",
        "supporting_facts": [["Emma", 0]],
        "context": [["Emma", ["A novel."]], ["Evelina", ["Another."]]],
    }
    hotpot, pages = tmp_path / "hotpot.json", tmp_path / "pages.jsonl"
    hotpot.write_text(json.dumps([question]))
    pages.write_text("".join(json.dumps({"title": t, "categories": ["Novels"]}) + "\n" for t in ("Emma", "Evelina")))
    printed, items, report = prepare("synqa2-multi", str(hotpot), str(pages))
    assert [item["question_with"] for item in items] == ["Who wrote Evelina?"]
    assert (printed["dropped"], report) == (0, [])


def test_near_duplicates_of_any_file_are_named(prepare, tmp_path):
    file = tmp_path / "rows.jsonl"
    asked = [("Why is the sky blue?", "a"), ("why is the sky blue", "b"), ("Why?", "b"), ("", "a"), ("How?", "")]
    file.write_text("".join(json.dumps({"q": q, "split": split}) + "\n" for q, split in asked))
    printed, items, report = prepare("near-duplicates", str(file), "--field", "q", "--split-field", "split")
    assert items == [
        {
            "near": ["1", "2"],
            "splits": ["a", "b"],
            "similarity": 1.0,
            "texts": ["Why is the sky blue?", "why is the sky blue"],
        }
    ]
    assert (printed["rows"], [row["fields"] for row in report]) == (3, [["q"], ["split"]])


@pytest.mark.parametrize("arguments", [SINGLE, CREAK, ["near-duplicates", str(DATA / "truthfulqa_pairs.jsonl")]])
def test_the_same_files_and_seed_give_the_same_bytes_whatever_pythons_hashes(arguments, tmp_path):
    made = []
    for hash_seed in ("1", "2"):
        out, report = tmp_path / f"items-{hash_seed}", tmp_path / f"report-{hash_seed}"
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "manage.py", "prepare", *arguments, "--seed", "3", "--out", str(out)]
        subprocess.run([*command, "--report", str(report)], cwd=ROOT, env=environment, check=True, capture_output=True)
        made.append((out.read_bytes(), report.read_bytes()))
    assert made[0] == made[1]
    assert made[0][0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["creak", "absent", "--sets", "1", "--out", "x"],
            "Cannot read absent: No such file or directory.",
        ),
        ([*CREAK, "--out", "-"], "Name a file to write to: standard output is for the summary."),
        ([*CREAK, "--out", "x", "--report", "./x"], "--out and --report name the same file."),
        ([*CREAK, "--sets", "1", "--out", "x"], "argument --sets: not allowed with argument --times"),
        ([*CREAK, "--size", "0", "--out", "x"], "argument --size: must be 1 or more; it was 0"),
        ([*CREAK, "--seed", "-1", "--out", "x"], "argument --seed: must be from 0 to 4294967295; it was -1"),
        ([*CREAK, "--splits", "a", "--out", "x"], "--splits: shares are written NAME=SHARE with commas between them"),
        ([*CREAK, "--size", "30", "--out", "x"], "The split dev has 20 of the pool's entities, and a set has 30."),
        (["near-duplicates", "x", "--similar", "2", "--out", "x"], "argument --similar: must be above 0 and at most 1"),
        ([*SINGLE, "--out", "/nowhere/x"], "Cannot write /nowhere/x: No such file or directory."),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError) as refused:
        call_command("prepare", *arguments)
    assert sentence in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_leaves_the_files_of_the_last_one(tmp_path):
    out, report, broken = tmp_path / "items", tmp_path / "report", tmp_path / "broken.json"
    out.write_text("as it was")
    broken.write_text("[1,")
    with pytest.raises(CommandError, match=f"^{broken}: The file is not JSON"):
        call_command("prepare", *SINGLE[:2], str(broken), SINGLE[3], "--out", str(out), "--report", str(report))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"items": "as it was", "broken.json": "[1,"}
