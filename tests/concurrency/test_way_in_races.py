"""The way in while others click: a test handed in, vouching, revoking, a new consent text, the same page twice."""

from datetime import UTC, datetime

import pytest

from annotation import leasing, qualification, revocation, submission, way_in
from annotation.errors import Closed
from annotation.models import Annotation, Attempt, Enrolment, Event, Item, Qualification, Sitting, Try
from annotation.way_in import ConsentChanged, Step
from tests.concurrency.crowd import at_once
from tests.factories import NORMAL_ANSWER, make_items, make_study

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def study_with(*, practice=0, questions=0, **options):
    study = make_study(review_tests="off", **options)
    make_items(study, 2)
    make_items(study, practice, role="practice", prefix="p", gold=NORMAL_ANSWER)
    make_items(study, questions, role="qualification", prefix="t", gold=NORMAL_ANSWER)
    return study


def comer(study):
    """Somebody who has read the instructions."""
    worker = qualification.join(study, at=NOON)
    way_in.read_instructions(worker, study, "generate", at=NOON)
    return worker


def hand_in(sitting):
    mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
    return submission.submit(mine, {a.pk: NORMAL_ANSWER for a in mine.bundle}, at=NOON)


def revoke():
    enrolment = Enrolment.objects.select_related("study", "worker").get()
    return revocation.revoke(enrolment, why="Guessing.", by="user:eva", at=NOON)


@pytest.mark.parametrize("n", range(5))
def test_a_test_handed_in_while_its_taker_is_revoked_is_taken_whole_or_refused(n):
    study = study_with(questions=4)
    sitting = way_in.open_sitting(comer(study), study, "generate", Step.TEST, at=NOON)
    taken, revoked = at_once(["test", "revoke"], lambda act: hand_in(sitting) if act == "test" else revoke())
    assert isinstance(revoked, revocation.Revocation)
    if isinstance(taken, Closed):
        assert (Annotation.objects.count(), Attempt.objects.get().state) == (0, "open")
    else:
        assert (len(taken), Attempt.objects.get().state) == (4, "passed")


@pytest.mark.parametrize("n", range(5))
def test_a_test_handed_in_while_the_team_vouches_leaves_its_taker_qualified(n):
    study = study_with(questions=4)
    worker = comer(study)
    sitting = way_in.open_sitting(worker, study, "generate", Step.TEST, at=NOON)

    def act(which):
        if which == "test":
            return hand_in(sitting)
        return qualification.qualify(worker, study, ["generate"], by="user:eva", at=NOON)

    taken, _ = at_once(["test", "vouch"], act)
    assert (len(taken), Qualification.objects.get().state, Attempt.objects.get().state) == (4, "qualified", "passed")


def test_a_step_that_is_begun_twice_is_begun_once():
    study = study_with(practice=3)
    worker = comer(study)
    sittings = at_once(range(4), lambda n: way_in.open_sitting(worker, study, "generate", Step.PRACTICE, at=NOON))
    assert (len({sitting.pk for sitting in sittings}), Sitting.objects.count()) == (1, 1)


def test_the_last_right_answer_sent_twice_qualifies_once():
    study = study_with(practice=1)
    sitting = way_in.open_sitting(comer(study), study, "generate", Step.PRACTICE, at=NOON)

    def attempt(n):
        mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk).bundle[0]
        return way_in.attempt_practice(mine, NORMAL_ANSWER, at=NOON)

    assert at_once(range(4), attempt) == [True] * 4
    assert (Try.objects.count(), Qualification.objects.get().state) == (4, "qualified")
    assert Event.objects.filter(what="qualified").count() == 1


def test_practice_handed_in_while_work_is_taken_ends_with_work():
    study = study_with(practice=1)
    worker = comer(study)
    sitting = way_in.open_sitting(worker, study, "generate", Step.PRACTICE, at=NOON)
    way_in.attempt_practice(sitting.bundle[0], NORMAL_ANSWER, at=NOON)

    def act(which):
        return hand_in(sitting) if which == "submit" else leasing.lease(worker, study, "generate", at=NOON)

    handed_in, leased = at_once(["submit", "lease"], act)
    assert isinstance(handed_in, list | Closed)
    assert (leased[1], Item.objects.filter(role="work", open_seats=1).count()) == (True, 2)


def test_a_text_changed_while_people_agree_is_agreed_to_by_nobody_who_read_the_old_one():
    study = study_with()
    way_in.set_consent(study, "One.", by="user:eva", at=NOON)
    people = [qualification.join(study, at=NOON) for _ in range(4)]

    def act(who):
        if who == "change":
            return way_in.set_consent(study, "Two.", by="user:eva", at=NOON).version
        return way_in.agree(who, study, 1, at=NOON)

    *agreed, version = at_once([*people, "change"], act)
    assert version == 2
    assert {type(result) for result in agreed} <= {type(None), ConsentChanged}
    study.refresh_from_db()
    assert {way_in.step_of(worker, study, "generate") for worker in people} == {Step.CONSENT}


def test_the_same_new_text_from_two_researchers_is_one_version():
    study = study_with()
    versions = at_once(range(3), lambda n: way_in.set_consent(study, "One.", by="user:eva", at=NOON).version)
    assert versions == [1, 1, 1]
