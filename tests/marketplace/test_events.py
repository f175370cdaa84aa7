"""Which events a requester is told, and once: also of what happens when nobody calls."""

from datetime import timedelta

import pytest
from django.utils import timezone

from marketplace import clock, events, work
from marketplace.models import Notice
from tests.marketplace.market import do, make_requester, make_worker
from tests.marketplace.test_work import call, make_hit

pytestmark = pytest.mark.django_db
EVERY = [
    "AssignmentAccepted",
    "AssignmentAbandoned",
    "AssignmentReturned",
    "AssignmentSubmitted",
    "AssignmentApproved",
    "AssignmentRejected",
    "HITCreated",
    "HITExtended",
    "HITDisposed",
    "HITReviewable",
    "HITExpired",
]


@pytest.fixture
def lab():
    return make_requester()


def listening(lab, *wanted, **changes):
    """A HIT whose type tells of these events, and of all where none is named."""
    hit = make_hit(lab, **changes)
    type_id = call(lab, "GetHIT", HITId=hit)["HIT"]["HITTypeId"]
    spec = {
        "Destination": "https://example.org/",
        "Transport": "SNS",
        "Version": "2014-08-15",
        "EventTypes": list(wanted or EVERY),
    }
    call(lab, "UpdateNotificationSettings", HITTypeId=type_id, Notification=spec)
    return hit


def told():
    return [notice.event["EventType"] for notice in Notice.objects.all()]


def test_a_whole_life_is_told_as_it_happens(lab):
    hit, now = listening(lab, MaxAssignments=10), timezone.now()
    call(lab, "CreateAdditionalAssignmentsForHIT", HITId=hit, NumberOfAdditionalAssignments=1)
    good, bad = (do(make_worker(name), hit) for name in ("a", "b"))
    call(lab, "ApproveAssignment", AssignmentId=good.assignment_id)
    call(lab, "RejectAssignment", AssignmentId=bad.assignment_id, RequesterFeedback="No.")
    back = work.accept(make_worker("c"), hit, at=now)
    work.give_back(back.worker, back.assignment_id, at=now)
    work.accept(make_worker("d"), hit, at=now - timedelta(seconds=700))
    call(lab, "UpdateExpirationForHIT", HITId=hit, ExpireAt=now - timedelta(days=1))
    clock.catch_up(timezone.now())
    call(lab, "DeleteHIT", HITId=hit)
    assert told() == [
        "HITExtended",
        *["AssignmentAccepted", "AssignmentSubmitted"] * 2,
        "AssignmentApproved",
        "AssignmentRejected",
        *["AssignmentAccepted", "AssignmentReturned"],
        "AssignmentAccepted",
        "HITExpired",
        *["AssignmentAbandoned", "HITReviewable"],
        "HITDisposed",
    ]
    assert events.tell_what_ran_out(at=timezone.now()) == 0


@pytest.mark.parametrize(
    ("wanted", "answers", "expected"),
    [
        ((), 0, ["HITExpired", "HITReviewable"]),
        ((), 1, ["AssignmentAccepted", "AssignmentSubmitted", "HITExpired", "HITReviewable"]),
        ((), 2, [*["AssignmentAccepted", "AssignmentSubmitted"] * 2, "HITReviewable", "HITExpired"]),
        (("HITReviewable",), 0, ["HITReviewable"]),
        (("HITReviewable",), 2, ["HITReviewable"]),
        (("HITExpired",), 1, ["HITExpired"]),
        (("AssignmentApproved",), 1, []),
    ],
)
def test_a_lifetime_that_ends_by_itself_is_told_once(lab, wanted, answers, expected):
    hit = listening(lab, *wanted)
    for n in range(answers):
        do(make_worker(f"w{n}"), hit)
    for seconds in (3599, 3601, 3631):
        events.tell_what_ran_out(at=timezone.now() + timedelta(seconds=seconds))
    assert told() == expected


def test_work_in_somebodys_hands_when_the_hit_ran_out_makes_it_reviewable_later(lab):
    hit, now = listening(lab, "HITExpired", "HITReviewable"), timezone.now()
    held = work.accept(make_worker(), hit, at=now + timedelta(seconds=3500))
    events.tell_what_ran_out(at=now + timedelta(seconds=3605))
    assert told() == ["HITExpired"]
    work.submit(held.worker, held.assignment_id, {"x": "1"}, at=now + timedelta(seconds=3700))
    events.tell_what_ran_out(at=now + timedelta(seconds=3800))
    assert told() == ["HITExpired", "HITReviewable"]
