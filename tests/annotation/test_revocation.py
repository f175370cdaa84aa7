"""Ending a worker's work, undoing it, appeals, proposals, and a worker's own withdrawal."""

from datetime import UTC, datetime

import pytest

from annotation import leasing, revocation, submission
from annotation.errors import Closed, Revoked, Withdrawn
from annotation.models import Annotation, Appeal, Assignment, Enrolment, Event, Item, Revocation
from annotation.revocation import NotNow, ReasonNeeded
from tests.factories import NORMAL_ANSWER, make_items, make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 3, 12, tzinfo=UTC)
BY = {"by": "user:eva", "at": LATER}


@pytest.fixture
def study():
    study = make_study(items_per_sitting=2)
    make_items(study, 6)
    return study


@pytest.fixture
def ann(study):
    make_worker(study, "ann")
    return Enrolment.objects.get(worker__code="ann")


def take(study, code):
    return leasing.lease(make_worker(study, code), study, "generate", at=NOON)[0]


def hand_in(sitting, at=NOON):
    return submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=at)


def test_revoking_ends_leases_at_once_and_keeps_drafts_and_finished_work(study, ann):
    hand_in(take(study, "ann"))
    sitting = take(study, "ann")
    submission.save_draft(sitting.assignments.all()[0], {"usable": "usable"}, active_seconds=3, at=NOON)
    done = revocation.revoke(ann, why="Guessing.", **BY)
    assert (done.state, done.work, done.why) == ("in force", "keep", "Guessing.")
    assert dict(Item.objects.values_list("ref", "open_seats")) == {
        "q1": 1,
        "q2": 1,
        **dict.fromkeys(("q3", "q4", "q5", "q6"), 2),
    }
    assert set(Assignment.objects.filter(sitting=sitting).values_list("state", "seat")) == {("withdrawn", None)}
    assert Assignment.objects.get(draft__isnull=False).draft == {"usable": "usable"}
    assert Annotation.objects.filter(uncounted="").count() == 2
    with pytest.raises(Revoked):
        leasing.lease(ann.worker, study, "generate", at=LATER)
    with pytest.raises(Closed, match="Your access was withdrawn before this was submitted"):
        hand_in(sitting, LATER)
    event = Event.objects.get(what="revoked")
    assert (event.actor, event.worker.code, event.why, event.details["sittings"]) == ("user:eva", "ann", "Guessing.", 1)


def test_a_lapsed_sitting_cannot_be_handed_in_after_the_revocation(study, ann):
    sitting = take(study, "ann")
    leasing.expire(at=LATER)
    revocation.revoke(ann, why="Guessing.", **BY)
    with pytest.raises(Closed):
        hand_in(sitting, LATER)
    assert not Annotation.objects.exists()


@pytest.mark.parametrize(
    ("work", "uncounted", "seats"), [("keep", "", 0), ("hold", "held", 0), ("exclude", "excluded", 2)]
)
def test_what_becomes_of_finished_work_is_a_choice_of_its_own(study, ann, work, uncounted, seats):
    hand_in(take(study, "ann"))
    done = revocation.revoke(ann, why="Guessing.", work=work, **BY)
    assert revocation.apply_work(done, **BY).seats == seats
    assert revocation.apply_work(done, **BY).annotations == 0
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {uncounted}


def test_nobody_is_revoked_twice_nor_without_a_reason(study, ann):
    with pytest.raises(ReasonNeeded):
        revocation.revoke(ann, why="  ", **BY)
    revocation.revoke(ann, why="Guessing.", **BY)
    with pytest.raises(NotNow, match="W001 was revoked, or has withdrawn, before"):
        revocation.revoke(ann, why="Guessing again.", **BY)
    assert Revocation.objects.count() == 1


