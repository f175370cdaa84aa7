"""Decide once, ask until it is known what came of it, record that once.

A decision is a row, committed together with whatever it follows from. Afterwards anybody may carry it out, any number
of times at once, in any process: a try is leased, its outcome is recorded only by who holds the lease, and a try whose
outcome nobody knows is read back, or repeated under the same token, before anything else is done.
No call is made inside a transaction.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from time import sleep
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.events import event, record
from annotation.models import Study
from hits.client import (
    AlreadyDone,
    BadAccount,
    CallMade,
    InsufficientFunds,
    MTurkClient,
    MTurkError,
    MTurkRefused,
    MTurkUnavailable,
    NotThere,
    Throttled,
    WrongState,
)
from hits.models import Batch, Call, Hit, Intent, Pace, Visit

log = logging.getLogger(__name__)

State = Intent.State
LEASE = timedelta(seconds=90)  # more than a call with its timeouts can take
TOKEN_LIFE = timedelta(hours=23)  # the service forgets a token after 24 hours (MTURK.md 6)
SOON = 8.0  # seconds that whoever carries intents out waits for the next one, instead of leaving it to the sweep
ACCOUNT = timedelta(minutes=1)  # how often an account without money, or with a wrong key, is tried again
LAG = timedelta(minutes=10)  # reads may lag so long behind writes: until then, what is not there is not there yet
SLOWEST = {Throttled: 5.0, MTurkUnavailable: 60.0}  # seconds between two tries, at most


class NotYet(MTurkUnavailable):
    """Something else must be done first. came: whether it has been; given where that wakes those who wait (see
    `wake_waiting`), so that they need not ask often.
    """

    def __init__(self, sentence: str, *, came: Callable[[], bool] | None = None) -> None:
        super().__init__(sentence, may_have_happened=False)
        self.came = came


class Unknowable(Exception):
    """It may have happened, and cannot be found out: a person decides."""


@dataclass(frozen=True)
class Kind:
    """How one kind of intent is carried out.

    send: makes the call; returns the remote id, or "". look: reads back; the remote id or "" where it has happened,
        None where it has not.
    done, refused: what follows, inside the transaction that records the outcome; refused gets the sentence.
    again: undoes what followed from a refusal, inside the transaction in which a person lets it be tried again; it may
        raise a Refusal.
    has_token: repeating under the same token is safe while the service remembers it.
    at_most_once: never repeated when a try may have happened.
    """

    send: Callable[[Intent, MTurkClient], str]
    look: Callable[[Intent, MTurkClient], str | None]
    done: Callable[[Intent, datetime], None] = lambda intent, at: None
    refused: Callable[[Intent, str, datetime], None] = lambda intent, sentence, at: None
    parked: Callable[[Intent, datetime], None] = lambda intent, at: None
    again: Callable[[Intent, datetime], None] = lambda intent, at: None
    has_token: bool = False
    at_most_once: bool = False


KINDS: dict[str, Kind] = {}


# --- Deciding ------------------------------------------------------------------------------------


def decide(
    kind: str,
    target: str,
    *,
    study: Study,
    place: str,
    by: str,
    at: datetime,
    batch: Batch | None = None,
    hit: Hit | None = None,
    visit: Visit | None = None,
    params: Mapping[str, Any] | None = None,
) -> Intent:
    """The one intent of this kind about this target; the first decision stands. In the caller's transaction."""
    fields = {"batch": batch, "hit": hit, "visit": visit, "params": dict(params or {}), "by": by, "created_at": at}
    made, _ = Intent.objects.get_or_create(
        kind=kind, target=target, defaults={"study": study, "place": place, "not_before": at, **fields}
    )
    wake()
    return made


_is_carrying_out: ContextVar[bool] = ContextVar("is_carrying_out", default=False)


@contextmanager
def carrying_out() -> Iterator[None]:
    """Whoever decides inside carries out afterwards, so nobody need be woken."""
    token = _is_carrying_out.set(True)
    try:
        yield
    finally:
        _is_carrying_out.reset(token)


