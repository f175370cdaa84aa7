"""Tests for a stage: scored at once on the labels, read by a person where writing counts, so many places."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation import leasing, qualification, submission
from annotation.errors import Closed, LostRace, NotQualified
from annotation.models import Annotation, Assignment, Attempt, Qualification, Sitting
from annotation.models.sittings import State
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def study_with_test(**options):
    study = make_study(**options)
    make_items(study, 3)
    make_items(study, 5, role="qualification", prefix="t", gold=NORMAL_ANSWER)
    return study


def sit(study, code, *answers, number=1):
    """`code` takes the test with these answers."""
    worker = make_worker(study, code, stages=[])
    found = qualification.enrol(worker, study, "generate", by="test", at=NOON)
    sitting = Sitting.objects.create(
        study=study,
        worker=worker,
        stage="generate",
        purpose="test",
        leased_until=NOON + timedelta(days=1),
        opened_at=NOON,
    )
    attempt = Attempt.objects.create(qualification=found, sitting=sitting, number=number)
    rows = Assignment.objects.bulk_create(
        Assignment(sitting=sitting, item=item, worker=worker, stage="generate", role=item.role, attempt=number - 1)
        for item in study.items.filter(role="qualification")
    )
    submission.submit(sitting, {row.pk: given for row, given in zip(rows, answers, strict=True)}, at=NOON)
    attempt.refresh_from_db()
    return attempt


def state(code="ann"):
    return Qualification.objects.get(enrolment__worker__code=code).state


@pytest.mark.parametrize(
    ("wrong", "attempt_state", "qualified"),
    [(0, "passed", "qualified"), (1, "passed", "qualified"), (2, "failed", "failed")],
)
def test_four_of_five_labels_pass(wrong, attempt_state, qualified):
    study = study_with_test(review_tests="off")
    attempt = sit(study, "ann", *[FALSE_ANSWER] * wrong, *[NORMAL_ANSWER] * (5 - wrong))
    assert (attempt.state, attempt.right, attempt.total, state()) == (attempt_state, 5 - wrong, 5, qualified)
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"test"}
    assert {a.state for a in Assignment.objects.all()} == {State.SUBMITTED}


def test_where_writing_counts_a_person_reads_it_and_decides_once():
    study = study_with_test()
    attempt = sit(study, "ann", FALSE_ANSWER, *[NORMAL_ANSWER] * 4)
    assert (attempt.state, state()) == ("review", "review")
    with pytest.raises(NotQualified):
        leasing.lease(attempt.qualification.enrolment.worker, study, "generate", at=NOON)
    qualification.decide(attempt, passed=True, by="user:eva", why="", at=NOON)
    assert (state(), leasing.lease(attempt.qualification.enrolment.worker, study, "generate", at=NOON)[1]) == (
        "qualified",
        True,
    )
    with pytest.raises(LostRace):
        qualification.decide(
            Attempt(pk=attempt.pk, state="review", qualification=attempt.qualification),
            passed=False,
            by="user:ida",
            why="No.",
            at=NOON,
        )


def test_when_all_places_are_taken_who_passes_is_told_so():
    study = study_with_test(max_qualified=1)
    for code in ("ann", "ben"):
        sat = sit(study, code, FALSE_ANSWER, *[NORMAL_ANSWER] * 4)
    for attempt in Attempt.objects.order_by("pk"):
        qualification.decide(attempt, passed=True, by="user:eva", why="", at=NOON)
    assert (sat.state, state("ann"), state("ben")) == ("review", "qualified", "full")


def test_a_test_that_was_closed_meanwhile_is_refused_and_its_drafts_stay():
    study = study_with_test(review_tests="off", max_qualified=1)
    sit(study, "ann", *[NORMAL_ANSWER] * 5)
    with pytest.raises(Closed, match="All places were taken while you worked"):
        sit(study, "ben", *[NORMAL_ANSWER] * 5)
    assert (state("ben"), Annotation.objects.filter(worker__code="ben").count()) == ("training", 0)


def test_whom_the_team_vouches_for_takes_no_place_and_needs_no_test():
    study = study_with_test(review_tests="off", max_qualified=1)
    make_worker(study, "zoe")
    sit(study, "ann", *[NORMAL_ANSWER] * 5)
    assert state("ann") == "qualified"


def test_without_practice_and_test_a_new_person_is_through_at_once():
    study = make_study()
    worker = make_worker(study, "ann", stages=[])
    assert qualification.enrol(worker, study, "generate", by="test", at=NOON).state == "qualified"


def test_vouching_lifts_somebody_who_failed():
    study = study_with_test(review_tests="off")
    sit(study, "ann", *[FALSE_ANSWER] * 5)
    make_worker(study, "ann", stages=["generate"])
    assert state() == "qualified"
