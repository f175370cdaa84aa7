"""Plan, publish, pause, extend and end HITs. A HIT sells seats of one stage; what fills them is leased later."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q, QuerySet, Sum
from django.urls import reverse

from annotation import limits
from annotation.events import SYSTEM, event, record
from annotation.models import Item, Sitting, Study
from hits import intents, places, pricing, qualifications, requirements, spending
from hits.client import MTurkClient, MTurkRefused, NewHit, NotThere
from hits.errors import BadTerms, NotNow
from hits.intents import Kind, NotYet
from hits.models import Batch, Hit, Intent, Payment, Visit

LOOK_FIRST = timedelta(minutes=2)  # after publishing; a worker's visit brings it forward
MOST_SITTINGS = 100_000
YEAR = timedelta(days=365)
LIVE = (Hit.State.PLANNED, Hit.State.OPEN, Hit.State.ENDING)


@dataclass(frozen=True)
class Terms:
    """What a batch offers. Empty texts are filled from the study. requirements: as the requester API takes them."""

    stage: str
    sittings: int
    reward: Decimal
    per_hit: int = pricing.SEATS
    title: str = ""
    description: str = ""
    keywords: str = "annotation, reading, language"
    duration_minutes: int = 60
    lifetime_hours: int = 72
    auto_approval_hours: int = 72
    requirements: Sequence[Mapping[str, Any]] = field(default_factory=list)
    open_to: str = Batch.OpenTo.ANYONE
    approval: str = Batch.Approval.CHECKED


@dataclass(frozen=True)
class Plan:
    """What a batch costs at most, in dollars. budget_left: after it; None without a budget."""

    hits: int
    assignments: int
    reward_total: Decimal
    fees: Decimal
    total: Decimal
    balance: Decimal | None
    budget_left: Decimal | None

    def as_dict(self) -> dict[str, Any]:
        money = {
            name: None if value is None else f"{value:.2f}"
            for name, value in vars(self).items()
            if name not in ("hits", "assignments")
        }
        return {"hits": self.hits, "assignments": self.assignments, **money}


def sizes(sittings: int, per_hit: int) -> list[int]:
    """Seats of each HIT."""
    full, rest = divmod(sittings, per_hit)
    return [per_hit] * full + ([rest] if rest else [])


def check(study: Study, terms: Terms) -> None:
    """Raises BadTerms, saying what would be right."""
    stages = [stage.name for stage in study.protocol.stages]
    if terms.stage not in stages:
        raise BadTerms(f"This study has no stage {terms.stage!r}; it has {', '.join(stages)}.")
    limits = [
        ("sittings", terms.sittings, 1, MOST_SITTINGS),
        ("seats of one HIT", terms.per_hit, 1, 100),
        ("minutes for one sitting", terms.duration_minutes, 1, 525_600),
        ("hours that the HITs are offered", terms.lifetime_hours, 1, 8_760),
        ("hours until work is approved by itself", terms.auto_approval_hours, 0, 720),
    ]
    for name, value, least, most in limits:
        if not least <= value <= most:
            raise BadTerms(f"The {name} must be from {least:,} to {most:,}; it was {value:,}.")
    if not 0 < terms.reward <= 1_000 or terms.reward != pricing.cents(terms.reward):
        raise BadTerms(f"The reward is dollars and cents, above 0 and at most 1000; it was {terms.reward}.")
    if len(terms.requirements) > requirements.MOST - 2:
        raise BadTerms(f"At most {requirements.MOST - 2} requirements can be set beside the study's own two.")


def cost_of(terms: Terms) -> tuple[list[int], Decimal]:
    """Seats of each HIT, and the fee of one sitting."""
    seats = sizes(terms.sittings, terms.per_hit)
    return seats, pricing.reward_fee(terms.reward, max(seats), settings.MTURK_FEES)


def plan(study: Study, terms: Terms, *, balance: Decimal | None = None) -> Plan:
    """What this would cost. Raises BadTerms. Nothing is bought, and nothing is asked of the marketplace."""
    check(study, terms)
    seats, fee = cost_of(terms)
    rewards, fees = terms.reward * terms.sittings, fee * terms.sittings
    free = spending.left(study)
    left = None if free is None else free - rewards - fees
    return Plan(len(seats), terms.sittings, rewards, fees, rewards + fees, balance, left)


def plan_more(batch: Batch, sittings: int) -> Plan:
    """What so many more sittings on the same terms would cost. Raises BadTerms."""
    _check_more(sittings)
    rewards, fees = batch.reward * sittings, batch.fee * sittings
    free = spending.left(batch.study)
    left = None if free is None else free - rewards - fees
    return Plan(len(sizes(sittings, batch.per_hit)), sittings, rewards, fees, rewards + fees, None, left)


def _check_more(sittings: int) -> None:
    if not 1 <= sittings <= MOST_SITTINGS:
        raise BadTerms(f"The sittings must be from 1 to {MOST_SITTINGS:,}; it was {sittings:,}.")


def publish(study: Study, terms: Terms, *, by: str, at: datetime) -> Batch:
    """Commit to a batch: its HITs and an intent for each, in one transaction; Celery publishes them.

    Raises BadTerms, OverBudget, NoAccount, NotAllowed. Locks the study's budget.
    """
    check(study, terms)
    place = places.here()
    seats, fee = cost_of(terms)
    with transaction.atomic():
        spending.reserve(study, (terms.reward + fee) * terms.sittings)
        last = Batch.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        stage = study.protocol.stage(terms.stage)
        batch = Batch.objects.create(
            study=study,
            number=last + 1,
            place=place,
            fee=fee,
            created_by=by,
            created_at=at,
            **{
                **vars(terms),
                "title": (terms.title or f"{study.title}: {stage.title}")[:128],
                "description": (terms.description or f"{stage.title}, {_count(study)} at a time.")[:2000],
                "requirements": list(terms.requirements),
            },
        )
        qualifications.ensure(study, [s.name for s in study.protocol.stages], place, at=at)
        add_hits(batch, seats, by=by, at=at)
        cost = str(batch.cost * terms.sittings)
        record([event(study, "batch published", by=by, at=at, batch=batch.number, sittings=terms.sittings, cost=cost)])
    return batch


def _count(study: Study) -> str:
    n = int(study.options["items_per_sitting"])
    return "one item" if n == 1 else f"{n} items"


def add_hits(batch: Batch, seats: Sequence[int], *, by: str, at: datetime) -> None:
    """Planned HITs with an intent each. In the caller's transaction, which has made sure of the money."""
    first = (batch.hits.aggregate(last=Max("number"))["last"] or 0) + 1
    hits = Hit.objects.bulk_create(
        [Hit(batch=batch, number=n, seats=count, unsold=count) for n, count in enumerate(seats, first)], batch_size=1000
    )
    Intent.objects.bulk_create(
        [
            Intent(
                kind="create",
                target=hit.key,
                study_id=batch.study_id,
                batch=batch,
                hit=hit,
                place=batch.place,
                not_before=at,
                by=by,
                created_at=at,
            )
            for hit in hits
        ],
        batch_size=500,
    )
    intents.wake()