def wake() -> None:
    """Have a worker look after what was decided, once this is committed, however much it was. A lost message costs a
    sweep's interval.
    """
    is_asked = any(waiting is _send_message for _, waiting, *_ in connection.run_on_commit)
    if not is_asked and not _is_carrying_out.get():
        transaction.on_commit(_send_message, robust=True)


def _send_message() -> None:
    from hits.tasks import send_intents  # the tasks call this module

    send_intents.delay()


def wake_waiting(waiting: QuerySet[Intent], *, at: datetime) -> None:
    """Have those try now that wait for what has just come about; after the commit, so that they find it."""
    sleeping = waiting.filter(state=State.PENDING, not_before__gt=at)
    transaction.on_commit(lambda: sleeping.update(not_before=at))


@transaction.atomic
def again(intent: Intent, *, by: str, at: datetime) -> bool:
    """A person lets a refused or parked intent be tried again, under its own token; False if somebody did before.

    What may have happened is looked for first, and done only if it is not found. Raises what its kind raises.
    """
    closed = Intent.objects.select_for_update(of=("self",)).select_related("study")
    locked = closed.filter(pk=intent.pk, state__in=[State.FAILED, State.PARKED]).first()
    if locked is None:
        return False
    if locked.state == State.FAILED:
        KINDS[locked.kind].again(locked, at)
    is_parked = locked.state == State.PARKED
    fields = {"state": State.PENDING, "closed_at": None, "not_before": at, "error": "", "again_at": at, "seen_at": None}
    Intent.objects.filter(pk=locked.pk).update(**fields, unsure=is_parked)
    record([event(locked.study, "call tried again", by=by, at=at, kind=locked.kind, target=locked.target)])
    wake()
    return True


def leave(intent: Intent, *, by: str, at: datetime) -> bool:
    """A person has seen that a refused or parked intent did nothing, and leaves it so."""
    closed = Intent.objects.filter(pk=intent.pk, state__in=[State.FAILED, State.PARKED], seen_at=None)
    if not closed.update(seen_at=at):
        return False
    record([event(intent.study, "call left", by=by, at=at, kind=intent.kind, target=intent.target)])
    return True


# --- Carrying out ----------------------------------------------------------------------------------


def due(at: datetime) -> QuerySet[Intent]:
    """Those to be tried now: waiting and due, or left in flight by somebody who is gone."""
    return Intent.objects.filter(state__in=[State.PENDING, State.IN_FLIGHT], not_before__lte=at)


def claim(place: str, at: datetime) -> Intent | None:
    """Lease the next one that is due; from now on its outcome is not known."""
    with transaction.atomic():
        free = due(at).filter(place=place).order_by("not_before")  # the order of the index `intent_due`
        locked = free.select_for_update(of=("self",), skip_locked=connection.features.has_select_for_update_skip_locked)
        intent = locked.first()
        if intent is None:
            return None
        return _lease(intent, at)


def _lease(intent: Intent, at: datetime) -> Intent:
    intent.was_unsure = intent.unsure
    intent.state, intent.unsure = State.IN_FLIGHT, True
    intent.leased_until = intent.not_before = at + LEASE
    intent.attempts, intent.sent_at = intent.attempts + 1, intent.sent_at or at
    intent.save(update_fields=["state", "leased_until", "not_before", "unsure", "attempts", "sent_at"])
    return intent


