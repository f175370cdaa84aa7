"""What the console reads of a study, against small studies counted by hand."""

from collections import Counter
from datetime import date, timedelta

import pytest
from django.utils import timezone

from annotation import leasing, overview, submission
from annotation.models import Annotation, Item, Qualification
from annotation.overview import PLACES
from tests.factories import LONG_AGO, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker
from tests.people import answer

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)

STANDS = [
    # role, state, stage, votes wanted, open seats, place
    ("work", "open", "generate", 2, 2, "waiting"),
    ("work", "open", "generate", 2, 1, "working"),
    ("work", "open", "generate", 2, 0, "working"),
    ("work", "open", "validate", 2, 2, "validation"),
    ("work", "open", "validate", 3, 0, "validation"),
    ("work", "settled", "", 0, 0, "settled"),
    ("work", "dropped", "", 0, 0, "filtered"),
    ("work", "unresolved", "", 0, 0, "unresolved"),
    ("practice", "open", "", 0, 0, ""),
]


def make_every_kind(study):
    for n, (role, state, stage, votes, seats, _) in enumerate(STANDS):
        make_items(study, 1, role=role, prefix=f"kind{n}-")
        item = Item.objects.filter(study=study, ref=f"kind{n}-1")
        item.update(state=state, stage=stage, votes_wanted=votes, open_seats=seats)


@pytest.mark.parametrize(("role", "state", "stage", "votes", "seats", "place"), STANDS)
def test_an_item_stands_where_its_state_and_seats_say(role, state, stage, votes, seats, place):
    study = make_study()
    item = Item(role=role, state=state, stage=stage, votes_wanted=votes, open_seats=seats)
    assert overview.place_of(item, study.protocol) == place


def test_counting_and_finding_agree_with_where_each_item_stands():
    study = make_study()
    make_every_kind(study)
    expected = Counter(place for *_, place in STANDS if place)
    found = {place: study.items.filter(overview.standing_at(place, study.protocol)) for place in PLACES}
    assert overview.progress_of([study]) == {study.pk: expected}
    assert {place: items.count() for place, items in found.items()} == expected
    assert all(overview.place_of(i, study.protocol) == place for place, items in found.items() for i in items)


def test_the_progress_of_many_studies_takes_one_query(django_assert_num_queries):
    studies = [make_study("one"), make_study("two"), make_study("three")]
    make_items(studies[1], 2)
    with django_assert_num_queries(1):
        counts = overview.progress_of(studies)
    assert [counts[study.pk]["waiting"] for study in studies] == [0, 2, 0]


def test_the_serial_grows_with_every_change_of_this_study_alone():
    study, other = make_study("one"), make_study("two")
    make_items(study, 1)
    assert overview.serial(study) == 0
    make_sitting(study, "ann")
    first = overview.serial(study)
    make_worker(other, "ben")
    assert overview.serial(study) == first > 0
    make_worker(study, "ben")
    assert overview.serial(study) > first


def test_work_is_counted_by_stage_and_day():
    study = make_study(items_per_sitting=2)
    make_items(study, 3)
    answer(study, "ann", NORMAL_ANSWER, NORMAL_ANSWER)
    Annotation.objects.filter(item__ref="q1").update(submitted_at=LONG_AGO + timedelta(days=2))
    assert overview.work_per_day(study) == {
        "generate": {date(2026, 11, 1): 1, date(2026, 11, 3): 1},
        "validate": {},
    }


def test_times_are_counted_where_they_are_known():
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    answer(study, "ann", *[NORMAL_ANSWER] * 3)
    Annotation.objects.exclude(item__ref="q1").update(active_seconds=40)
    assert overview.seconds_per_item(study) == {"generate": {40: 2}, "validate": {}}


def test_people_at_work_are_those_whose_lease_runs():
    study = make_study(lease_minutes=60, items_per_sitting=1)
    make_items(study, 3)
    now = timezone.now()
    make_sitting(study, "ann", at=now)
    make_sitting(study, "ben", at=now - 61 * MINUTE)
    leasing.give_back(make_sitting(study, "cat", at=now), at=now)
    assert overview.at_work(study, at=now) == 1


def test_people_are_listed_with_what_they_may_do_and_did():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    answer(study, "ann", NORMAL_ANSWER, NORMAL_ANSWER)
    make_worker(study, "ben", stages=["validate"])
    Annotation.objects.update(active_seconds=30)
    Qualification.objects.filter(enrolment__number=2).update(state="revoked")
    ann, ben = overview.people_of(study)
    assert [(p.enrolment.running_code, p.answers, p.seen_at) for p in (ann, ben)] == [
        ("W001", 2, LONG_AGO),
        ("W002", 0, None),
    ]
    assert [(name, d.state, d.answers, d.seconds) for name, d in ann.stages.items()] == [
        ("generate", "qualified", 2, {30: 2}),
        ("validate", "qualified", 0, {}),
    ]
    assert [(name, d.state) for name, d in ben.stages.items()] == [("generate", ""), ("validate", "revoked")]


def test_a_person_was_seen_when_they_last_leased_wrote_or_submitted_but_not_when_their_lease_ran_out():
    study = make_study()
    make_items(study, 1)
    sitting = make_sitting(study, "ann")
    assert [p.seen_at for p in overview.people_of(study)] == [LONG_AGO]
    assignment = sitting.assignments.get()
    assignment.sitting = sitting
    submission.save_draft(assignment, {}, active_seconds=5, at=LONG_AGO + MINUTE)
    leasing.expire(at=LONG_AGO + 90 * MINUTE)
    assert [p.seen_at for p in overview.people_of(study)] == [LONG_AGO + MINUTE]
    submission.submit(sitting, {assignment.pk: NORMAL_ANSWER}, at=LONG_AGO + 91 * MINUTE)
    assert [p.seen_at for p in overview.people_of(study)] == [LONG_AGO + 91 * MINUTE]


@pytest.mark.parametrize("workers", [1, 3])
def test_people_take_four_queries_however_many(workers, django_assert_num_queries):
    study = make_study(items_per_sitting=1)
    make_items(study, 3)
    for n in range(workers):
        answer(study, f"ann-{n}", NORMAL_ANSWER)
    with django_assert_num_queries(4):
        overview.people_of(study)