def top_up(batch: Batch, sittings: int, *, by: str, at: datetime) -> None:
    """So many more sittings on the same terms, in HITs of their own: one that was made for fewer than ten assignments
    can never have more (MTURK.md 2). Raises BadTerms, OverBudget, NotNow.
    """
    places.check(batch.place)
    _check_more(sittings)
    if batch.invited_id:
        raise NotNow("This batch is for one person, once.")
    with transaction.atomic():
        spending.reserve(batch.study, batch.cost * sittings)
        locked = Batch.objects.select_for_update(of=("self",)).get(pk=batch.pk)
        if locked.state == Batch.State.CLOSED:
            raise NotNow("This batch has ended; publish a new one.")
        locked.sittings += sittings
        locked.save(update_fields=["sittings"])
        add_hits(locked, sizes(sittings, batch.per_hit), by=by, at=at)
        record([event(batch.study, "batch topped up", by=by, at=at, batch=batch.number, sittings=sittings)])


def pause(batch: Batch, *, by: str, at: datetime) -> None:
    """Nobody new can take a HIT; work in people's hands goes on. Raises NotNow."""
    _move(batch, [Batch.State.OPEN], Batch.State.PAUSED, by=by, at=at)


def resume(batch: Batch, *, by: str, at: datetime) -> None:
    """Offer what is unsold again, for as long as at first. Raises NotNow."""
    _move(batch, [Batch.State.PAUSED], Batch.State.OPEN, by=by, at=at)


def end(batch: Batch, *, by: str, at: datetime) -> int:
    """Sell nothing more; returns how many HITs are taken down. Work in people's hands is taken and paid."""
    open_hits = batch.hits.filter(state__in=[Hit.State.PLANNED, Hit.State.OPEN]).count()
    _move(batch, [Batch.State.OPEN, Batch.State.PAUSED], Batch.State.CLOSED, by=by, at=at)
    return open_hits


