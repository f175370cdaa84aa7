"""Decided once, carried out until it is known what came of it: every answer a call can have, and what follows."""

from datetime import timedelta

import pytest
from django.utils import timezone

from hits import intents
from hits.client import AlreadyDone, InsufficientFunds, MTurkRefused, MTurkUnavailable, Throttled, WrongState
from hits.intents import KINDS, Kind, NotYet
from hits.models import Intent
from tests.factories import LONG_AGO, make_study

pytestmark = pytest.mark.django_db
PLACE = "marketplace example.org/api key"
LOST = MTurkUnavailable("no answer", may_have_happened=True)
UNREACHED = MTurkUnavailable("refused", may_have_happened=False)


class Remote:
    """What the marketplace does, call by call: an id, or an error to raise. `seen`: what reading back finds."""

    def __init__(self, *answers, seen=None):
        self.answers, self.seen, self.calls = list(answers), seen, []

    def send(self, intent, mturk):
        self.calls.append("send")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def look(self, intent, mturk):
        self.calls.append("look")
        return self.seen


@pytest.fixture
def kind(monkeypatch):
    """Registers a kind of intent that talks to this remote; returns what its outcomes were told."""

    def register(remote, **more):
        told = []
        made = Kind(
            send=remote.send,
            look=remote.look,
            done=lambda intent, at: told.append(("done", intent.remote_id)),
            refused=lambda intent, sentence, at: told.append(("refused", sentence)),
            parked=lambda intent, at: told.append(("parked", "")),
            **more,
        )
        monkeypatch.setitem(KINDS, "test", made)
        return told

    return register


@pytest.fixture
def intent():
    return intents.decide("test", "one", study=make_study(), place=PLACE, by="test", at=LONG_AGO)


def carry_out(intent, *, at=LONG_AGO, times=20):
    """Until nothing is due any more; the clock runs to the next try each time."""
    for _ in range(times):
        intent.refresh_from_db()
        if intent.closed_at:
            break
        at = max(at, intent.not_before, intent.leased_until or at) + timedelta(milliseconds=1)
        claimed = intents.claim(PLACE, at)
        intents.carry_out(claimed, None, now=lambda moment=at: moment)
    intent.refresh_from_db()
    return intent


@pytest.mark.parametrize(
    ("answers", "seen", "calls", "outcome"),
    [
        (["A1"], None, ["send"], ("done", "A1")),
        ([Throttled("slow"), Throttled("slow"), "A1"], None, ["send"] * 3, ("done", "A1")),
        ([UNREACHED, "A1"], None, ["send", "send"], ("done", "A1")),
        # A lost answer: read back first, and send again only what did not happen.
        ([LOST], "A1", ["send", "look"], ("done", "A1")),
        ([LOST, "A1"], None, ["send", "look", "send"], ("done", "A1")),
        # Throttled after a lost answer: still not known.
        ([LOST, Throttled("slow")], None, ["send", "look", "send"], None),
        ([WrongState("done before")], "A1", ["send", "look"], ("done", "A1")),
        ([WrongState("cannot")], None, ["send", "look"], ("refused", "cannot")),
        ([MTurkRefused("no")], None, ["send"], ("refused", "no")),
        ([InsufficientFunds("no money"), "A1"], None, ["send", "send"], ("done", "A1")),
    ],
)
def test_without_a_token_what_is_not_known_is_read_back(kind, intent, answers, seen, calls, outcome):
    remote = Remote(*answers, seen=seen)
    told = kind(remote)
    if outcome is None:
        remote.answers.append("A1")
        calls, outcome = [*calls, "look", "send"], ("done", "A1")
    carry_out(intent)
    assert (remote.calls, told) == (calls, [outcome])


