"""Submitting: once, all or nothing, and nothing typed is lost."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation import leasing, submission
from annotation.errors import Closed, Invalid
from annotation.models import Annotation, Event, Item
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from validation.models import Resolution, Tally

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def take(study, code, stage="generate", at=NOON):
    return leasing.lease(make_worker(study, code), study, stage, at=at)[0]


def answers(sitting, answer):
    return {a.pk: answer for a in sitting.assignments.all()}


def test_a_sitting_is_submitted_as_a_whole():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    sitting = take(study, "ann")
    rows = submission.submit(sitting, answers(sitting, NORMAL_ANSWER), at=NOON + MINUTE)
    assert [(r.item.ref, r.answer, r.uncounted, r.submitted_at) for r in rows] == [
        ("q1", NORMAL_ANSWER, "", NOON + MINUTE),
        ("q2", NORMAL_ANSWER, "", NOON + MINUTE),
    ]
    sitting.refresh_from_db()
    assert (sitting.state, sitting.closed_at) == ("submitted", NOON + MINUTE)


def test_submitting_again_returns_the_first_answers_and_stores_nothing():
    study = make_study()
    make_items(study, 1)
    sitting = take(study, "ann")
    first = submission.submit(sitting, answers(sitting, NORMAL_ANSWER), at=NOON)
    again = submission.submit(sitting, answers(sitting, FILTER_ANSWER), at=NOON + MINUTE)
    assert [(r.pk, r.answer) for r in again] == [(first[0].pk, NORMAL_ANSWER)]
    assert Annotation.objects.count() == 1


def test_one_bad_answer_stops_the_whole_sitting_and_names_every_problem():
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    sitting = take(study, "ann")
    one, two, three = (a.pk for a in sitting.assignments.all())
    with pytest.raises(Invalid) as refused:
        submission.submit(sitting, {one: NORMAL_ANSWER, two: {"label": "filter"}}, at=NOON)
    assert refused.value.problems == {
        two: {"reason": ["Say why it is left out, one of: subjective, nonsense, uninformative, low quality."]},
        three: {"question": ["Choose one of these."]},
    }
    assert not Annotation.objects.exists()


def test_what_was_not_sent_is_answered_from_its_draft():
    study = make_study()
    make_items(study, 1)
    sitting = take(study, "ann")
    fields = {"question": "usable", "response": "informative", "wrong": "no"}
    submission.save_draft(sitting.assignments.get(), fields, active_seconds=41, at=NOON + MINUTE)
    row = submission.submit(sitting, {}, at=NOON + MINUTE)[0]
    assert (row.answer, row.active_seconds) == (NORMAL_ANSWER, 41)


def test_somebody_elses_assignment_is_refused():
    study = make_study(items_per_sitting=1)
    make_items(study, 2)
    mine, theirs = take(study, "ann"), take(study, "ben")
    other = theirs.assignments.get().pk
    with pytest.raises(Invalid) as refused:
        submission.submit(mine, answers(mine, NORMAL_ANSWER) | {other: NORMAL_ANSWER}, at=NOON)
    assert refused.value.problems == {other: {"": ["This assignment is not part of the sitting."]}}


def test_a_late_answer_counts_while_its_seat_is_free():
    study = make_study()
    make_items(study, 1)
    sitting = take(study, "ann")
    leasing.expire(at=NOON + 61 * MINUTE)
    row = submission.submit(sitting, answers(sitting, NORMAL_ANSWER), at=NOON + 62 * MINUTE)[0]
    assert (row.uncounted, row.assignment.seat, Item.objects.get().open_seats) == ("", 0, 1)


def test_a_late_answer_is_kept_and_marked_when_the_seat_is_gone():
    study = make_study()
    make_items(study, 1)
    late = take(study, "ann")
    leasing.expire(at=NOON + 61 * MINUTE)
    for code in ("ben", "cat"):
        sitting = take(study, code, at=NOON + 61 * MINUTE)
        submission.submit(sitting, answers(sitting, FALSE_ANSWER), at=NOON + 62 * MINUTE)
    row = submission.submit(late, answers(late, NORMAL_ANSWER), at=NOON + 63 * MINUTE)[0]
    assert (row.uncounted, row.assignment.seat, row.answer) == ("late", None, NORMAL_ANSWER)
    assert Resolution.objects.get().label == "false presupposition"
    last = Event.objects.last()
    assert (last.what, last.why) == ("submitted late", "The seat had been given to somebody else; the answer is kept.")


def test_a_sitting_given_back_cannot_be_submitted_but_keeps_what_was_written():
    study = make_study()
    make_items(study, 1)
    sitting = take(study, "ann")
    submission.save_draft(sitting.assignments.get(), {"question": "usable"}, active_seconds=0, at=NOON)
    leasing.give_back(sitting, at=NOON)
    with pytest.raises(Closed, match="You gave this sitting back"):
        submission.submit(sitting, answers(sitting, NORMAL_ANSWER), at=NOON)
    assert sitting.assignments.get().draft == {"question": "usable"}


def test_a_draft_is_kept_after_expiry_and_refused_after_submission():
    study = make_study()
    make_items(study, 1)
    sitting = take(study, "ann")
    leasing.expire(at=NOON + 61 * MINUTE)
    assignment = sitting.assignments.get()
    submission.save_draft(assignment, {"question": "usable"}, active_seconds=3, at=NOON + 62 * MINUTE)
    assignment.refresh_from_db()
    assert assignment.draft == {"question": "usable"}
    submission.submit(sitting, answers(sitting, NORMAL_ANSWER), at=NOON + 63 * MINUTE)
    with pytest.raises(Closed):
        submission.save_draft(assignment, {}, active_seconds=3, at=NOON + 64 * MINUTE)


def test_saving_a_draft_renews_the_lease():
    study = make_study()
    make_items(study, 1)
    sitting = take(study, "ann")
    submission.save_draft(sitting.assignments.get(), {}, active_seconds=0, at=NOON + 30 * MINUTE)
    sitting.refresh_from_db()
    assert sitting.leased_until == NOON + 90 * MINUTE


@pytest.mark.parametrize(("claimed", "kept"), [(50, 50), (100_000, 60), (0, 0)])
def test_active_time_is_never_more_than_the_time_since_the_lease(claimed, kept):
    study = make_study()
    make_items(study, 1)
    assignment = take(study, "ann").assignments.get()
    submission.save_draft(assignment, {}, active_seconds=claimed, at=NOON + MINUTE)
    assert assignment.active_seconds == kept


def test_agreeing_generators_settle_an_item_at_once():
    study = make_study()
    make_items(study, 1)
    for code in ("ann", "ben"):
        sitting = take(study, code)
        submission.submit(sitting, answers(sitting, FALSE_ANSWER), at=NOON)
    item, resolution = Item.objects.get(), Resolution.objects.get()
    assert (item.state, item.stage, item.votes_wanted, item.open_seats) == ("settled", "", 0, 0)
    assert (resolution.outcome, resolution.label) == ("settled", "false presupposition")
    assert resolution.gold["raw_labels"] == ["false presupposition"] * 2


def test_a_disagreement_goes_to_two_validators_and_a_third():
    study = make_study()
    make_items(study, 1)
    for code, answer in (("ann", NORMAL_ANSWER), ("ben", FALSE_ANSWER)):
        sitting = take(study, code)
        submission.submit(sitting, answers(sitting, answer), at=NOON)
    written = list(Annotation.objects.values_list("pk", flat=True))
    wanted = []
    for code, verdict in (("cat", "A"), ("dan", "B"), ("eve", "B")):
        sitting = take(study, code, "validate")
        assert sitting.assignments.get().judges == written
        submission.submit(sitting, answers(sitting, {"valid": verdict}), at=NOON)
        wanted.append(Item.objects.values_list("state", "stage", "votes_wanted", "open_seats").get())
    assert wanted == [("open", "validate", 2, 1), ("open", "validate", 3, 1), ("settled", "", 0, 0)]
    resolution = Resolution.objects.get()
    assert (resolution.label, resolution.why) == (
        "false presupposition",
        "Two of three validators gave the same verdict: B is valid.",
    )
    # Only the first two votes of a stage are compared: the third was asked for because they differ.
    assert sorted(Tally.objects.values_list("stage", "measure", "profile")) == [
        ("generate", "label", "1,1,0"),
        ("validate", "valid", "1,1,0"),
    ]
    assert list(
        Event.objects.exclude(what__in=["qualified", "leased", "rules declared"]).values_list("what", flat=True)
    ) == [
        "submitted",
        "submitted",
        "moved to validate",
        "submitted",
        "submitted",
        "submitted",
        "settled",
    ]


def test_a_submission_costs_a_fixed_number_of_queries(django_assert_num_queries):
    for size in (1, 10):
        study = make_study(f"crepe-{size}", items_per_sitting=size)
        make_items(study, 20)
        sitting = take(study, f"ann{size}")
        given = answers(sitting, NORMAL_ANSWER)
        with django_assert_num_queries(9):
            submission.submit(sitting, given, at=NOON)


def test_an_edit_that_a_later_one_of_its_page_overtook_is_left_out():
    study = make_study()
    make_items(study, 1)
    assignment = take(study, "ann").assignments.get()

    def save(text, page, edit):
        submission.save_draft(assignment, {"t": text}, active_seconds=0, at=NOON, page=page, edit=edit)
        assignment.refresh_from_db()
        return assignment.draft["t"]

    assert [save("second", "p1", 2), save("first", "p1", 1), save("other device", "p2", 1), save("third", "p1", 3)] == [
        "second",
        "second",
        "other device",
        "third",
    ]