def carry_out(intent: Intent, mturk: MTurkClient, *, now: Callable[[], datetime] = timezone.now) -> None:
    """Make the call of a leased intent, and record what came of it. Every failure is an outcome; faults of ours are
    raised, and the lease runs out.
    """
    with _noting(intent):
        try:
            remote_id = _try(intent, KINDS[intent.kind], mturk, now())
        except (InsufficientFunds, BadAccount) as refused:
            _wait(intent, now() + ACCOUNT, refused.sentence, now())
        except NotThere as missing:
            if now() - intent.created_at > LAG:
                _record(intent, State.FAILED, now(), error=missing.sentence)
            else:
                _wait(intent, now() + _pause(intent, missing), missing.sentence, now())
        except NotYet as early:
            _wait(intent, now() + _pause(intent, early), early.sentence, now(), early)
            if early.came and early.came():  # in flight, this one was not among those who were woken
                wake_waiting(Intent.objects.filter(pk=intent.pk), at=now())
        except MTurkUnavailable as unavailable:
            _wait(intent, now() + _pause(intent, unavailable), unavailable.sentence, now(), unavailable)
        except MTurkRefused as refused:
            _record(intent, State.FAILED, now(), error=refused.sentence)
        except Unknowable as unknowable:
            _record(intent, State.PARKED, now(), error=str(unknowable))
        else:
            _record(intent, State.DONE, now(), remote_id=remote_id)


def _try(intent: Intent, kind: Kind, mturk: MTurkClient, at: datetime) -> str:
    """The remote id, once it has happened. Raises MTurkError, or Unknowable."""
    if intent.was_unsure:
        is_remembered = kind.has_token and intent.sent_at is not None and at - intent.sent_at < TOKEN_LIFE
        if not is_remembered:
            found = kind.look(intent, mturk)
            if found is not None:
                return found
            if (kind.has_token or kind.at_most_once) and not _is_agreed(intent, at):
                raise Unknowable("It may have happened, and the marketplace does not say. Look there, then decide.")
    try:
        return kind.send(intent, mturk)
    except AlreadyDone as done:
        found = done.remote_id or kind.look(intent, mturk)
        if found is None:
            raise MTurkUnavailable(done.sentence, done.code, may_have_happened=True) from None
        return found
    except WrongState:
        found = kind.look(intent, mturk)
        if found is None:
            raise
        return found
    except (InsufficientFunds, BadAccount):
        raise
    except MTurkRefused as refused:
        return _after_all(intent, kind, mturk, refused)


def _after_all(intent: Intent, kind: Kind, mturk: MTurkClient, refused: MTurkRefused) -> str:
    """What refuses this try says nothing about one before it, whose answer was lost."""
    if not intent.was_unsure:
        raise refused
    try:
        found = kind.look(intent, mturk)
    except MTurkRefused:
        raise Unknowable(f"It may have happened, and cannot be looked up: {refused.sentence}") from refused
    if found is None:
        raise refused
    return found


def _is_agreed(intent: Intent, at: datetime) -> bool:
    """Whether a person looked and said that it did not happen; so lately that the token still stops a second one."""
    return intent.again_at is not None and at - intent.again_at < TOKEN_LIFE


def _pause(intent: Intent, error: MTurkError) -> timedelta:
    """Twice as long with every try, and never quite the same for two of them."""
    if isinstance(error, NotYet) and error.came:
        return timedelta(seconds=SLOWEST[MTurkUnavailable])
    most = SLOWEST[Throttled] if isinstance(error, Throttled | NotYet) else SLOWEST[MTurkUnavailable]
    jitter = Random(f"{intent.token} {intent.attempts}").uniform(0.5, 1.5)
    return timedelta(seconds=min(most, 0.1 * 2 ** min(intent.attempts, 12)) * jitter)


def _wait(intent: Intent, until: datetime, sentence: str, at: datetime, error: MTurkUnavailable | None = None) -> None:
    """Back to the queue. What surely did not happen leaves the intent as sure as it was before."""
    changed: dict[str, Any] = {"state": State.PENDING, "leased_until": None, "not_before": until}
    if error is None or not error.may_have_happened:
        was_unsure = intent.was_unsure
        changed |= {"unsure": was_unsure} | ({} if was_unsure else {"sent_at": None})
    _mine(intent).update(**changed, error=sentence[:500])