@pytest.mark.parametrize(
    ("answers", "seen", "calls", "outcome"),
    [
        (["A1"], None, ["send"], ("done", "A1")),
        # The same token again is safe, and says what it made.
        ([LOST, AlreadyDone("was used", remote_id="A1")], None, ["send", "send"], ("done", "A1")),
        ([LOST, AlreadyDone("was used")], "A1", ["send", "send", "look"], ("done", "A1")),
        ([LOST, LOST, "A1"], None, ["send"] * 3, ("done", "A1")),
    ],
)
def test_with_a_token_the_same_call_is_made_again(kind, intent, answers, seen, calls, outcome):
    remote = Remote(*answers, seen=seen)
    told = kind(remote, has_token=True)
    carry_out(intent)
    assert (remote.calls, told) == (calls, [outcome])


@pytest.mark.parametrize(("seen", "outcome"), [("A1", ("done", "A1")), (None, ("parked", ""))])
def test_a_token_that_may_be_forgotten_is_never_sent_again(kind, intent, seen, outcome):
    """F9: after 24 hours the same token makes a second one."""
    remote = Remote(LOST, seen=seen)
    told = kind(remote, has_token=True)
    carry_out(intent, times=1)
    carry_out(intent, at=LONG_AGO + timedelta(hours=23, minutes=1))
    assert (remote.calls, told) == (["send", "look"], [outcome])


def test_a_day_of_throttling_does_not_use_the_token_up(kind, intent):
    remote = Remote(Throttled("slow"), "A1")
    told = kind(remote, has_token=True)
    carry_out(intent, times=1)
    carry_out(intent, at=LONG_AGO + timedelta(days=2))
    assert (remote.calls, told) == (["send", "send"], [("done", "A1")])


@pytest.mark.parametrize(("came", "again"), [(True, timedelta(0)), (False, timedelta(seconds=60))])
def test_what_is_waited_for_may_come_about_during_the_try(
    kind, intent, django_capture_on_commit_callbacks, came, again
):
    kind(Remote(NotYet("Something else is first.", came=lambda: came)))
    with django_capture_on_commit_callbacks(execute=True):
        intents.carry_out(intents.claim(PLACE, LONG_AGO), None, now=lambda: LONG_AGO)
    intent.refresh_from_db()
    assert (intent.state, intent.not_before) == (Intent.State.PENDING, LONG_AGO + again)


def test_what_may_have_happened_once_at_most_is_parked(kind, intent):
    remote = Remote(LOST)
    told = kind(remote, at_most_once=True)
    carry_out(intent)
    assert (remote.calls, told) == (["send", "look"], [("parked", "")])


def test_a_try_that_was_cut_off_is_read_back_once_its_lease_is_over(kind, intent):
    """F6: the process died during the call."""
    remote = Remote("A2", seen="A1")
    told = kind(remote)
    assert intents.claim(PLACE, LONG_AGO).pk == intent.pk  # and nothing more is heard of it
    assert intents.claim(PLACE, LONG_AGO + timedelta(seconds=30)) is None
    carry_out(intent, at=LONG_AGO + timedelta(seconds=91))
    assert (remote.calls, told) == (["look"], [("done", "A1")])


def test_who_comes_back_after_the_lease_records_nothing(kind, intent):
    told = kind(Remote("A1", "A1", seen=None))
    late = intents.claim(PLACE, LONG_AGO)
    carry_out(intent, at=LONG_AGO + timedelta(seconds=91))
    intents.carry_out(late, None, now=timezone.now)
    assert told == [("done", "A1")]


def test_the_same_thing_is_decided_once(intent):
    again = intents.decide("test", "one", study=intent.study, place="elsewhere", by="other", at=timezone.now())
    assert (again.pk, again.by, again.place) == (intent.pk, "test", PLACE)


def test_another_place_is_not_looked_after(kind, intent):
    kind(Remote())
    assert intents.claim("production mturk.com key", timezone.now()) is None


def test_a_person_may_let_what_was_refused_be_tried_again(kind, intent):
    remote = Remote(MTurkRefused("no"), "A1")
    told = kind(remote)
    carry_out(intent)
    assert intents.again(intent, by="ann", at=LONG_AGO)
    carry_out(intent)
    assert told == [("refused", "no"), ("done", "A1")]
    assert not intents.again(intent, by="ann", at=LONG_AGO)
    assert Intent.objects.count() == 1
