"""A study that buys work at the own marketplace over HTTP, and people who do it."""

from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from annotation import submission
from annotation.models import Study
from hits import intents, places, publishing, reconciling, sweeping, visits
from hits.models import Batch, Hit, Visit
from hits.publishing import Terms
from marketplace import signing, work
from marketplace.models import HIT, Assignment, Requester
from marketplace.models import Worker as MarketplaceWorker
from tests.factories import FALSE_ANSWER, make_items, make_study
from tests.marketplace.market import make_requester, make_worker

__all__ = ["make_worker"]


def open_shop(settings: Any, site: str, *, deposit: int = 1_000_00) -> Requester:
    """Settings as they are in production, with an account of our own."""
    requester = make_requester("touchstone", deposit)
    settings.SITE_URL = settings.PUBLIC_URL = site
    settings.TASK_FRAME_HOSTS = [site]
    settings.MTURK_MODE, settings.MTURK_ENDPOINT_URL = "marketplace", f"{site}/marketplace/api/"
    settings.MTURK_ACCESS_KEY, settings.MTURK_SECRET_KEY = requester.access_key, signing.secret_of(requester)
    settings.MTURK_PARALLEL, settings.MTURK_CALLS_PER_SECOND, settings.MARKETPLACE_CALLS_PER_SECOND = 1, 0, 0
    settings.MTURK_READ_TIMEOUT = 2.0
    return requester


def make_shop_study(items: int = 4, *, slug: str = "crepe-a", **options: Any) -> Study:
    study = make_study(slug, items_per_sitting=options.pop("items_per_sitting", 2), **options)
    make_items(study, items)
    return study


def buy(study: Study, sittings: int = 2, *, reward: str = "0.50", stage: str = "generate", **more: Any) -> Batch:
    """Publish, and let the HITs appear at the marketplace."""
    terms = Terms(stage=stage, sittings=sittings, reward=Decimal(reward), **more)
    batch = publishing.publish(study, terms, by="test", at=timezone.now())
    drain()
    return batch


def drain(**more: Any) -> None:
    intents.drain(places.client(), places.here(), **more)


def look(study: Study, *, at: datetime | None = None) -> Counter[str]:
    """Compare every HIT with the marketplace, and carry out what follows."""
    mturk, now = places.client(), at or timezone.now()
    found = reconciling.look_at_all(reconciling.live_hits(study), mturk, now=lambda: now)
    found += sweeping.follow(study, places.here(), at=now)
    drain()
    return found


def accept(person: MarketplaceWorker, hit: Hit, *, at: datetime | None = None) -> Assignment:
    hit.refresh_from_db()
    return work.accept(person, hit.hit_id, at=at or timezone.now())


def enter(held: Assignment, *, worker_id: str = "", at: datetime | None = None) -> Visit:
    """The frame opens: with the address's four parameters, of which one may be forged."""
    hit = Hit.objects.select_related("batch__study").get(hit_id=held.hit.hit_id)
    given = (held.assignment_id, held.hit.hit_id, worker_id or held.worker.worker_id, work.submit_to())
    return visits.arrive(hit, *given, at=at or timezone.now())


def answer(visit: Visit, given: Any = FALSE_ANSWER, *, at: datetime | None = None) -> Visit:
    """Everything up to the form that leaves, but for the form."""
    now = at or timezone.now()
    onward = visits.go_on(visit, at=now)
    assert onward.sitting is not None
    submission.submit(onward.sitting, {a.pk: given for a in onward.sitting.bundle}, at=now, confirmed=False)
    visit = Visit.objects.select_related("hit__batch__study", "worker", "sitting").get(pk=visit.pk)
    return visits.leave(visit, at=now)


def send(held: Assignment, visit: Visit, *, at: datetime | None = None) -> Assignment:
    """The form arrives at the marketplace."""
    return work.submit(held.worker, held.assignment_id, {"reference": visit.reference}, at=at or timezone.now())


def do(person: MarketplaceWorker, hit: Hit, given: Any = FALSE_ANSWER, *, at: datetime | None = None) -> Visit:
    """All of it."""
    held = accept(person, hit, at=at)
    visit = answer(enter(held, at=at), given, at=at)
    send(held, visit, at=at)
    return visit


def remote_hits(requester: Requester) -> list[HIT]:
    return list(HIT.objects.filter(requester=requester).order_by("pk"))
