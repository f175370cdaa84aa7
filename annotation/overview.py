"""What the console shows of studies: where their items stand, work per day, time per item, people.

Every read takes a fixed number of queries, whatever the study's size. Rows are counted as such, not by their id: then
an index alone can answer.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from django.db.models import Case, Count, F, Max, Q, Value, When
from django.db.models.functions import Greatest, TruncDate
from django.utils.safestring import SafeString

from annotation import svg
from annotation.models import Annotation, Assignment, Enrolment, Event, Item, Sitting, Study
from annotation.models.sittings import State
from annotation.protocols import Protocol
from annotation.summaries import Spread, spread

# Where an item can stand, in the order of its way: name -> (words, look in pictures, state of the row).
PLACES = {
    "waiting": ("waiting", "empty", Item.State.OPEN),
    "working": ("being worked on", "hatched", Item.State.OPEN),
    "validation": ("in validation", "crossed", Item.State.OPEN),
    "settled": ("settled", "solid", Item.State.SETTLED),
    "filtered": ("filtered", "dotted", Item.State.DROPPED),
    "unresolved": ("unresolved", "barred", Item.State.UNRESOLVED),
}
CLOSED: dict[str, str] = {state: name for name, (_, _, state) in PLACES.items() if state != Item.State.OPEN}


def serial(study: Study) -> int:
    """The number of the study's last event."""
    return Event.objects.filter(study=study).aggregate(last=Max("pk"))["last"] or 0


# --- Items ------------------------------------------------------------------------------------------------------


def heading_of(protocol: Protocol) -> str:
    """The payload's key whose text tells items apart: the first one shown besides the id."""
    return next(key for key in protocol.shown if key != "id")


def words_of(item: Item, protocol: Protocol) -> str:
    """What tells the item apart, for people."""
    if protocol.heading and item.role == Item.Role.WORK:
        return protocol.heading(item.payload)
    return str(item.payload.get(heading_of(protocol), ""))


def _judging(protocol: Protocol) -> list[str]:
    return [s.name for s in protocol.stages if s.judges]


def place_of(item: Item, protocol: Protocol) -> str:
    """The name of the place where a work item stands; "" for an item of another role, which is never collected."""
    if item.role != Item.Role.WORK:
        return ""
    return _place(item.state, item.stage, item.open_seats == item.votes_wanted, protocol)


def _place(state: str, stage: str, is_fresh: bool, protocol: Protocol) -> str:
    if state != Item.State.OPEN:
        return CLOSED[state]
    return "validation" if stage in _judging(protocol) else "waiting" if is_fresh else "working"


def swatch(place: str) -> SafeString:
    """A small picture of the place's look, beside its words."""
    return svg.swatch(PLACES[place][1])


def standing_at(place: str, protocol: Protocol) -> Q:
    """The condition of all work items at a place; the inverse of `place_of`."""
    here = Q(role=Item.Role.WORK, state=PLACES[place][2])
    if here.children[1] != ("state", Item.State.OPEN):
        return here
    if place == "validation":
        return here & Q(stage__in=_judging(protocol))
    fresh = Q(open_seats=F("votes_wanted"))
    return here & ~Q(stage__in=_judging(protocol)) & (fresh if place == "waiting" else ~fresh)


def progress_of(studies: Collection[Study]) -> dict[int, dict[str, int]]:
    """Study id -> place -> how many work items stand there; one query for all of them."""
    fresh = Case(When(open_seats=F("votes_wanted"), then=Value(1)), default=Value(0))
    rows = (
        Item.objects.work()
        .filter(study__in=studies)
        .annotate(fresh=fresh)
        .values_list("study", "state", "stage", "fresh")
        .annotate(n=Count("*"))
        .order_by()
    )
    protocols = {study.pk: study.protocol for study in studies}
    counts = {study.pk: dict.fromkeys(PLACES, 0) for study in studies}
    for study, state, stage, is_fresh, count in rows:
        counts[study][_place(state, stage, bool(is_fresh), protocols[study])] += count
    return counts


def at_work(study: Study, *, at: datetime) -> int:
    """How many people hold an open sitting now."""
    held = Sitting.objects.filter(study=study, state=State.LEASED, leased_until__gte=at)
    return held.values("worker").distinct().count()


# --- Work -------------------------------------------------------------------------------------------------------


def work_per_day(study: Study) -> Mapping[str, Mapping[date, int]]:
    """Stage -> day (of the server's time zone) -> annotations, every stage of the protocol in its order."""
    days: dict[str, dict[date, int]] = {s.name: {} for s in study.protocol.stages}
    rows = Annotation.objects.filter(study=study).annotate(day=TruncDate("submitted_at"))
    for stage, day, count in rows.values_list("stage", "day").annotate(n=Count("*")).order_by("day"):
        days[stage][day] = count
    return days


def seconds_per_item(study: Study) -> Mapping[str, Mapping[int, int]]:
    """Stage -> active seconds -> annotations that took so long."""
    seconds: dict[str, dict[int, int]] = {s.name: {} for s in study.protocol.stages}
    timed = Annotation.objects.filter(study=study, active_seconds__isnull=False)
    for stage, taken, count in timed.values_list("stage", "active_seconds").annotate(n=Count("*")).order_by():
        seconds[stage][taken] = count
    return seconds


# --- People -----------------------------------------------------------------------------------------------------


@dataclass
class Done:
    """What one worker did in one stage, of this title. `state`: "qualified", "revoked", or "" where they never were."""

    title: str
    state: str = ""
    answers: int = 0
    seconds: Counter[int] = field(default_factory=Counter)

    @property
    def spread(self) -> Spread | None:
        return spread(self.seconds)


@dataclass
class Person:
    """A worker in a study: what they may do, and did, by stage of the protocol."""

    enrolment: Enrolment
    stages: dict[str, Done]
    seen_at: datetime | None = None

    @property
    def answers(self) -> int:
        return sum(done.answers for done in self.stages.values())


def people_of(study: Study) -> list[Person]:
    """Everybody in the study, by running code, in four queries."""
    enrolments = study.enrolments.select_related("worker").prefetch_related("qualifications")
    people = {e.worker_id: Person(e, {s.name: Done(s.title) for s in study.protocol.stages}) for e in enrolments}
    for person in people.values():
        for qualification in person.enrolment.qualifications.all():
            person.stages[qualification.stage].state = qualification.state
    given = Annotation.objects.filter(study=study).values_list("worker", "stage", "active_seconds")
    for worker, stage, seconds, count in given.annotate(n=Count("*")).order_by():
        people[worker].stages[stage].answers += count
        if seconds is not None:
            people[worker].stages[stage].seconds[seconds] += count
    for worker, seen_at in _last_seen(study):
        people[worker].seen_at = seen_at
    return list(people.values())


def _last_seen(study: Study) -> Iterable[tuple[int, datetime]]:
    """Worker id -> when they last leased, wrote or submitted something."""
    opened = F("sitting__opened_at")
    moments = Greatest(
        opened,
        Case(When(draft_at__isnull=False, then=F("draft_at")), default=opened),
        Case(When(state=State.SUBMITTED, then=F("closed_at")), default=opened),
    )
    held = Assignment.objects.filter(sitting__study=study)
    return held.values_list("worker").annotate(seen_at=Max(moments)).order_by()


def running_codes(study: Study, workers: Iterable[int]) -> Mapping[int, str]:
    """Worker id -> running code."""
    enrolled = Enrolment.objects.filter(study=study, worker__in=set(workers))
    return defaultdict(str, {e.worker_id: e.running_code for e in enrolled})