@transaction.atomic
def _move(batch: Batch, before: Sequence[str], to: str, *, by: str, at: datetime) -> None:
    places.check(batch.place)
    if not Batch.objects.filter(pk=batch.pk, state__in=before).update(state=to):
        batch.refresh_from_db(fields=["state"])
        raise NotNow(f"This batch is {batch.state}.")
    batch.state = Batch.State(to)
    intents.wake_waiting(Intent.objects.filter(batch=batch, kind="create"), at=at)
    record([event(batch.study, f"batch {to}", by=by, at=at, batch=batch.number)])
    if to == Batch.State.OPEN:
        being_ended = Q(intents__kind="expiry", intents__closed_at=None)  # by a pause that was not carried out yet
        unsold = batch.hits.filter(state__in=[Hit.State.OPEN, Hit.State.ENDING], unsold__gt=0)
        for hit in unsold.filter(Q(state=Hit.State.ENDING) | being_ended).distinct():
            extend_hit(hit, at + timedelta(hours=batch.lifetime_hours), by=by, at=at)
    else:
        for hit in batch.hits.filter(state=Hit.State.OPEN):
            end_hit(hit, by=by, at=at)
    intents.wake()


def extend(batch: Batch, hours: int, *, by: str, at: datetime) -> int:
    """Offer the open HITs for so many hours from now; returns how many."""
    places.check(batch.place)
    if not 1 <= hours <= 8_760:
        raise BadTerms(f"The hours must be from 1 to 8,760; it was {hours:,}.")
    with transaction.atomic():
        hits = list(batch.hits.filter(state=Hit.State.OPEN))
        for hit in hits:
            extend_hit(hit, at + timedelta(hours=hours), by=by, at=at)
        record([event(batch.study, "batch extended", by=by, at=at, batch=batch.number, hours=hours)])
    return len(hits)


def end_hit(hit: Hit, *, by: str, at: datetime) -> None:
    """Decide that nobody new can take it. In the caller's transaction."""
    _decide_expiry(hit, at, by=by, at=at)


def extend_hit(hit: Hit, until: datetime, *, by: str, at: datetime) -> None:
    _decide_expiry(hit, until, by=by, at=at)


def delete_hit(hit: Hit, *, at: datetime) -> None:
    """Decide to take a HIT away that is over and reviewed: expire, wait, review, delete (MTURK.md 2)."""
    batch = hit.batch
    intents.decide("delete", hit.key, study=batch.study, batch=batch, hit=hit, place=batch.place, by=SYSTEM, at=at)


def _decide_expiry(hit: Hit, until: datetime, *, by: str, at: datetime) -> None:
    """Each is a decision of its own, numbered; the newest counts."""
    number = Intent.objects.filter(hit=hit, kind="expiry").count() + 1
    intents.decide(
        "expiry",
        f"{hit.key} {number}",
        study=hit.batch.study,
        batch=hit.batch,
        hit=hit,
        place=hit.batch.place,
        params={"until": until.astimezone(UTC).isoformat(timespec="seconds"), "number": number},
        by=by,
        at=at,
    )


# --- Keeping in step with the study --------------------------------------------------------------------


def still_needed(study: Study, stage: str) -> int | None:
    """Sittings that fill the stage's open seats; None while items of other stages may still open more."""
    seats = _open_seats(study)
    return None if any(other != stage for other in seats) else ceil(seats[stage] / _size(study))


def missing(study: Study) -> dict[str, int]:
    """By stage, sittings to offer beside those that are offered, so that all open seats are filled.

    While more may come from earlier stages, only full sittings: one that is not full costs as much.
    """
    seats, offered, size = _open_seats(study), _offered(study), _size(study)
    found, may_come = {}, False
    for name in (stage.name for stage in study.protocol.stages):
        full, rest = divmod(seats[name], size)
        found[name] = max(0, full + bool(rest and not may_come) - offered[name])
        may_come = may_come or name in seats
    return found


def _size(study: Study) -> int:
    """Items of work in one sitting: fewer where one person may not do so many in all."""
    limit, size = limits.most(study), int(study.options["items_per_sitting"])
    return size if limit is None else max(1, min(size, limit))


def _open_seats(study: Study) -> Counter[str]:
    """By stage; a stage is there if an item waits in it."""
    waiting = Item.objects.filter(study=study, role=Item.Role.WORK, state=Item.State.OPEN).order_by()
    return Counter(dict(waiting.values_list("stage").annotate(sum=Sum("open_seats"))))


