"""A clock that waits for nobody, beat's part in it, and faults that are switched on and off in the middle of a test."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import Min, Q
from django.utils import timezone

from hits import boto, intents, sweeping
from hits.models import Hit, Intent, Visit
from marketplace import faults

TICK = timedelta(seconds=10)  # as often as beat asks for a sweep


@dataclass
class Beat:
    """Beat, and the clock of both sides: time passes while somebody waits, and when a test says so."""

    ahead: timedelta = field(default_factory=timedelta)

    def now(self) -> datetime:
        return timezone.now() + self.ahead

    def wait(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)

    def sweep(self, times: int = 1) -> Counter[str]:
        found: Counter[str] = Counter()
        for _ in range(times):
            found += sweeping.sweep(now=self.now)
            self.ahead += TICK
        return found

    def until_quiet(self, minutes: float = 10) -> Counter[str]:
        """Sweep until there is nothing left to do; P3 gives it so many minutes."""
        found, end = Counter[str](), self.now() + timedelta(minutes=minutes)
        while self._is_busy():
            assert self.now() < end, f"not done after {minutes} minutes: {_left()}"
            found += self.sweep()
            self.ahead += max(self._idle() - TICK, timedelta())
        return found

    def _idle(self) -> timedelta:
        """Until something is due."""
        waiting = Intent.objects.filter(closed_at=None).aggregate(next=Min("not_before"))["next"]
        looking = Hit.objects.aggregate(next=Min("look_at"))["next"]
        nearest = min((time for time in (waiting, looking) if time), default=self.now())
        return min(nearest - self.now(), timedelta(minutes=1))

    def _is_busy(self) -> bool:
        looking = Hit.objects.filter(Q(look_at__lte=self.now() + 2 * TICK) | Q(visits__state=Visit.State.LEFT))
        return looking.exists() or Intent.objects.filter(closed_at=None).exists()


def _left() -> list[str]:
    waiting = [f"{intent} {intent.state}: {intent.error}" for intent in Intent.objects.filter(closed_at=None)[:5]]
    return waiting + [f"{visit}" for visit in Visit.objects.filter(state=Visit.State.LEFT)[:5]]


@pytest.fixture
def beat(monkeypatch: pytest.MonkeyPatch) -> Beat:
    made = Beat()
    monkeypatch.setattr(intents, "sleep", made.wait)
    monkeypatch.setattr(boto, "sleep", made.wait)
    monkeypatch.setattr(faults, "now", made.now)
    return made


@pytest.fixture
def suffer(settings: Any) -> Callable[..., None]:
    """`suffer(CreateHIT={"throttle": 0.5}, seed=7)` from now on, `All={...}` for every call; `suffer()` ends it."""
    usual = {"hang_seconds": 0.3, "latency_seconds": 0.05}

    def switch(*, seed: int = 7, **given: Any) -> None:
        faults.read.cache_clear()  # so that every test draws from the beginning
        more = {name: value for name, value in given.items() if name.islower()}
        operations = {name.replace("All", "*"): chances for name, chances in given.items() if not name.islower()}
        plan = {"seed": seed, "operations": operations, **usual, **more}
        settings.MARKETPLACE_FAULTS = json.dumps(plan) if given else ""

    return switch
