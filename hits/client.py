"""What this project asks of a marketplace, in its own words: the interface, what goes in and out, and how it fails.

`boto.py` is the one that speaks. Money is `Decimal` in dollars with two digits, times are aware.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, Protocol


class MTurkError(Exception):
    """A call that did not simply succeed.

    code: for the record: the service's own, or what broke on the way. Never compare the sentence.
    """

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.sentence, self.code = sentence, code


class MTurkUnavailable(MTurkError):
    """Try again later. may_have_happened: whether the effect can have taken place although no answer came."""

    def __init__(self, sentence: str, code: str = "", *, may_have_happened: bool) -> None:
        super().__init__(sentence, code)
        self.may_have_happened = may_have_happened


class Throttled(MTurkUnavailable):
    """Too many calls: nothing happened."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence, code, may_have_happened=False)


class MTurkRefused(MTurkError):
    """The service understood and said no: nothing happened, and saying it again will not help. Tell a person."""


class InsufficientFunds(MTurkRefused):
    """The account cannot pay for it: try again when there is money."""


class BadAccount(MTurkRefused):
    """The service does not take our key, our signature or our clock: try again once somebody has set that right."""


class NotThere(MTurkRefused):
    """No such HIT, assignment or qualification; or not yet, for reads lag behind writes."""


class WrongState(MTurkRefused):
    """The thing is not in a state that allows it; perhaps because it was done before. Read it back."""


class AlreadyDone(MTurkRefused):
    """A request token was used before: what it stood for has happened. remote_id: what it made, where it says so."""

    def __init__(self, sentence: str, code: str = "", remote_id: str = "") -> None:
        super().__init__(sentence, code)
        self.remote_id = remote_id


class Status(StrEnum):
    """Of an assignment at the marketplace, as far as a requester can see it."""

    SUBMITTED = "Submitted"
    APPROVED = "Approved"
    REJECTED = "Rejected"


@dataclass(frozen=True)
class NewHit:
    """What is published. token: 1 to 64 characters, the same on every try. annotation: where lists find it again.

    requirements: as the service takes them (`QualificationRequirements`). url: of the task's page; its `&` are escaped
        by the adapter.
    """

    token: str
    annotation: str
    title: str
    description: str
    keywords: str
    reward: Decimal
    seats: int
    duration_seconds: int
    lifetime_seconds: int
    auto_approval_seconds: int
    url: str
    frame_height: int = 0
    requirements: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class RemoteHit:
    hit_id: str
    hit_type_id: str
    annotation: str
    status: str  # Assignable, Unassignable, Reviewable, Reviewing, Disposed
    seats: int
    expires_at: datetime
    reward: Decimal


@dataclass(frozen=True)
class RemoteAssignment:
    """Submitted work. answer: what the form carried, by field name."""

    assignment_id: str
    hit_id: str
    worker_id: str
    status: Status
    accepted_at: datetime
    submitted_at: datetime
    approves_at: datetime | None
    answer: Mapping[str, str]


@dataclass(frozen=True)
class RemoteBonus:
    worker_id: str
    assignment_id: str
    amount: Decimal
    reason: str


# "unavailable": nothing can have happened. "unknown": it can have.
Outcome = Literal["ok", "refused", "throttled", "unavailable", "unknown"]


@dataclass(frozen=True)
class CallMade:
    """One call as an audit log may keep it: nothing secret, nobody's name, nothing of what was asked or answered.

    operation: as the service spells it, CreateHIT. code: of the error, or "". request_id: the service's own, or ""
    where no answer came.
    """

    operation: str
    seconds: float
    outcome: Outcome
    code: str = ""
    request_id: str = ""


class MTurkClient(Protocol):
    """Every method makes one call (the lists: one for each page, and again while a page is throttled) and raises the
    errors above, and only those.

    Safe to share between threads. The lists ask for a page when it is needed, so an error can come in the middle.
    """

    def balance(self) -> Decimal: ...

    def create_hit(self, new: NewHit) -> RemoteHit:
        """Raises AlreadyDone, with the HIT's id where the service names it, for a token that was used."""
        ...

    def get_hit(self, hit_id: str) -> RemoteHit: ...

    def hits(self) -> Iterator[RemoteHit]:
        """All of the account's that are not deleted, each once; services differ in the order."""
        ...

    def add_seats(self, hit_id: str, seats: int, *, token: str) -> None:
        """So many more than there are. Raises AlreadyDone for a token that was used."""
        ...

    def set_expiry(self, hit_id: str, at: datetime) -> None:
        """Move the end; a time in the past ends it now. Raises AlreadyDone where it was moved to this time before."""
        ...

    def delete_hit(self, hit_id: str) -> None:
        """A HIT that is deleted already is no error. Raises WrongState while work is under way or not reviewed."""
        ...

    def get_assignment(self, assignment_id: str) -> RemoteAssignment:
        """Raises NotThere also for work that is not submitted, or not shown yet."""
        ...

    def assignments_of(self, hit_id: str) -> Iterator[RemoteAssignment]:
        """All pages, up to the empty one; each once."""
        ...

    def approve(self, assignment_id: str, feedback: str = "", *, override: bool = False) -> None:
        """Raises WrongState for reviewed work, however it was reviewed. override: also what was rejected before."""
        ...

    def reject(self, assignment_id: str, feedback: str) -> None:
        """Raises WrongState for reviewed work, however it was reviewed."""
        ...

    def bonus(self, worker_id: str, assignment_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        """The worker reads the reason. Raises AlreadyDone for a token that was used."""
        ...

    def bonuses_of(self, assignment_id: str) -> Iterator[RemoteBonus]:
        """All pages. Two that are alike are two."""
        ...

    def create_qualification(self, name: str, description: str) -> str:
        """Its id. Raises AlreadyDone where a type of this name exists."""
        ...

    def find_qualification(self, name: str) -> str:
        """The id of the own type with exactly this name, or ""."""
        ...

    def grant(self, qualification_id: str, worker_id: str, score: int) -> None:
        """Without a letter to the worker; overwrites an earlier score."""
        ...

    def revoke(self, qualification_id: str, worker_id: str, reason: str) -> None:
        """Raises WrongState where it was revoked before, NotThere where it was never granted."""
        ...

    def holders(self, qualification_id: str) -> Iterator[tuple[str, int]]:
        """(worker id, score) of everybody who holds it, each once."""
        ...

    def notify(self, worker_ids: Sequence[str], subject: str, text: str) -> list[tuple[str, str]]:
        """(worker id, why) of those it did not reach; at most 100 ids. Sent again, the letter arrives again."""
        ...
