"""The data of the demo: every row is taken, and says where it comes from."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from annotation.intake import create_study, import_items
from tests.factories import make_study

DATA = Path(__file__).parents[1] / "data"
FILES = {
    "crepe_pairs.jsonl": {"false presupposition": 16, "normal": 2, None: 3},
    "truthfulqa_gold160.jsonl": {"false presupposition": 58, "normal": 95, "filter": 7},
    "truthfulqa_pairs.jsonl": {None: 790},
    "crepe_practice.jsonl": {"false presupposition": 2, "normal": 1, "filter": 1},
    "crepe_qualification20.jsonl": {"false presupposition": 9, "normal": 9, "filter": 2},
}


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "labels"), FILES.items())
def test_every_row_is_taken_with_the_gold_it_has(name, labels):
    study, rows = make_study(), sum(labels.values())
    with (DATA / name).open("rb") as file:
        counts = import_items(study, file, by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert counts.as_dict() == {"created": rows, "unchanged": 0, "bad": 0}
    gold = study.items.values_list("gold", flat=True)
    assert Counter(answer and answer["label"] for answer in gold) == labels


@pytest.mark.parametrize("name", FILES)
def test_every_row_names_its_source_and_the_readme_its_file(name):
    rows = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    assert [row["id"] for row in rows if "source" not in row["meta"]] == []  # empty in two rows of TruthfulQA itself
    assert f"`{name}`" in (DATA / "README.md").read_text()


SLIDER = {
    "nope_pairs.jsonl": ("work", 64),
    "nope_fillers.jsonl": ("filler", 120),
    "nope_practice.jsonl": ("practice", 3),
    "nope_prescreener.jsonl": ("qualification", 10),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "role", "rows"), [(name, *rest) for name, rest in SLIDER.items()])
def test_every_row_of_the_slider_study_is_taken(name, role, rows):
    study = create_study("nope", "nope", by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    with (DATA / name).open("rb") as file:
        counts = import_items(study, file, role=role, by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert counts.as_dict() == {"created": rows, "unchanged": 0, "bad": 0}
    assert not study.items.filter(gold=None).exists()
    assert f"`{name}`" in (DATA / "README.md").read_text()


RATED = {
    "synqa2_pairs.jsonl": ("synqa2", 53, 53),
    "acceptability_answers.jsonl": ("acceptability", 80, 80),
    "rubric_outputs.jsonl": ("rubric", 23, 20),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "protocol", "rows", "known"), [(name, *rest) for name, rest in RATED.items()])
def test_every_row_to_verify_or_rate_is_taken_and_names_its_source(name, protocol, rows, known):
    study = create_study(protocol, protocol, by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    with (DATA / name).open("rb") as file:
        counts = import_items(study, file, by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert counts.as_dict() == {"created": rows, "unchanged": 0, "bad": 0}
    assert study.items.exclude(gold=None).count() == known
    assert [i.ref for i in study.items.all() if "source" not in i.payload["meta"]] == []
    assert f"`{name}`" in (DATA / "README.md").read_text()


@pytest.mark.django_db
def test_every_set_of_entities_is_taken_no_entity_is_in_two_splits_and_the_readme_names_the_licence():
    study = create_study("creak", "creak", by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    with (DATA / "creak_sets.jsonl").open("rb") as file:
        counts = import_items(study, file, by="test", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert counts.as_dict() == {"created": 40, "unchanged": 0, "bad": 0}
    assert study.part_items == {"train": 24, "dev": 8, "test": 8}
    names = [
        entity["entity"] for payload in study.items.values_list("payload", flat=True) for entity in payload["entities"]
    ]
    assert len(set(names)) == len(names) == 200
    told = next(line for line in (DATA / "README.md").read_text().splitlines() if "`creak_sets.jsonl`" in line)
    assert ["CREAK" in told, "CC BY-SA 4.0" in told, "under the same licence" in told] == [True] * 3