def _offered(study: Study) -> Counter[str]:
    """Sittings for sale by stage. One that somebody took, and whose seats are taken with it, counts as unsold until
    the marketplace confirms it; it is for sale no more.
    """
    offered = Hit.objects.filter(batch__study=study, batch__state=Batch.State.OPEN, state__in=LIVE)
    offered = offered.exclude(state=Hit.State.ENDING).order_by()
    held = Visit.objects.filter(
        hit__in=offered,
        state__in=[Visit.State.OPEN, Visit.State.LEFT],
        payments=None,
        sitting__purpose=Sitting.Purpose.WORK,
        sitting__state__in=[Sitting.State.LEASED, Sitting.State.SUBMITTED],
    )
    found = Counter(dict(offered.values_list("batch__stage").annotate(sum=Sum("unsold"))))
    found.subtract(Counter(held.values_list("hit__batch__stage", flat=True)))
    return found


def follow(batch: Batch, *, at: datetime) -> int:
    """Take HITs down whose seats the study needs no more; returns how many. People who hold one keep it."""
    if batch.invited_id:
        return 0
    needed = still_needed(batch.study, batch.stage)
    if needed is None or batch.state != Batch.State.OPEN:
        return 0
    surplus = _offered(batch.study)[batch.stage] - needed
    ended = 0
    # The last ones first: the earlier HITs are the ones people have in their hands.
    for hit in batch.hits.filter(state=Hit.State.OPEN, unsold__gt=0).select_related("batch__study").order_by("-number"):
        if hit.unsold > surplus:
            continue
        with transaction.atomic():
            if Hit.objects.filter(pk=hit.pk, state=Hit.State.OPEN).update(state=Hit.State.ENDING):
                end_hit(hit, by=SYSTEM, at=at)
                surplus, ended = surplus - hit.unsold, ended + 1
    return ended


# --- Carrying out ----------------------------------------------------------------------------------------


def task_address(hit: Hit) -> str:
    return settings.PUBLIC_URL + reverse("hits:enter", args=[hit.key])


def requirements_of(batch: Batch) -> list[Mapping[str, Any]]:
    """The batch's, and the study's own. Raises NotYet while the marketplace does not have those."""
    if batch.invited:
        purpose = qualifications.purpose_of(batch.invited)
        return [requirements.holds(qualifications.type_id(batch.study, purpose, batch.place))]
    out = qualifications.type_id(batch.study, qualifications.OUT, batch.place)
    found = [*batch.requirements, requirements.lacks(out)]
    if batch.open_to == Batch.OpenTo.QUALIFIED:
        found.append(requirements.holds(qualifications.type_id(batch.study, batch.stage, batch.place)))
    return found


def _create(intent: Intent, mturk: MTurkClient) -> str:
    hit = Hit.objects.select_related("batch__study").get(intents=intent)
    batch = hit.batch
    if not intent.was_unsure and batch.state == Batch.State.PAUSED:
        goes_on = Batch.objects.filter(pk=batch.pk).exclude(state=Batch.State.PAUSED)
        raise NotYet("The batch is paused.", came=goes_on.exists)
    if not intent.was_unsure and batch.state == Batch.State.CLOSED:
        raise MTurkRefused("The batch was ended before this HIT was published.")
    return mturk.create_hit(
        NewHit(
            token=intent.token,
            annotation=intent.token,
            title=batch.title,
            description=batch.description,
            keywords=batch.keywords,
            reward=batch.reward,
            seats=hit.seats,
            duration_seconds=batch.duration_minutes * 60,
            lifetime_seconds=batch.lifetime_hours * 3600,
            auto_approval_seconds=batch.auto_approval_hours * 3600,
            url=task_address(hit),
            requirements=requirements_of(batch),
        )
    ).hit_id


def _find(intent: Intent, mturk: MTurkClient) -> str | None:
    return next((hit.hit_id for hit in mturk.hits() if hit.annotation == intent.token), None)


def _created(intent: Intent, at: datetime) -> None:
    # Locked: it may be paused or ended at this moment by somebody who does not see this HIT yet.
    batch = Batch.objects.select_for_update(of=("self",), no_key=True).get(intents=intent)
    until = (intent.sent_at or at) + timedelta(hours=batch.lifetime_hours)
    mine = Hit.objects.filter(intents=intent, state=Hit.State.PLANNED)
    mine.update(state=Hit.State.OPEN, hit_id=intent.remote_id, expires_at=until, look_at=at + LOOK_FIRST)
    if batch.state != Batch.State.OPEN:  # it was paused or ended while the call was on its way
        end_hit(Hit.objects.select_related("batch__study").get(intents=intent), by=SYSTEM, at=at)