def test_a_restored_worker_goes_on_and_the_history_stays(study, ann):
    revocation.revoke(ann, why="Guessing.", **BY)
    revocation.restore(ann, why="A mistake of ours.", **BY)
    assert (leasing.lease(ann.worker, study, "generate", at=LATER)[1], Revocation.objects.get().state) == (
        True,
        "restored",
    )
    with pytest.raises(NotNow, match="W001 is not revoked"):
        revocation.restore(ann, why="Again.", **BY)
    revocation.revoke(ann, why="Guessing after all.", **BY)
    assert list(Revocation.objects.values_list("state", flat=True)) == ["in force", "restored"]


def test_a_proposal_is_made_once_and_becomes_the_revocation(study, ann):
    found = {
        "rule": "revoke_invalid_share",
        "numbers": {"invalid": 3},
        "why": "3 of 20.",
        "work": "exclude",
        "at": NOON,
    }
    proposed = revocation.propose(ann, **found)
    assert (proposed.state, revocation.propose(ann, **found)) == ("proposed", None)
    assert leasing.lease(ann.worker, study, "generate", at=NOON)[1]  # a proposal stops nothing
    done = revocation.revoke(ann, why="The rule is right.", work="keep", **BY)
    assert (done.pk, done.state, done.rule, done.work) == (proposed.pk, "in force", "revoke_invalid_share", "keep")


def test_a_dismissed_proposal_comes_back_only_on_other_numbers(study, ann):
    found = {"rule": "revoke_invalid_share", "why": "3 of 20.", "work": "keep", "at": NOON}
    proposed = revocation.propose(ann, numbers={"invalid": 3}, **found)
    revocation.dismiss(proposed, why="Hard items.", **BY)
    with pytest.raises(NotNow):
        revocation.dismiss(proposed, why="Hard items.", **BY)
    assert revocation.propose(ann, numbers={"invalid": 3}, **found) is None
    assert revocation.propose(ann, numbers={"invalid": 4}, **found).state == "proposed"


def test_a_revoked_worker_answers_once_and_a_granted_appeal_restores(study, ann):
    with pytest.raises(NotNow, match="nothing to appeal"):
        revocation.appeal(ann, "Why?", at=NOON)
    revocation.revoke(ann, why="Guessing.", **BY)
    with pytest.raises(ReasonNeeded):
        revocation.appeal(ann, " ", at=LATER)
    appeal = revocation.appeal(ann, "I read every one.", at=LATER)
    with pytest.raises(NotNow, match="answered already"):
        revocation.appeal(ann, "And another thing.", at=LATER)
    revocation.decide_appeal(appeal, granted=True, answer="You are right.", **BY)
    with pytest.raises(NotNow, match="decided before"):
        revocation.decide_appeal(appeal, granted=False, answer="No.", **BY)
    assert (Appeal.objects.get().outcome, Enrolment.objects.get().state) == ("granted", "active")
    assert list(Event.objects.order_by("-pk").values_list("what", flat=True)[:4]) == [
        "restored",
        "appeal granted",
        "appealed",
        "revoked",
    ]


def test_who_withdraws_takes_their_answers_out_for_good_and_the_items_are_collected_again(study, ann):
    hand_in(take(study, "ann"))
    sitting = take(study, "ann")
    assert revocation.withdraw(ann, at=LATER).annotations == 2
    assert revocation.withdraw(ann, at=LATER).annotations == 0
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"withdrawn"}
    assert set(Item.objects.values_list("open_seats", flat=True)) == {2}
    with pytest.raises(Withdrawn):
        leasing.lease(ann.worker, study, "generate", at=LATER)
    with pytest.raises(Closed):
        hand_in(sitting, LATER)
    with pytest.raises(NotNow):
        revocation.restore(ann, why="Please come back.", **BY)


def test_a_worker_is_found_by_running_code_and_by_their_own(study, ann):
    assert revocation.enrolment_of(study, "W001") == revocation.enrolment_of(study, "ann") == ann
    with pytest.raises(Enrolment.DoesNotExist):
        revocation.enrolment_of(study, "W002")
