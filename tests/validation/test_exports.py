"""What leaves the server: gold with exactly the paper's keys, and every annotation as it was given."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command

from annotation import leasing, revocation, submission
from annotation.declaration import digest, rules_of
from annotation.models import Annotation, Enrolment, Item
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_sitting, make_study
from validation import exports

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PAIR = FALSE_ANSWER["pairs"][0]


def give(study, code, answers, stage="generate", at=NOON):
    """One sitting, with these answers to its items in order."""
    sitting = make_sitting(study, code, stage=stage, at=at)
    submission.submit(sitting, dict(zip(sitting.assignments.values_list("pk", flat=True), answers, strict=True)), at=at)


def finished_study():
    """q1 agreed false, q2 filtered, q3 judged normal (ben's), q4 unresolved, q5 waiting for its second annotation."""
    study = make_study(items_per_sitting=4)
    make_items(study, 5)
    give(study, "ann", [FALSE_ANSWER, NORMAL_ANSWER, FALSE_ANSWER, NORMAL_ANSWER])
    give(study, "ben", [FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, FALSE_ANSWER], at=NOON + MINUTE)
    give(study, "cat", [{"valid": "B"}, {"valid": "A"}], "validate", at=NOON + 2 * MINUTE)
    give(study, "dan", [{"valid": "B"}, {"valid": "B"}], "validate", at=NOON + 3 * MINUTE)
    give(study, "eve", [{"valid": "neither"}], "validate", at=NOON + 4 * MINUTE)
    give(study, "fay", [NORMAL_ANSWER], at=NOON + 5 * MINUTE)
    return study


def gold(ref, labels, pairs, raw_labels, raw_pairs):
    n = ref[1:]
    return {
        "id": ref,
        "question": f"How exactly is current {n} stored in power plants?",
        "comment": f"Nothing is kept at plant {n}. The grid is a balance of supply and demand.",
        "labels": labels,
        "presuppositions": [PAIR["presupposition"]] * pairs,
        "corrections": [PAIR["correction"]] * pairs,
        "raw_labels": raw_labels,
        "raw_presuppositions": [PAIR["presupposition"]] * raw_pairs,
        "raw_corrections": [PAIR["correction"]] * raw_pairs,
        "passages": [],
    }


FALSE, NORMAL = "false presupposition", "normal"


def test_gold_has_one_row_per_settled_item_in_import_order_with_the_papers_keys():
    study = finished_study()
    assert list(exports.gold_rows(study)) == [
        gold("q1", [FALSE], 2, [FALSE, FALSE], 2),
        gold("q3", [NORMAL], 0, [FALSE, NORMAL], 1),
    ]


def test_unresolved_items_can_be_kept_with_every_label():
    study = finished_study()
    kept = list(exports.gold_rows(study, keep_unresolved=True))
    assert [row["id"] for row in kept] == ["q1", "q3", "q4"]
    assert kept[2] == gold("q4", [FALSE, NORMAL], 1, [NORMAL, FALSE], 1)


def test_full_gold_adds_how_it_came_about():
    study = finished_study()
    rows = list(exports.full_gold_rows(study))
    assert [{name: row[name] for name in row if name != "provenance"} for row in rows] == list(exports.gold_rows(study))
    how = rows[1]["provenance"]
    given = how.pop("annotations")
    study.refresh_from_db()
    assert how == {
        "state": "settled",
        "label": "normal",
        "why": "Both validators gave the same verdict: B is valid.",
        "at": "2026-11-02T12:03:00+00:00",
        "protocol": "crepe",
        "version": 1,
        "options": study.options,
        "rules": digest(rules_of(study)),
        "rules_declared_at": "2026-11-02T12:00:00+00:00",
    }
    first, second = (a["id"] for a in given[:2])
    assert [(a["worker"], a["stage"], a["answer"], a["judges"]) for a in given] == [
        ("W001", "generate", FALSE_ANSWER, []),
        ("W002", "generate", NORMAL_ANSWER, []),
        ("W003", "validate", {"valid": "B"}, [first, second]),
        ("W004", "validate", {"valid": "B"}, [first, second]),
    ]


def test_annotations_are_exported_as_they_were_taken_with_workers_as_running_codes():
    study = finished_study()
    rows = list(exports.annotation_rows(study))
    assert [(r["item"], r["worker"], r["stage"]) for r in rows] == [
        *((f"q{n}", "W001", "generate") for n in (1, 2, 3, 4)),
        *((f"q{n}", "W002", "generate") for n in (1, 2, 3, 4)),
        *((f"q{n}", "W003", "validate") for n in (3, 4)),
        *((f"q{n}", "W004", "validate") for n in (3, 4)),
        ("q4", "W005", "validate"),
        ("q5", "W006", "generate"),
    ]
    last = Annotation.objects.last()
    assert rows[-1] == {
        "item": "q5",
        "worker": "W006",
        "stage": "generate",
        "answer": NORMAL_ANSWER,
        "submitted_at": "2026-11-02T12:05:00+00:00",
        "counted": True,
        "why": "",
        "active_seconds": None,
        "sitting": last.assignment.sitting_id,
        "leased_at": "2026-11-02T12:05:00+00:00",
        "id": last.pk,
        "judges": [],
        "consent": None,
        "rules": digest(rules_of(study)),
        "version": 1,
    }


def test_a_late_answer_is_exported_with_the_reason_it_does_not_count():
    study = make_study()
    make_items(study, 1)
    late = make_sitting(study, "ann", at=NOON)
    leasing.expire(at=NOON + 61 * MINUTE)
    give(study, "ben", [NORMAL_ANSWER], at=NOON + 62 * MINUTE)
    give(study, "cat", [NORMAL_ANSWER], at=NOON + 62 * MINUTE)
    submission.submit(late, {late.assignments.get().pk: FALSE_ANSWER}, at=NOON + 63 * MINUTE)
    rows = exports.annotation_rows(study)
    assert [(r["counted"], r["why"]) for r in rows] == [(True, ""), (True, ""), (False, "late")]


def test_text_leaves_as_it_came():
    study = make_study()
    make_items(study, 1)
    text = "Zürich, <b>“x”</b>\t\\n \u2028 \u0001 💧"
    Item.objects.update(payload={"id": "q1", "question": text, "comment": text})
    for code in ("ann", "ben"):
        give(study, code, [NORMAL_ANSWER])
    assert [row["question"] for row in exports.gold_rows(study)] == [text]


# --- The commands -------------------------------------------------------------------------------
def test_the_commands_write_one_json_line_per_row_to_standard_output_or_a_file(tmp_path, capsys):
    study, path = finished_study(), tmp_path / "out.jsonl"
    for command, rows in (("export_gold", exports.gold_rows), ("export_annotations", exports.annotation_rows)):
        call_command(command, "crepe-a")
        written = capsys.readouterr().out
        assert [json.loads(line) for line in written.splitlines()] == list(rows(study))
        call_command(command, "crepe-a", "--out", str(path))
        assert capsys.readouterr().out == ""
        assert path.read_text() == written
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]


