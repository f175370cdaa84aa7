"""Many at once on the marketplace: places, answers, reviews, tokens and money, each exactly once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from marketplace import clock, ledger, work
from marketplace.errors import RequestError
from marketplace.models import HIT, Account, Assignment, Bonus
from marketplace.operations import OPERATIONS, Asked
from tests.concurrency.crowd import at_once
from tests.marketplace.market import USUAL, do, make_requester, make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def call(requester, operation, **params):
    return OPERATIONS[operation](Asked(requester, operation, params, timezone.now()))


def make_hit(requester, **changes):
    return call(requester, "CreateHIT", **{**USUAL, **changes})["HIT"]["HITId"]


def outcomes(results):
    """How many went through, and the kinds of what did not."""
    return sum(not isinstance(r, Exception) for r in results), {
        type(r).__name__ for r in results if isinstance(r, Exception)
    }


def test_fifty_workers_for_seven_places():
    hit = make_hit(make_requester(), MaxAssignments=7)
    workers = [make_worker(f"w{n}") for n in range(50)]
    results = at_once(workers, lambda worker: work.accept(worker, hit, at=timezone.now()))
    assert outcomes(results) == (7, {"Refused"})
    assert HIT.objects.get().accepted == Assignment.objects.filter(state="Accepted").count() == 7


def test_one_worker_pressing_accept_ten_times_holds_one_place():
    hit, worker = make_hit(make_requester(), MaxAssignments=7), make_worker()
    results = at_once(range(10), lambda _: work.accept(worker, hit, at=timezone.now()))
    assert outcomes(results) == (10, set())
    assert Assignment.objects.count() == HIT.objects.get().accepted == 1


def test_places_given_back_and_taken_at_once_are_never_lost():
    hit = make_hit(make_requester(), MaxAssignments=5)
    held = [work.accept(make_worker(f"a{n}"), hit, at=timezone.now()) for n in range(5)]
    others = [make_worker(f"b{n}") for n in range(5)]

    def act(job):
        if isinstance(job, Assignment):
            return work.give_back(job.worker, job.assignment_id, at=timezone.now())
        return work.accept(job, hit, at=timezone.now())

    at_once([*held, *others], act)
    row = HIT.objects.get()
    assert row.accepted == Assignment.objects.filter(state="Accepted").count() <= 5
    for worker in others:
        work.accept(worker, hit, at=timezone.now())
    assert HIT.objects.get().accepted == 5


def test_one_answer_of_ten_presses():
    hit, worker = make_hit(make_requester()), make_worker()
    held = work.accept(worker, hit, at=timezone.now())

    def submit(n):
        return work.submit(worker, held.assignment_id, {"n": str(n)}, at=timezone.now())

    assert outcomes(at_once(range(10), submit)) == (1, {"Refused"})
    assert (HIT.objects.get().accepted, HIT.objects.get().submitted) == (0, 1)


def test_approving_rejecting_and_approving_itself_pay_once():
    requester = make_requester()
    hit = make_hit(requester, MaxAssignments=10)
    now = timezone.now()
    done = [do(make_worker(f"w{n}"), hit, at=now - timedelta(seconds=3599)) for n in range(10)]
    Assignment.objects.update(approves_at=now)
    jobs = [(kind, each) for each in done for kind in ("approve", "reject", "clock")]

    def act(job):
        kind, each = job
        if kind == "clock":
            return clock.catch_up(now)
        if kind == "approve":
            return call(requester, "ApproveAssignment", AssignmentId=each.assignment_id)
        return call(requester, "RejectAssignment", AssignmentId=each.assignment_id, RequesterFeedback="No.")

    results = at_once(jobs, act)
    assert {type(r) for r in results if isinstance(r, Exception)} <= {RequestError}
    row = HIT.objects.get()
    assert (row.submitted, row.approved + row.rejected) == (0, 10)
    owed = sum(Account.objects.filter(kind="owed").values_list("balance", flat=True))
    assert owed == 50 * row.approved
    assert ledger.is_balanced()


def test_one_token_is_one_hit_and_one_bonus_whoever_comes_first():
    requester = make_requester()
    made = at_once(range(8), lambda _: make_hit(requester, UniqueRequestToken="same"))
    assert outcomes(made) == (1, {"RequestError"})
    assert HIT.objects.count() == 1
    done = do(make_worker(), HIT.objects.get().hit_id)
    given = {
        "WorkerId": done.worker.worker_id,
        "AssignmentId": done.assignment_id,
        "BonusAmount": "1.00",
    }
    sent = at_once(range(8), lambda _: call(requester, "SendBonus", **given, Reason="Good.", UniqueRequestToken="b"))
    assert outcomes(sent) == (1, {"RequestError"})
    assert Bonus.objects.count() == 1
    assert ledger.is_balanced()


def test_twenty_hits_for_the_money_of_five():
    requester = make_requester(deposit=5_00)
    results = at_once(range(20), lambda n: make_hit(requester, Title=f"Work {n}"))
    assert outcomes(results) == (5, {"RequestError"})
    assert ledger.account("available", requester=requester).balance == 0
    assert ledger.is_balanced()


def test_the_same_type_made_by_many_is_one():
    requester = make_requester()
    shared = {k: v for k, v in USUAL.items() if k not in ("LifetimeInSeconds", "MaxAssignments", "Question")}
    found = at_once(range(8), lambda _: call(requester, "CreateHITType", **shared)["HITTypeId"])
    assert len(set(found)) == 1
