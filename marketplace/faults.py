"""Faults on demand, for tests of requester software: what a service across a network does on a bad day.

`MARKETPLACE_FAULTS` is JSON: {"seed": 7, "operations": {"CreateHIT": {"throttle": 0.3, "lost_after": 0.1}, "*": {...}},
"latency_seconds": 2, "hang_seconds": 70, "lag_seconds": 5, "clock_shift": 86401}. A number is the probability of that
fault for a call, drawn from the seed, the operation, and how many calls of it there were.
A production configuration refuses to start with it.
"""

import json
import socket
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from random import Random
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from marketplace.errors import Throttled, WireError

# before: nothing is done. after: everything is done, and the caller does not hear of it.
KINDS = (
    "throttle",
    "error500_before",
    "error500_after",
    "lost_before",
    "lost_after",
    "cut",
    "hang_before",
    "hang_after",
    "latency",
)


@dataclass
class Plan:
    """What goes wrong, how often. calls: how many there were of each operation."""

    seed: int
    operations: Mapping[str, Mapping[str, float]]
    latency_seconds: float
    hang_seconds: float
    lag_seconds: float
    clock_shift: float
    calls: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)

    def draw(self, operation: str) -> str:
        """The fault of the next call of this operation, or ""."""
        with self.lock:
            self.calls[operation] += 1
            number = self.calls[operation]
        rng, chances = Random(f"{self.seed} {operation} {number}"), self.operations.get("*", {})
        chances = {**chances, **self.operations.get(operation, {})}
        return next((kind for kind in KINDS if rng.random() < chances.get(kind, 0)), "")


NONE = Plan(0, {}, 0, 0, 0, 0)


class BadFaults(ValueError):
    pass


@cache
def read(text: str) -> Plan:
    """Raises BadFaults."""
    if not text:
        return NONE
    try:
        given = json.loads(text)
        operations = given.pop("operations", {})
        unknown = {kind for chances in operations.values() for kind in chances} - set(KINDS)
        if unknown:
            raise BadFaults(f"There is no fault {sorted(unknown)[0]!r}; there are {', '.join(KINDS)}.")
        usual = {"seed": 0, "latency_seconds": 2, "hang_seconds": 70, "lag_seconds": 0, "clock_shift": 0}
        return Plan(operations=operations, **{**usual, **given})
    except (json.JSONDecodeError, AttributeError, TypeError) as error:
        raise BadFaults(f"MARKETPLACE_FAULTS is not as it must be: {error}") from error


def plan() -> Plan:
    return read(settings.MARKETPLACE_FAULTS)


def now() -> datetime:
    """The marketplace's own time: the clock's, or where a test has moved it to."""
    return timezone.now() + timedelta(seconds=plan().clock_shift)


def before(kind: str, request: HttpRequest) -> None:
    """What goes wrong on the way here."""
    if kind == "throttle":
        raise Throttled("Rate exceeded")
    if kind == "error500_before":
        raise WireError("A fault on demand, before anything was done.")
    if kind in ("latency", "hang_before"):
        time.sleep(plan().latency_seconds if kind == "latency" else plan().hang_seconds)
    if kind in ("lost_before", "hang_before"):
        _cut_off(request)
        raise WireError("A fault on demand: the request was lost.")


def after(kind: str, request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """What goes wrong on the way back."""
    if kind == "error500_after":
        return HttpResponse(b"<html>Internal error</html>", status=500, content_type="text/html")
    if kind == "hang_after":
        time.sleep(plan().hang_seconds)
    if kind in ("lost_after", "hang_after"):
        _cut_off(request)
    if kind == "cut":
        answer.content = answer.content[: len(answer.content) // 2]
    return answer


def _cut_off(request: HttpRequest) -> None:
    """Close the connection under the answer. gunicorn hands its socket over; Django's server has it below its input."""
    sock = request.META.get("gunicorn.socket")
    if sock is None:
        read = getattr(request.META.get("wsgi.input"), "_read", None)
        sock = getattr(getattr(getattr(read, "__self__", None), "raw", None), "_sock", None)
    if isinstance(sock, socket.socket):
        sock.shutdown(socket.SHUT_RDWR)


STAMPS = {
    "HITs": "CreationTime",
    "Assignments": "SubmitTime",
    "QualificationTypes": "CreationTime",
    "QualificationRequests": "SubmitTime",
    "Qualifications": "GrantTime",
    "BonusPayments": "GrantTime",
}


def lagging(result: dict[str, Any], at: datetime) -> dict[str, Any]:
    """Reads do not show what is newer than the lag; a page that loses all of its rows is the end."""
    lag = plan().lag_seconds
    if not lag:
        return result
    newest = at.timestamp() - lag
    for name, stamp in STAMPS.items():
        if name in result:
            kept = [row for row in result[name] if row.get(stamp, 0) <= newest]
            result = {**result, name: kept, "NumResults": len(kept)}
            if not kept:
                result.pop("NextToken", None)
    return result


def is_too_new(created: datetime, at: datetime) -> bool:
    """Whether a lagging service has not heard of it yet."""
    return bool(plan().lag_seconds) and created > at - timedelta(seconds=plan().lag_seconds)
