"""Who comes to a rehearsal, when they are there, and how fast they work: drawn from a seed, in simulated time. Pure.

Times are seconds since the first batch was published, which is at `OPENING` o'clock. Days that count from there are a
forecast: nothing here looks at a clock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from itertools import count
from math import floor
from random import Random

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
OPENING = 9  # o'clock, when the first batch is published
MEDIAN_SECONDS, SPREAD = 40.0, 0.5  # of a lognormal: what one answer takes
READING = {"consent": 60.0, "instructions": 180.0}  # seconds a page takes that is only read


class Kind(StrEnum):
    GOOD = "good"
    SLOW = "slow"
    SLOPPY = "sloppy"
    LEAVING = "leaving"


@dataclass(frozen=True)
class Manner:
    """What makes a kind. share: of the crowd. accuracy: how often an answer is the true one. pace: times the usual.
    a_day: sittings on one day, in the median.
    """

    share: float
    accuracy: float
    pace: float
    a_day: float = 3


MANNERS: Mapping[Kind, Manner] = {
    Kind.GOOD: Manner(0.6, 0.97, 1.0),
    Kind.SLOW: Manner(0.15, 0.98, 2.2),
    Kind.SLOPPY: Manner(0.15, 0.45, 0.4, 8),
    Kind.LEAVING: Manner(0.1, 0.95, 1.0),
}
CAREFUL = 0.97  # accuracy of anybody who knows that they are being tested


@dataclass(frozen=True)
class Person:
    """Somebody of the crowd.

    comes_at: when they find the first HIT. begins, stays: the second of the day when they sit down, and for how long.
    misses: share of the days on which they do not come. a_day: sittings after which a day is enough.
    repeats: pastes their first answer to everything that follows.
    leaves_after: sittings after which they leave in the middle of the next one; None stays. vanishes: leaves without
    giving the HIT back, so that its deadline has to pass.
    """

    number: int
    kind: Kind
    key: str
    accuracy: float
    pace: float
    comes_at: float
    begins: float
    stays: float
    misses: float
    a_day: int
    repeats: bool = False
    leaves_after: int | None = None
    vanishes: bool = False

    def comes_on(self, day: int) -> bool:
        """Whether this is one of their days (0: of the first batch); the same at every look."""
        return Random(f"{self.key} day {day}").random() >= self.misses


def kinds(people: int) -> dict[Kind, int]:
    """How many of each kind: whole numbers nearest to the shares, with the largest remainders rounded up."""
    exact = {kind: manner.share * people for kind, manner in MANNERS.items()}
    found = {kind: floor(share) for kind, share in exact.items()}
    by_rest = sorted(exact, key=lambda kind: found[kind] - exact[kind])  # stable: the first kinds first
    for kind in by_rest[: people - sum(found.values())]:
        found[kind] += 1
    return found


def cast(people: int, seed: int) -> list[Person]:
    """So many people, numbered from 1; equal seeds give equal people."""
    rng = Random(f"{seed} cast")
    drawn = [kind for kind, n in kinds(people).items() for _ in range(n)]
    rng.shuffle(drawn)
    seen: dict[Kind, int] = dict.fromkeys(Kind, 0)
    made = []
    for number, kind in enumerate(drawn, 1):
        seen[kind] += 1
        is_odd = bool(seen[kind] % 2)
        manner = MANNERS[kind]
        made.append(
            Person(
                number=number,
                kind=kind,
                key=f"{seed} {number}",
                accuracy=manner.accuracy,
                pace=manner.pace * rng.lognormvariate(0, 0.25),
                comes_at=rng.expovariate(1 / (10 * HOUR)),
                begins=rng.uniform(0, DAY),
                stays=HOUR * min(4.0, rng.lognormvariate(0, 0.7)),
                misses=rng.uniform(0.1, 0.5),
                a_day=max(1, round(manner.a_day * rng.lognormvariate(0, 0.7))),
                repeats=kind == Kind.SLOPPY and is_odd,
                leaves_after=rng.randint(0, 1) if kind == Kind.LEAVING else None,
                vanishes=kind == Kind.LEAVING and is_odd,
            )
        )
    return made


def there_from(person: Person, at: float) -> float:
    """The first moment from `at` on at which this person sits there."""
    at = max(at, person.comes_at)
    day = day_of(person, at)
    while not (person.comes_on(day) and at < _begins(person, day) + person.stays):
        day += 1
    return max(at, _begins(person, day))


def tomorrow(person: Person, at: float) -> float:
    """The first moment of their next day."""
    return there_from(person, _begins(person, day_of(person, at) + 1))


def day_of(person: Person, at: float) -> int:
    """The day whose sitting down was the last before `at`."""
    return floor((at + OPENING * HOUR - person.begins) / DAY)


def _begins(person: Person, day: int) -> float:
    return day * DAY + person.begins - OPENING * HOUR


def after_refusals(refusals: int) -> float:
    """Seconds until somebody tries again who was refused so many times in a row: 1 hour, 4, 16, ..."""
    return HOUR * 4 ** (refusals - 1)


def seconds_of(items: int, person: Person, rng: Random) -> list[float]:
    """What each of so many answers takes."""
    return [rng.lognormvariate(0, SPREAD) * MEDIAN_SECONDS * person.pace for _ in range(items)]


@dataclass
class Timeline:
    """What happens one after the other; of things at the same moment the one that was planned first."""

    now: float = 0.0
    _planned: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def at(self, when: float, do: Callable[[], None]) -> None:
        heappush(self._planned, (max(when, self.now), next(self._numbers), do))

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        self.at(self.now + seconds, do)

    def run(self, is_over: Callable[[], bool]) -> None:
        """Until it is over, or nothing is planned any more."""
        while self._planned and not is_over():
            self.now, _, do = heappop(self._planned)
            do()


def sample(items: int, most: int, seed: int) -> Sequence[int]:
    """Which of so many items (by their place) are rehearsed, in their order: all, or `most` drawn from the seed."""
    return range(items) if items <= most else sorted(Random(f"{seed} items").sample(range(items), most))