def _record(intent: Intent, state: str, at: datetime, **fields: str) -> None:
    """The end of an intent, and what follows from it, in one transaction; once."""
    kind, error = KINDS[intent.kind], fields.pop("error", "")[:500]
    with transaction.atomic():
        if not _mine(intent).update(state=state, closed_at=at, leased_until=None, error=error, unsure=False, **fields):
            return
        intent.state, intent.error = State(state), error
        for name, value in fields.items():
            setattr(intent, name, value)
        if state == State.DONE:
            kind.done(intent, at)
        elif state == State.FAILED:
            kind.refused(intent, error, at)
        else:
            kind.parked(intent, at)


def _mine(intent: Intent) -> QuerySet[Intent]:
    """The row, as long as this try holds it."""
    return Intent.objects.filter(pk=intent.pk, state=State.IN_FLIGHT, attempts=intent.attempts)


# --- Many of them ------------------------------------------------------------------------------------


def drain(
    mturk: MTurkClient,
    place: str,
    *,
    parallel: int = 1,
    seconds: float = 240,
    now: Callable[[], datetime] = timezone.now,
    tell: Callable[[], None] = lambda: None,
) -> None:
    """Carry out all that is due at this place and what comes due shortly, for at most so many seconds.

    parallel: threads, each with its own connection to the database; 1 works in this one.
    """
    until = now() + timedelta(seconds=seconds)
    if parallel == 1:
        with carrying_out():
            _work_off(mturk, place, until, now, tell)
        return
    with ThreadPoolExecutor(parallel, thread_name_prefix="intents") as pool:
        for done in [pool.submit(_in_thread, mturk, place, until, now, tell) for _ in range(parallel)]:
            done.result()


def _in_thread(*args: Any) -> None:
    try:
        with carrying_out():
            _work_off(*args)
    finally:
        connection.close()


def _work_off(
    mturk: MTurkClient, place: str, until: datetime, now: Callable[[], datetime], tell: Callable[[], None]
) -> None:
    while now() < until:
        if intent := claim(place, now()):
            _keep_pace(place, now)
            _carry_on(intent, mturk, now)
            tell()
        elif (wait := _seconds_to_next(place, now())) is not None and wait <= SOON:
            sleep(max(wait, 0.01))
        else:
            return


def _carry_on(intent: Intent, mturk: MTurkClient, now: Callable[[], datetime]) -> None:
    """One that fails by a fault of ours must not keep the others from their turn; without the database none has one."""
    try:
        carry_out(intent, mturk, now=now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("%s was not carried out; its lease runs out", intent)


def _seconds_to_next(place: str, at: datetime) -> float | None:
    waiting = Intent.objects.filter(state=State.PENDING, place=place).order_by("not_before")
    first = waiting.values_list("not_before", flat=True).first()
    return (first - at).total_seconds() if first else None


def _keep_pace(place: str, now: Callable[[], datetime]) -> None:
    """Wait for this call's turn, among all processes."""
    if not (per_second := settings.MTURK_CALLS_PER_SECOND):
        return
    with transaction.atomic():
        Pace.objects.get_or_create(place=place, defaults={"next_at": now()})
        row = Pace.objects.select_for_update().get(place=place)
        turn = max(now(), row.next_at)
        Pace.objects.filter(place=place).update(next_at=turn + timedelta(seconds=1 / per_second))
    if (wait := (turn - now()).total_seconds()) > 0:
        sleep(wait)


# --- The record of calls --------------------------------------------------------------------------------

_carried: ContextVar[int | None] = ContextVar("intent", default=None)


@contextmanager
def _noting(intent: Intent) -> Iterator[None]:
    """Calls made inside are recorded as this intent's."""
    token = _carried.set(intent.pk)
    try:
        yield
    finally:
        _carried.reset(token)


def note_call(made: CallMade) -> None:
    """Keep what was called and what came of it. A record that cannot be written must not undo what happened."""
    row = Call(
        intent_id=_carried.get(),
        operation=made.operation,
        outcome=made.outcome,
        code=made.code[:80],
        request_id=made.request_id[:80],
        milliseconds=round(made.seconds * 1000),
        at=timezone.now(),
    )
    try:
        row.save(force_insert=True)
    except OperationalError:
        log.exception("A call could not be recorded: %s %s", made.operation, made.outcome)
