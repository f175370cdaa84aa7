"""The state machines against a small model: any sequence of calls gives the same states, and money is conserved."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from marketplace import clock, ledger, work
from marketplace.errors import RequestError
from marketplace.models import HIT, Account, Assignment
from marketplace.operations import OPERATIONS, Asked
from marketplace.status import status
from tests.marketplace.market import USUAL, make_requester, make_worker

PLACES, REWARD, PATIENCE, APPROVAL = 2, 50, 600, 3600


class Market(RuleBasedStateMachine):
    """One HIT of two places and three workers; `places` is what the test believes: worker -> state and since when."""

    def __init__(self):
        super().__init__()
        self.now = timezone.now()
        self.requester = make_requester(f"lab {timezone.now().timestamp()}", deposit=10_00)
        made = OPERATIONS["CreateHIT"](Asked(self.requester, "CreateHIT", USUAL, self.now))["HIT"]
        self.hit = HIT.objects.get(hit_id=made["HITId"])
        self.expires = self.now + timedelta(seconds=USUAL["LifetimeInSeconds"])
        self.workers = [make_worker(f"{self.hit.hit_id} {n}") for n in range(3)]
        self.places, self.gone, self.paid = {}, False, 0

    # --- What the test believes

    def tick(self):
        """Deadlines and auto-approval."""
        for worker, (state, since) in list(self.places.items()):
            if state == "Accepted" and self.now >= since + timedelta(seconds=PATIENCE):
                del self.places[worker]
            if state == "Submitted" and self.now >= since + timedelta(seconds=APPROVAL):
                self.places[worker] = ("Approved", since)
                self.paid += 1

    @property
    def expected(self):
        states = [state for state, _ in self.places.values()]
        if self.gone:
            return "Disposed"
        if len(states) < PLACES and self.now < self.expires:
            return "Assignable"
        return "Unassignable" if "Accepted" in states else "Reviewable"

    # --- What can be done

    def ask(self, operation, **params):
        clock.catch_up(self.now)
        try:
            OPERATIONS[operation](Asked(self.requester, operation, params, self.now))
        except RequestError:
            return False
        return True

    def held(self, n):
        return Assignment.objects.filter(hit=self.hit, worker=self.workers[n]).first()

    @rule(seconds=st.sampled_from([1, 300, 700, 3700]))
    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)
        self.tick()

    @rule(n=st.integers(0, 2))
    def accept(self, n):
        clock.catch_up(self.now)
        can = self.places.get(n, ("",))[0] == "Accepted" or (n not in self.places and self.expected == "Assignable")
        try:
            work.accept(self.workers[n], self.hit.hit_id, at=self.now)
            assert can
            self.places.setdefault(n, ("Accepted", self.now))
        except work.Refused:
            assert not can

    @precondition(lambda self: self.places)
    @rule(n=st.integers(0, 2), gives_back=st.booleans())
    def finish(self, n, gives_back):
        clock.catch_up(self.now)
        can, held = self.places.get(n, ("",))[0] == "Accepted", self.held(n)
        try:
            if gives_back:
                work.give_back(self.workers[n], held.assignment_id if held else "3NONE", at=self.now)
            else:
                work.submit(self.workers[n], held.assignment_id if held else "3NONE", {"x": "1"}, at=self.now)
            assert can
            if gives_back:
                del self.places[n]
            else:
                self.places[n] = ("Submitted", self.now)
        except work.Refused:
            assert not can

    @precondition(lambda self: self.places)
    @rule(n=st.integers(0, 2), how=st.sampled_from(["approve", "reject", "override"]))
    def review(self, n, how):
        held, state = self.held(n), self.places.get(n, ("",))[0]
        one = {"AssignmentId": held.assignment_id if held else "3NONE"}
        if how == "reject":
            done = self.ask("RejectAssignment", **one, RequesterFeedback="")
            assert done == (state == "Submitted")
            to = "Rejected"
        else:
            done = self.ask("ApproveAssignment", **one, OverrideRejection=how == "override")
            assert done == (state == "Submitted" or (state == "Rejected" and how == "override" and not self.gone))
            to = "Approved"
        if done:
            self.places[n] = (to, self.places[n][1])
            self.paid += to == "Approved"

    @rule(later=st.booleans())
    def expire(self, later):
        at = self.now + timedelta(hours=1) if later else self.now - timedelta(days=1)
        done = self.ask("UpdateExpirationForHIT", HITId=self.hit.hit_id, ExpireAt=at)
        assert done == (not self.gone and not (later and at == self.expires))
        if done:
            self.expires = at if later else min(self.expires, self.now)

    @rule()
    def delete(self):
        states = [state for state, _ in self.places.values()]
        can = self.expected == "Reviewable" and "Submitted" not in states
        assert self.ask("DeleteHIT", HITId=self.hit.hit_id) == can
        self.gone = self.gone or can

    # --- What always holds

    @invariant()
    def the_same_states(self):
        clock.catch_up(self.now)
        hit = HIT.objects.get(pk=self.hit.pk)
        assert status(hit, self.now) == self.expected
        for n, worker in enumerate(self.workers):
            row = Assignment.objects.filter(hit=hit, worker=worker).first()
            assert (str(row.state) if row else None) == self.places.get(n, (None,))[0]

    @invariant()
    def money_is_conserved(self):
        clock.catch_up(self.now)
        assert ledger.is_balanced()
        owed = sum(Account.objects.filter(kind="owed", worker__in=self.workers).values_list("balance", flat=True))
        assert owed == REWARD * self.paid
        held = ledger.account("held", requester=self.requester).balance
        unpaid = PLACES - sum(s in ("Approved", "Rejected") for s, _ in self.places.values())
        assert held == (0 if self.gone else REWARD * unpaid)


class TestMarket(TestCase):
    @pytest.mark.django_db
    def test_any_sequence_of_calls(self):
        quick = settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        )
        run_state_machine_as_test(Market, settings=quick)