def test_export_gold_takes_both_of_its_switches(capsys):
    study = finished_study()
    call_command("export_gold", "crepe-a", "--full", "--keep-unresolved")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == list(exports.full_gold_rows(study, keep_unresolved=True))


@pytest.mark.parametrize("rows", [exports.gold_rows, exports.full_gold_rows, exports.annotation_rows])
def test_an_export_costs_the_same_queries_for_one_item_as_for_many(rows, django_assert_max_num_queries):
    for size in (1, 30):
        study = make_study(f"crepe-{size}", items_per_sitting=size)
        make_items(study, size)
        for code in (f"ann{size}", f"ben{size}"):
            give(study, code, [NORMAL_ANSWER] * size)
        with django_assert_max_num_queries(4):
            exported = list(rows(study))
        assert len({row.get("id") for row in exported}) == len(exported) in (size, 2 * size)


def test_the_words_of_who_withdrew_are_in_no_export_and_hidden_answers_are_nobodys_business():
    study = finished_study()
    make_items(study, 1, role="filler", prefix="f", gold=NORMAL_ANSWER)
    study.options["fillers_per_sitting"] = 1
    make_items(study, 1, prefix="new")
    sitting = make_sitting(study, "zoe", at=NOON)
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    assert Annotation.objects.filter(uncounted="filler").count() == 1
    assert not [row for row in exports.annotation_rows(study) if row["item"].startswith("f")]
    ann = Enrolment.objects.get(number=1)
    mine = Annotation.objects.filter(worker=ann.worker).count()
    before = len(list(exports.annotation_rows(study)))
    revocation.withdraw(ann, at=NOON)
    rows = list(exports.annotation_rows(study))
    assert len(rows) == before - mine == exports.count_annotations(study)
    everything = json.dumps([*rows, *exports.full_gold_rows(study)])
    assert '"W001"' not in everything
