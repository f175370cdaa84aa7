"""A CREAK study from its items to its export, through the API, files and settings."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command

from annotation import exclusion
from annotation.elsewhere import import_annotations
from annotation.errors import Invalid
from annotation.intake import change_options
from annotation.models import Annotation, Item, Study, Wording
from annotation.protocols import CREAK
from annotation.simulation import simulate
from tests.claims import claim, hand_in, make_claim_study, make_claim_worker, reviewed, take, write, written
from validation.evidence import evidence_of
from validation.exports import annotation_rows, full_gold_rows, gold_rows
from validation.models import Resolution
from validation.releases import Wanted

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
SPLITS = ["train", "dev", "test"] * 8


def crowd_of(slug="creak"):
    """A study that a crowd has done most of; and its options."""
    study = make_claim_study(slug, SPLITS, relabel_share=0.4, contrast_share=0.4, items_per_sitting=3)
    clock = lambda n: NOON + timedelta(minutes=n)  # noqa: E731
    simulate(study, workers=9, accuracy=0.85, seed=5, clock=clock, limit=90)
    return study


def state_of(study):
    """Everything that counts, with people by their running codes."""
    codes = dict(study.enrolments.values_list("worker", "number"))

    def named(gold):
        if not gold:
            return gold
        contrast = gold["contrast"] and {**gold["contrast"], "writer": codes[gold["contrast"]["writer"]]}
        return {**gold, "writer": codes[gold["writer"]], "contrast": contrast}

    resolutions = Resolution.objects.filter(study=study).order_by("item")
    return {
        "items": list(study.items.values_list("ref", "part", "state", "stage", "votes_wanted", "open_seats")),
        "gold": [(r.item.ref, r.outcome, r.label, r.why, named(r.gold)) for r in resolutions],
        "people": list(study.enrolments.values_list("number", "part", "taken_in_part")),
        "wordings": sorted(study.wordings.values_list("item__ref", "stage", "field", "text", "label", "is_repeat")),
        "annotations": [
            (a.item.ref, a.stage, codes[a.worker_id], a.answer, a.uncounted)
            for a in study.annotations.select_related("item").order_by("item", "submitted_at", "pk")
        ],
    }


def test_an_export_imported_into_a_fresh_study_comes_to_the_same_state():
    study, copy = crowd_of(), make_claim_study("copy", SPLITS, relabel_share=0.4, contrast_share=0.4)
    excluded = Annotation.objects.filter(stage="write").first()
    exclusion.set_aside(study, [excluded.pk], "excluded", by="user:eva", why="Guessing.", at=NOON)
    rows = [json.loads(json.dumps(row)) for row in annotation_rows(study)]
    counts = import_annotations(copy, rows, by="test", at=NOON)
    assert counts.as_dict() == {"created": study.annotations.count(), "unchanged": 0, "bad": 0}
    before, after = state_of(study), state_of(copy)
    same = ("items", "gold", "people", "wordings")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert len({label for _, _, label, _, _ in before["gold"]}) > 1
    for wanted in (Wanted(labels=True), Wanted("test"), Wanted("contrast"), Wanted(mode="as_released")):
        assert list(gold_rows(copy, wanted=wanted)) == list(gold_rows(study, wanted=wanted)) != []
    assert import_annotations(copy, rows, by="test", at=NOON).as_dict() == {
        "created": 0,
        "unchanged": len(rows),
        "bad": 0,
    }


def test_the_numbers_of_exported_claims_stay_while_other_items_settle():
    study = make_claim_study(splits=["train", "dev", "train"], reviewed_splits="")
    study.items.filter(ref="c1").update(queued_at=NOON)  # the last in the queue
    write(study, make_claim_worker(study, "ann"))
    write(study, make_claim_worker(study, "ben"))
    early = {row["sentence"]: row["ex_id"] for row in gold_rows(study)}
    write(study, make_claim_worker(study, "cat"))
    late = {row["sentence"]: row["ex_id"] for row in gold_rows(study)}
    assert sorted(early.values()) == ["dev_2", "dev_3", "train_4", "train_5"]
    assert early.items() < late.items()
    assert sorted(late.values()) == ["dev_2", "dev_3", "train_0", "train_1", "train_4", "train_5"]


def test_the_paper_cleaned_dev_and_test_only():
    study = make_claim_study(splits=["train", "dev", "test"], reviewed_splits="dev,test")
    for code in ("ann", "ben", "cat"):
        write(study, make_claim_worker(study, code))
    assert list(study.items.values_list("ref", "state", "stage")) == [
        ("c1", "settled", ""),
        ("c2", "open", "review"),
        ("c3", "open", "review"),
    ]


def test_a_team_may_let_the_first_person_pass_while_people_write():
    study = make_claim_study()
    ann = make_claim_worker(study, "ann")
    answer = written(1, true="We like Paris 1.")
    with pytest.raises(Invalid) as refusal:
        hand_in(take(study, ann), answer)
    assert [list(said) for said in refusal.value.problems.values()] == [["true.claim"]]
    change_options(study, {"first_person": "warn"}, by="user:eva", at=NOON)
    study = Study.objects.get()
    hand_in(take(study, ann), answer)
    assert Annotation.objects.get().answer["true"]["claim"] == "We like Paris 1."


def test_excluding_a_writer_makes_what_was_built_on_it_obsolete_and_collects_again():
    study = make_claim_study(splits=["train"], relabel_share=1)
    write(study, make_claim_worker(study, "ann"))
    hand_in(take(study, make_claim_worker(study, "eva"), "review"), reviewed())
    hand_in(take(study, make_claim_worker(study, "jo"), "relabel"), {"label": "true"})
    first = Annotation.objects.get(stage="write")
    exclusion.set_aside(study, [first.pk], "excluded", by="user:eva", why="Guessing.", at=NOON)
    assert list(Annotation.objects.order_by("pk").values_list("stage", "uncounted")) == [
        ("write", "excluded"),
        ("review", "obsolete"),
        ("relabel", "obsolete"),
    ]
    assert Item.objects.values_list("state", "stage", "open_seats").get() == ("open", "write", 1)
    write(study, make_claim_worker(study, "ben"))
    assert Item.objects.values_list("state", "stage", "open_seats").get() == ("open", "review", 1)
    assert Wording.objects.count() == 2


def test_judges_of_several_stages_are_about_the_writing_and_its_review():
    study = make_claim_study(splits=["train"], relabel_share=1, contrast_share=1)
    write(study, make_claim_worker(study, "ann"))
    hand_in(take(study, make_claim_worker(study, "eva"), "review"), reviewed())
    for code in ("jo", "kim", "lee"):
        hand_in(take(study, make_claim_worker(study, code), "relabel"), {"label": "true"})
    sitting = take(study, make_claim_worker(study, "max"), "contrast")
    written_, review = Annotation.objects.filter(stage__in=["write", "review"]).order_by("pk")
    assert sitting.bundle[0].judges == [written_.pk, review.pk]


def test_a_page_of_the_evidence_shows_the_rows_with_their_numbers():
    study = make_claim_study(splits=["train", "dev"], reviewed_splits="")
    write(study, make_claim_worker(study, "ann"))
    write(study, make_claim_worker(study, "ben"))
    item = study.items.select_related("resolution").get(ref="c2")
    shown = evidence_of(study, item)
    assert [line.strip() for line in shown.gold_row.splitlines() if "ex_id" in line] == [
        '"ex_id": "dev_2",',
        '"ex_id": "dev_3",',
    ]
    assert [(m.title, m.said.headline) for m in shown.moments if m.said] == [("Written (A)", "definitely, maybe")]


def test_a_full_export_says_how_each_claim_came_about():
    study = make_claim_study(splits=["train"])
    write(study, make_claim_worker(study, "ann"))
    hand_in(take(study, make_claim_worker(study, "eva"), "review"), reviewed())
    rows = list(full_gold_rows(study, wanted=Wanted("train")))
    assert [row["ex_id"] for row in rows] == ["train_0", "train_1"]
    stages = [[a["stage"] for a in row["provenance"]["annotations"]] for row in rows]
    assert stages == [["write", "review"], ["write", "review"]]
    assert [{k: v for k, v in row.items() if k != "provenance"} for row in rows] == list(gold_rows(study))


def test_commands_take_a_study_from_its_items_to_its_test_split(tmp_path, capsys):
    study = make_claim_study(splits=["test"], reviewed_splits="")
    write(study, make_claim_worker(study, "ann"))
    out = tmp_path / "test.jsonl"
    call_command("export_gold", "creak", "--split", "test", "--out", str(out))
    bare = [json.loads(line) for line in out.read_text().splitlines()]
    assert [sorted(row) for row in bare] == [
        ["en_wiki_pageid", "entity", "entity_mention_loc", "ex_id", "sentence"]
    ] * 2
    call_command("export_gold", "creak", "--split", "test", "--with-labels", "--mode", "strict", "--out", str(out))
    assert [json.loads(line)["label"] for line in out.read_text().splitlines()] == ["true", "false"]


def test_a_simulated_writer_whose_wording_is_taken_thinks_of_another(monkeypatch):
    """Both writers begin with the same claims."""
    study, drawn = make_claim_study(splits=["train"] * 2), iter([1, 1, 2])

    def imagine(stage, payload, gold, judged, accuracy, rng):
        number, name = next(drawn), payload["entities"][0]["entity"]
        said = f"Paris {number} has towers."
        mention = {} if name in said else {"mention": f"Paris {number}"}
        return {"entity": name, "true": claim(said, **mention), "false": claim(f"{name} swims.")}

    monkeypatch.setattr("annotation.simulation.TRIES", 3)
    monkeypatch.setattr(Study, "protocol", property(lambda self: replace(CREAK, imagine=imagine)))
    assert simulate(study, workers=2, accuracy=1, seed=1, clock=lambda n: NOON, stages=["write"], limit=2) == 2
    texts = Wording.objects.filter(field="true.claim").values_list("text", flat=True)
    assert sorted(texts) == ["Paris 1 has towers.", "Paris 2 has towers."]
