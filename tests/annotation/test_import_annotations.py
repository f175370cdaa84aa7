"""Annotations made elsewhere: the same checks, seats and steps as live work, and back in what was exported."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from annotation import leasing, submission
from annotation.elsewhere import import_annotations
from annotation.models import Annotation, Assignment, Enrolment, Event, Item, Qualification, Sitting, Worker
from annotation.reading import BadFile
from annotation.simulation import simulate
from tests.factories import (
    FALSE_ANSWER,
    FILTER_ANSWER,
    NORMAL_ANSWER,
    make_items,
    make_sitting,
    make_study,
    make_worker,
)
from validation.exports import annotation_rows, gold_rows
from validation.models import Resolution, Tally

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def row(item, worker, answer=NORMAL_ANSWER, stage="generate", **more):
    return {"item": item, "worker": worker, "stage": stage, "answer": answer, **more}


def bring(study, rows, **options):
    return import_annotations(study, rows, by="user:ana", at=NOON, **options).as_dict()


def refused(study, *rows):
    with pytest.raises(BadFile) as refusal:
        bring(study, rows)
    return refusal.value.sentence.removeprefix("Nothing was kept, because of ").removesuffix(".")


def study_with(items, **options):
    study = make_study(**options)
    make_items(study, items)
    return study


# --- As live work ---------------------------------------------------------------------------------
def test_answers_from_elsewhere_settle_items_as_live_ones_do():
    study = study_with(2)
    rows = [
        row("q1", "ann", FALSE_ANSWER),
        row("q1", "ben", NORMAL_ANSWER),
        row("q2", "ann", FALSE_ANSWER, submitted_at="2026-11-01T09:30:00Z", active_seconds=41),
        row("q1", "cat", {"valid": "A"}, "validate"),
        row("q1", "dan", {"valid": "B"}, "validate"),
        row("q1", "eve", {"valid": "B"}, "validate"),
    ]
    lines = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    assert bring(study, lines) == {"created": 6, "unchanged": 0, "bad": 0}
    assert list(study.items.values_list("ref", "state", "stage", "votes_wanted", "open_seats")) == [
        ("q1", "settled", "", 0, 0),
        ("q2", "open", "generate", 2, 1),
    ]
    assert Resolution.objects.values_list("item__ref", "label", "why").get() == (
        "q1",
        "normal",
        "Two of three validators gave the same verdict: B is valid.",
    )
    written = list(Annotation.objects.filter(stage="generate", item__ref="q1").values_list("pk", flat=True))
    assert list(Assignment.objects.filter(stage="validate").values_list("judges", flat=True)) == [written] * 3
    assert sorted(Tally.objects.values_list("item__ref", "measure", "profile")) == [
        ("q1", "label", "1,1,0"),
        ("q1", "valid", "1,1,0"),
        ("q2", "label", "1,0,0"),
    ]
    q2 = Annotation.objects.get(item__ref="q2")
    assert (q2.answer, q2.submitted_at, q2.active_seconds) == (
        FALSE_ANSWER,
        datetime(2026, 11, 1, 9, 30, tzinfo=UTC),
        41,
    )
    assert set(Event.objects.filter(item__ref="q1").values_list("what", "actor")) == {
        ("submitted", "user:ana"),
        ("moved to validate", "system"),
        ("settled", "system"),
    }


def test_a_is_the_annotation_submitted_earlier_whatever_the_order_of_the_file():
    study = study_with(1)
    later, earlier = "2026-11-01T12:00:00+00:00", "2026-11-01T12:30:00+01:00"
    bring(
        study,
        [
            row("q1", "ann", FALSE_ANSWER, submitted_at=later),
            row("q1", "ben", NORMAL_ANSWER, submitted_at=earlier),
            row("q1", "cat", {"valid": "A"}, "validate"),
            row("q1", "dan", {"valid": "A"}, "validate"),
        ],
    )
    assert Resolution.objects.get().label == "normal"


def test_what_finds_no_seat_is_kept_and_does_not_count():
    study = study_with(1)
    rows = [row("q1", name) for name in ("ann", "ben")] + [row("q1", "cat", FALSE_ANSWER)]
    assert bring(study, rows)["created"] == 3
    assert list(Annotation.objects.values_list("uncounted", "assignment__seat")) == [("", 0), ("", 1), ("late", None)]
    assert Resolution.objects.get().label == "normal"
    assert Event.objects.filter(what="submitted late").get().why == "Made elsewhere, and there was no seat for it."


def test_a_verdict_before_there_is_anything_to_judge_does_not_count():
    study = study_with(1)
    bring(study, [row("q1", "cat", {"valid": "A"}, "validate")])
    assert Annotation.objects.get().uncounted == "late"


def test_a_seat_somebody_holds_right_now_is_not_taken():
    study = study_with(1)
    for code in ("ann", "ben"):
        make_sitting(study, code, at=NOON)
    bring(study, [row("q1", "cat")])
    assert Annotation.objects.get().uncounted == "late"


def test_live_work_goes_on_where_the_file_ends():
    study = study_with(1)
    bring(study, [row("q1", "ann")])
    sitting = make_sitting(study, "ben", at=NOON)
    submission.submit(sitting, {sitting.assignments.get().pk: NORMAL_ANSWER}, at=NOON)
    assert Resolution.objects.get().label == "normal"


def test_one_closed_sitting_per_worker_and_stage_of_a_step_spans_its_answers():
    study = study_with(3)
    times = ["2026-11-01T09:00:00Z", "2026-11-01T09:05:00Z", "2026-11-01T09:02:00Z"]
    bring(study, [row(f"q{n}", "ann", submitted_at=time) for n, time in enumerate(times, 1)])
    nine = datetime(2026, 11, 1, 9, tzinfo=UTC)
    assert Sitting.objects.values_list("state", "opened_at", "closed_at").get() == (
        "submitted",
        nine,
        nine + 5 * MINUTE,
    )


# --- Who ------------------------------------------------------------------------------------------
def test_workers_are_found_by_code_and_running_code_and_others_join():
    study = study_with(3)
    ann = make_worker(study, "ann", stages=["generate"])
    bring(study, [row("q1", "ann"), row("q2", "W001"), row("q3", "zoe")])
    assert list(Annotation.objects.values_list("item__ref", "worker__code")) == [
        ("q1", "ann"),
        ("q2", "ann"),
        ("q3", "crepe-a:zoe"),
    ]
    joined = Qualification.objects.filter(enrolment__study=study).exclude(enrolment__worker=ann)
    assert joined.values_list("enrolment__worker__code", "stage", "state").get() == (
        "crepe-a:zoe",
        "generate",
        "qualified",
    )


def test_a_worker_of_another_study_is_somebody_else():
    study, other = study_with(1), make_study("other")
    make_worker(other, "ann")
    bring(study, [row("q1", "ann")])
    assert Annotation.objects.get().worker.code == "crepe-a:ann"


def test_running_codes_of_elsewhere_stay_what_they_are():
    study = study_with(2)
    bring(study, [row("q1", "W003"), row("q1", "W001"), row("q2", "W003")])
    assert list(study.enrolments.values_list("number", "worker__code")) == [(1, "crepe-a:W001"), (3, "crepe-a:W003")]


def test_a_running_code_means_only_who_was_there_before_the_file():
    study = study_with(2)
    rows = [row("q1", "zoe"), row("q1", "W001")]
    bring(study, rows)
    assert list(Annotation.objects.values_list("worker__code", flat=True)) == ["crepe-a:zoe", "crepe-a:W001"]
    assert bring(study, rows) == {"created": 0, "unchanged": 2, "bad": 0}


def test_work_of_somebody_whose_leave_was_withdrawn_is_refused_but_what_is_there_stays():
    study = study_with(2)
    bring(study, [row("q1", "ann")])
    Enrolment.objects.update(state="revoked")
    assert bring(study, [row("q1", "ann")]) == {"created": 0, "unchanged": 1, "bad": 0}
    assert refused(study, row("q2", "ann")) == (
        "1 bad line: line 1: the worker W001 may not work in this study any more"
    )


# --- Again, and bad lines ---------------------------------------------------------------------------
def test_the_same_row_again_is_left_alone_within_a_file_and_across_files():
    study = study_with(1)
    assert bring(study, [row("q1", "ann"), row("q1", "ann")]) == {"created": 1, "unchanged": 1, "bad": 0}
    assert bring(study, [row("q1", "ann")]) == {"created": 0, "unchanged": 1, "bad": 0}


def test_another_answer_of_the_same_worker_is_a_bad_line_and_nothing_is_kept():
    study = study_with(2)
    bring(study, [row("q1", "ann")])
    said = refused(
        study, row("q2", "ann"), row("q1", "ann", FILTER_ANSWER), row("q1", "ann", {"valid": "A"}, "validate")
    )
    assert said == (
        "2 bad lines: line 2: the worker 'ann' has met the item 'q1' before; "
        "line 3: the worker 'ann' has met the item 'q1' before"
    )  # fmt: skip
    assert Annotation.objects.count() == 1


def test_who_holds_an_item_right_now_has_met_it():
    study = study_with(1)
    make_sitting(study, "ann", at=NOON)
    assert refused(study, row("q1", "ann")) == "1 bad line: line 1: the worker 'ann' has met the item 'q1' before"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"item": "q9"}, "there is no item 'q9'"),
        ({"item": None}, "'item' is missing or not a text"),
        ({"worker": 7}, "'worker' is missing or not a text"),
        ({"worker": " "}, "'worker' is missing or not a text"),
        ({"worker": "x" * 93}, "the worker's name 'xxxxxxxxxxxxxxxxxxxx'... is too long"),
        ({"worker": "a\x00"}, "'worker' holds a NUL character"),
        ({"stage": "judge"}, "there is no stage 'judge', only generate, validate"),
        ({"answer": {"label": "maybe"}}, "'answer' cannot be taken: label: The label must be one of: "),
        ({"answer": {"label": "filter"}}, "'answer' cannot be taken: reason: Say why it is left out"),
        ({"answer": None}, "'answer' cannot be taken: An answer is an object with label, reason and pairs"),
        ({"submitted_at": "yesterday"}, "'submitted_at' must be a time such as 2026-11-02T12:00:00Z"),
        ({"submitted_at": 1}, "'submitted_at' must be a time such as 2026-11-02T12:00:00Z"),
        ({"submitted_at": "0001-01-01T00:00:00+12:00"}, "'submitted_at' must be a time such as"),
        ({"leased_at": "early"}, "'leased_at' must be a time such as 2026-11-02T12:00:00Z"),
        ({"sitting": []}, "'sitting' must be a text or a number, and 'said' a text of at most 450 characters"),
        ({"said": "x" * 451}, "'sitting' must be a text or a number, and 'said' a text of at most 450 characters"),
        ({"active_seconds": -1}, "'active_seconds' must be a whole number from 0"),
        ({"active_seconds": 2**31}, "'active_seconds' must be a whole number from 0"),
        ({"counted": "no"}, "'counted' must be true or false"),
        ({"counted": False, "why": "x" * 21}, "'counted' must be true or false, and 'why' a text of at most 20"),
    ],
    ids=str,
)
def test_a_bad_line_is_reported_with_its_number_and_reason(wrong, why):
    study = study_with(2)
    rows = [row("q1", "ann"), row("q2", "ann") | wrong, row("q1", "ben")]
    assert refused(study, *rows).startswith(f"1 bad line: line 2: {why}")
    assert not Annotation.objects.exists()
    assert not Worker.objects.exists()
    assert bring(study, rows, skip_bad=True) == {"created": 2, "unchanged": 0, "bad": 1}


def test_a_row_without_an_answer_is_bad():
    study = study_with(1)
    assert (
        refused(study, {"item": "q1", "worker": "a", "stage": "generate"}) == "1 bad line: line 1: 'answer' is missing"
    )


def test_an_item_that_is_not_for_work_takes_no_annotations():
    study = make_study()
    make_items(study, 1, role="practice")
    assert refused(study, row("q1", "ann")) == "1 bad line: line 1: the item 'q1' is not for work but for practice"


def test_bad_lines_are_named_in_the_order_of_the_file():
    study = study_with(1)
    said = refused(study, row("q1", "a", {}), row("q8", "a"), row("q1", "b", {}), {}, row("q9", "a"))
    assert [part.split(":")[0] for part in said.removeprefix("5 bad lines: ").split("; ")] == [
        "line 1",
        "line 2",
        "line 3",
        "line 4",
        "line 5",
    ]


# --- There and back -------------------------------------------------------------------------------
def comparable(study):
    local = ("id", "sitting", "judges", "leased_at", "rules")
    return [{name: value for name, value in r.items() if name not in local} for r in annotation_rows(study)]


def test_what_was_exported_can_be_imported_and_gives_the_same_gold():
    study = make_study("there", adjudication="third_annotator")
    copy = make_study("back", adjudication="third_annotator")
    for each in (study, copy):
        make_items(each, 40)
    simulate(study, workers=6, accuracy=0.7, seed=3, clock=lambda done: NOON + timedelta(seconds=done), limit=80)
    rows = list(annotation_rows(study))
    assert bring(copy, rows) == {"created": len(rows), "unchanged": 0, "bad": 0}
    assert sorted(map(str, comparable(copy))) == sorted(map(str, comparable(study)))
    assert list(gold_rows(copy, keep_unresolved=True)) == list(gold_rows(study, keep_unresolved=True)) != []
    fields = ("ref", "state", "stage", "votes_wanted", "open_seats")
    assert list(copy.items.values_list(*fields)) == list(study.items.values_list(*fields))
    assert bring(copy, rows)["unchanged"] == bring(study, rows)["unchanged"] == len(rows)


def test_a_late_answer_stays_late_even_when_its_row_comes_while_a_seat_is_open():
    study, copy = make_study("there"), make_study("back")
    for each in (study, copy):
        make_items(each, 1)
    late, held = make_sitting(study, "ann", at=NOON), None
    leasing.expire(at=NOON + 61 * MINUTE)
    for code in ("ben", "cat"):
        held = make_sitting(study, code, at=NOON + 61 * MINUTE)
    ben = Sitting.objects.get(worker__code="ben")
    for sitting, answer in ((ben, FALSE_ANSWER), (late, NORMAL_ANSWER), (held, FALSE_ANSWER)):
        submission.submit(sitting, {sitting.assignments.get().pk: answer}, at=NOON + 62 * MINUTE)
    rows = list(annotation_rows(study))
    assert [(r["worker"], r["counted"], r["why"]) for r in rows] == [
        ("W002", True, ""),
        ("W001", False, "late"),
        ("W003", True, ""),
    ]
    bring(copy, rows)
    assert comparable(copy) == comparable(study)
    assert list(gold_rows(copy)) == list(gold_rows(study)) != []


def test_a_step_costs_few_queries_however_many_rows_it_takes(django_assert_max_num_queries):
    for size in (1, 300):
        study = make_study(f"crepe-{size}")
        make_items(study, size)
        make_worker(study, f"ann{size}")
        with django_assert_max_num_queries(35):
            bring(study, [row(f"q{n}", f"ann{size}") for n in range(1, size + 1)])
    assert Item.objects.filter(open_seats=1).count() == 301
