"""Leasing: the right items, to the right people, for a while."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation import leasing, submission
from annotation.errors import Closed, NothingLeft, NotQualified, Revoked, UnknownStage
from annotation.models import Assignment, Enrolment, Event, Item, Qualification, Sitting
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def refs(sitting):
    return list(sitting.assignments.values_list("item__ref", flat=True))


def answer_all(sitting, answer=NORMAL_ANSWER, at=NOON):
    return submission.submit(sitting, {a.pk: answer for a in sitting.assignments.all()}, at=at)


def test_a_worker_gets_the_next_items_in_import_order():
    study = make_study(items_per_sitting=3)
    make_items(study, 5)
    sitting, new = leasing.lease(make_worker(study), study, "generate", at=NOON)
    assert (refs(sitting), new, sitting.leased_until) == (["q1", "q2", "q3"], True, NOON + 60 * MINUTE)
    assert list(Item.objects.values_list("open_seats", flat=True)) == [1, 1, 1, 2, 2]


def test_coming_back_resumes_the_same_sitting_and_renews_it():
    study = make_study(items_per_sitting=2)
    make_items(study, 5)
    worker = make_worker(study)
    first, _ = leasing.lease(worker, study, "generate", at=NOON)
    again, new = leasing.lease(worker, study, "generate", at=NOON + 10 * MINUTE)
    assert (again.pk, new, again.leased_until) == (first.pk, False, NOON + 70 * MINUTE)


def test_two_seats_go_to_two_workers_and_not_to_a_third():
    study = make_study(items_per_sitting=10)
    make_items(study, 1)
    for code in ("a", "b"):
        leasing.lease(make_worker(study, code), study, "generate", at=NOON)
    assert list(Assignment.objects.order_by("pk").values_list("seat", flat=True)) == [0, 1]
    with pytest.raises(NothingLeft):
        leasing.lease(make_worker(study, "c"), study, "generate", at=NOON)


def test_a_worker_never_meets_an_item_twice_in_any_stage():
    study = make_study(items_per_sitting=1)
    make_items(study, 1)
    ann, ben = make_worker(study, "ann"), make_worker(study, "ben")
    answer_all(leasing.lease(ann, study, "generate", at=NOON)[0], NORMAL_ANSWER)
    with pytest.raises(NothingLeft):
        leasing.lease(ann, study, "generate", at=NOON)
    answer_all(leasing.lease(ben, study, "generate", at=NOON)[0], FALSE_ANSWER)
    assert Item.objects.get().stage == "validate"
    for worker in (ann, ben):
        with pytest.raises(NothingLeft):
            leasing.lease(worker, study, "validate", at=NOON)
    assert refs(leasing.lease(make_worker(study, "cat"), study, "validate", at=NOON)[0]) == ["q1"]


def test_a_returned_item_is_not_offered_to_the_one_who_returned_it():
    study = make_study()
    make_items(study, 1)
    ann = make_worker(study, "ann")
    leasing.give_back(leasing.lease(ann, study, "generate", at=NOON)[0], at=NOON)
    assert Item.objects.get().open_seats == 2
    with pytest.raises(NothingLeft):
        leasing.lease(ann, study, "generate", at=NOON)
    assert refs(leasing.lease(make_worker(study, "ben"), study, "generate", at=NOON)[0]) == ["q1"]


def test_giving_back_twice_is_refused_and_changes_nothing():
    study = make_study()
    make_items(study, 1)
    sitting, _ = leasing.lease(make_worker(study), study, "generate", at=NOON)
    leasing.give_back(sitting, at=NOON)
    with pytest.raises(Closed):
        leasing.give_back(sitting, at=NOON)
    assert Item.objects.get().open_seats == 2


def test_a_lease_expires_by_itself_and_its_seats_are_free_again():
    study = make_study(lease_minutes=30)
    make_items(study, 1)
    ann = make_worker(study, "ann")
    sitting, _ = leasing.lease(ann, study, "generate", at=NOON)
    leasing.renew(sitting, study, at=NOON + 20 * MINUTE)
    assert leasing.expire(at=NOON + 49 * MINUTE) == 0
    assert leasing.expire(at=NOON + 51 * MINUTE) == 1
    sitting.refresh_from_db()
    assert (sitting.state, Item.objects.get().open_seats) == ("expired", 2)
    assert list(Event.objects.values_list("what", "actor")) == [
        ("qualified", "test"),
        ("qualified", "test"),
        ("rules declared", "system"),
        ("leased", "worker:ann"),
        ("expired", "system"),
    ]


def test_nothing_left_is_not_said_while_an_overdue_lease_holds_the_seat():
    study = make_study()
    make_items(study, 1)
    for code in ("a", "b"):
        leasing.lease(make_worker(study, code), study, "generate", at=NOON)
    late = NOON + 61 * MINUTE
    assert refs(leasing.lease(make_worker(study, "c"), study, "generate", at=late)[0]) == ["q1"]


def test_a_lapsed_sitting_is_taken_up_again_with_its_drafts_while_its_seats_are_free():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    ann = make_worker(study, "ann")
    sitting, _ = leasing.lease(ann, study, "generate", at=NOON)
    submission.save_draft(sitting.assignments.first(), {"question": "usable"}, active_seconds=5, at=NOON)
    leasing.expire(at=NOON + 61 * MINUTE)
    again, new = leasing.lease(ann, study, "generate", at=NOON + 62 * MINUTE)
    assert (again.pk, new) == (sitting.pk, False)
    assert [a.draft for a in again.assignments.all()] == [{"question": "usable"}, None]
    assert list(Item.objects.values_list("open_seats", flat=True)) == [1, 1]


def test_a_reopened_item_goes_to_the_end_of_the_queue_and_is_still_found():
    study = make_study(items_per_sitting=1)
    make_items(study, 3)
    ann, ben = make_worker(study, "ann"), make_worker(study, "ben")
    first, _ = leasing.lease(ann, study, "generate", at=NOON)
    leasing.give_back(first, at=NOON + MINUTE)
    met = []
    for _ in range(3):
        sitting, _ = leasing.lease(ben, study, "generate", at=NOON + MINUTE)
        met += refs(sitting)
        answer_all(sitting)
    assert met == ["q2", "q3", "q1"]


def test_the_queue_is_searched_whole_before_nothing_left_is_said():
    study = make_study(items_per_sitting=1)
    make_items(study, 2)
    ann = make_worker(study, "ann")
    Qualification.objects.filter(stage="generate").update(queue_seen_until=NOON + timedelta(days=900))
    assert refs(leasing.lease(ann, study, "generate", at=NOON)[0]) == ["q1"]


def test_who_may_not_work_is_told_why():
    study = make_study()
    make_items(study, 1)
    ann = make_worker(study, "ann", stages=["generate"])
    with pytest.raises(NotQualified):
        leasing.lease(ann, study, "validate", at=NOON)
    with pytest.raises(UnknownStage, match="no stage 'paint'; it has generate, validate"):
        leasing.lease(ann, study, "paint", at=NOON)
    Enrolment.objects.update(state="revoked")
    with pytest.raises(Revoked):
        leasing.lease(ann, study, "generate", at=NOON)
    assert not Sitting.objects.exists()


def test_only_work_items_are_handed_out():
    study = make_study()
    make_items(study, 1)
    make_items(study, 1, role="practice", prefix="p")
    assert refs(leasing.lease(make_worker(study), study, "generate", at=NOON)[0]) == ["q1"]


def test_a_lease_costs_a_fixed_number_of_queries(django_assert_num_queries):
    for size in (1, 10):
        study = make_study(f"crepe-{size}", items_per_sitting=size)
        make_items(study, 20)
        make_sitting(study, f"first{size}")  # declares the study's rules, once
        worker = make_worker(study, f"ann{size}")
        with django_assert_num_queries(13):  # one more looks up the seats that are taken already
            leasing.lease(worker, study, "generate", at=NOON)


def test_items_reopened_by_one_submit_queue_in_the_order_of_the_sitting():
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    ann, ben = make_worker(study, "ann"), make_worker(study, "ben")
    answer_all(leasing.lease(ann, study, "generate", at=NOON)[0], NORMAL_ANSWER)
    answer_all(leasing.lease(ben, study, "generate", at=NOON)[0], FALSE_ANSWER)
    queue = study.items.order_by("queued_at").values_list("ref", "queued_at")
    assert [ref for ref, _ in queue] == ["q1", "q2", "q3"]
    assert len({queued_at for _, queued_at in queue}) == 3