def _not_created(intent: Intent, sentence: str, at: datetime) -> None:
    Hit.objects.filter(intents=intent).update(state=Hit.State.FAILED, unsold=0)
    _compensation(intent, Payment.State.ASKED).update(state=Payment.State.VOID, settled_at=at)


def _compensation(intent: Intent, state: str) -> QuerySet[Payment]:
    """What its HIT would pay to the one person it is for, if it is for one."""
    return Payment.objects.filter(batch=intent.batch_id, batch__invited__isnull=False, visit=None, state=state)


def _plan_again(intent: Intent, at: datetime) -> None:
    """A HIT that was refused is bought anew. Raises NotNow, OverBudget."""
    hit = Hit.objects.select_related("batch__study").get(intents=intent)
    if hit.batch.state == Batch.State.CLOSED:
        raise NotNow("This batch has ended; publish a new one.")
    spending.reserve(hit.batch.study, hit.batch.cost * hit.seats)
    _compensation(intent, Payment.State.VOID).update(state=Payment.State.ASKED, settled_at=None)
    Hit.objects.filter(pk=hit.pk, state=Hit.State.FAILED).update(state=Hit.State.PLANNED, unsold=F("seats"))


def _set_expiry(intent: Intent, mturk: MTurkClient) -> str:
    if not _is_newest(intent):
        return ""  # it was decided anew since
    if Intent.objects.filter(hit=intent.hit_id, kind="expiry", closed_at=None, pk__lt=intent.pk).exists():
        raise NotYet("The decision before this one ends first.")  # the last word there must be the newest
    hit_id, until = _hit_id(intent), datetime.fromisoformat(intent.params["until"])
    # What ends now does so by any clock: the marketplace's may be behind ours.
    mturk.set_expiry(hit_id, until if until > intent.created_at else until - YEAR)
    return hit_id


def _is_newest(intent: Intent) -> bool:
    return not Intent.objects.filter(hit=intent.hit_id, kind="expiry", pk__gt=intent.pk).exists()


def _expiry_set(intent: Intent, mturk: MTurkClient) -> str | None:
    hit_id, until = _hit_id(intent), datetime.fromisoformat(intent.params["until"])
    expires_at = mturk.get_hit(hit_id).expires_at
    is_ended = until <= intent.created_at and expires_at <= max(until, intent.sent_at or until) + timedelta(minutes=5)
    return hit_id if is_ended or abs(expires_at - until) <= timedelta(seconds=2) else None


def _expires(intent: Intent, at: datetime) -> None:
    if not _is_newest(intent):
        return
    until = datetime.fromisoformat(intent.params["until"])
    state = Hit.State.OPEN if until > at else Hit.State.ENDING
    mine = Hit.objects.filter(intents=intent, state__in=[Hit.State.OPEN, Hit.State.ENDING])
    mine.update(state=state, expires_at=min(until, at) if state == Hit.State.ENDING else until, look_at=at)


def _hit_id(intent: Intent) -> str:
    """Raises NotYet while the marketplace does not have the HIT."""
    hit = Hit.objects.get(intents=intent)
    if not hit.hit_id:
        raise NotYet("The HIT is published first.")
    return hit.hit_id


def _delete(intent: Intent, mturk: MTurkClient) -> str:
    hit_id = _hit_id(intent)
    mturk.delete_hit(hit_id)
    return hit_id


def _is_deleted(intent: Intent, mturk: MTurkClient) -> str | None:
    hit_id = _hit_id(intent)
    try:
        return hit_id if mturk.get_hit(hit_id).status == "Disposed" else None
    except NotThere:
        return hit_id


def _deleted(intent: Intent, at: datetime) -> None:
    Hit.objects.filter(intents=intent, state=Hit.State.ENDED).update(state=Hit.State.DELETED, look_at=None)


intents.KINDS |= {
    "create": Kind(send=_create, look=_find, done=_created, refused=_not_created, again=_plan_again, has_token=True),
    "expiry": Kind(send=_set_expiry, look=_expiry_set, done=_expires),
    "delete": Kind(send=_delete, look=_is_deleted, done=_deleted),
}
