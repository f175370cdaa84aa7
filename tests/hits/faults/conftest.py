"""A clock that waits for nobody, beat's part in it, and faults that are switched on and off in the middle of a test."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from hits import intents, sweeping
from hits.models import Hit, Intent
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
        return found

    def _is_busy(self) -> bool:
        expected = Hit.objects.filter(look_at__lte=self.now() + 2 * TICK)
        return expected.exists() or Intent.objects.filter(closed_at=None).exists()


def _left() -> list[str]:
    return [f"{intent} {intent.state}: {intent.error}" for intent in Intent.objects.filter(closed_at=None)[:5]]


@pytest.fixture
def beat(monkeypatch: pytest.MonkeyPatch) -> Beat:
    made = Beat()
    monkeypatch.setattr(intents, "sleep", made.wait)
    monkeypatch.setattr(faults, "now", made.now)
    return made


@pytest.fixture
def suffer(settings: Any) -> Callable[..., None]:
    """`suffer(CreateHIT={"throttle": 0.5}, seed=7)` from now on; `suffer()` ends it. Everything: `suffer(All={...})`."""
    usual = {"hang_seconds": 0.3, "latency_seconds": 0.05}

    def switch(*, seed: int = 7, **given: Any) -> None:
        faults.read.cache_clear()  # so that every test draws from the beginning
        more = {name: value for name, value in given.items() if name.islower()}
        operations = {name.replace("All", "*"): chances for name, chances in given.items() if not name.islower()}
        plan = {"seed": seed, "operations": operations, **usual, **more}
        settings.MARKETPLACE_FAULTS = json.dumps(plan) if given else ""

    return switch
