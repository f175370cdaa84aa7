"""What follows from what is stored, done again and again: a lost message, or a killed process, costs only time."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from annotation.errors import Refusal
from annotation.models import Study
from hits import intents, payments, places, publishing, qualifications, reconciling
from hits.client import MTurkError, MTurkUnavailable
from hits.models import Batch


def carry_out(*, tell: Callable[[], None] = lambda: None) -> None:
    """Carry out what was decided, at the place the settings name; nothing without an account."""
    if place := _place():
        intents.drain(places.client(), place, parallel=settings.MTURK_PARALLEL, tell=tell)


def sweep(*, now: Callable[[], datetime] = timezone.now) -> Counter[str]:
    """One round: look, follow the study, carry out. Each part alone may be repeated or cut off."""
    found: Counter[str] = Counter()
    for study in Study.objects.filter(options__pay_per_sitting__gt=0):
        found["owed"] += payments.owe_sittings(study, at=now())
    if (place := _place()) is None:
        return found
    mturk = places.client()
    found += reconciling.look_at_due(mturk, place, at=now(), parallel=settings.MTURK_PARALLEL)
    for study in Study.objects.filter(batches__place=place).distinct():
        found += follow(study, place, at=now())
    for kind in qualifications.to_compare(place, at=now()):
        try:
            found["drifted"] += qualifications.mend(kind, mturk, at=now())
        except MTurkUnavailable:
            found["unavailable"] += 1
        except MTurkError:  # until somebody sets it right, asking every ten seconds will not help
            found["refused"] += 1
            type(kind).objects.filter(pk=kind.pk).update(checked_at=now())
    intents.drain(mturk, place, parallel=settings.MTURK_PARALLEL, now=now)
    return found


def follow(study: Study, place: str, *, at: datetime) -> Counter[str]:
    """Bring what is offered, granted and kept at the marketplace in step with the study."""
    found = Counter(granted=qualifications.follow(study, place, at=at), deleted=reconciling.tidy(study, at=at))
    for batch in Batch.objects.filter(study=study, place=place, state=Batch.State.OPEN).select_related("study"):
        found["ended"] += publishing.follow(batch, at=at)
    return found


def reconcile(study: Study, *, tell: Callable[[], None] = lambda: None) -> Counter[str]:
    """Compare all of a study's HITs with the marketplace now, and carry out what follows. Raises NoAccount."""
    place, mturk = places.here(), places.client()
    hits = reconciling.live_hits(study)
    found = reconciling.look_at_all(hits, mturk, parallel=settings.MTURK_PARALLEL, tell=tell)
    found += follow(study, place, at=timezone.now())
    intents.drain(mturk, place, parallel=settings.MTURK_PARALLEL)
    return found


def _place() -> str | None:
    """None where no marketplace is set up: then there is nothing to do."""
    try:
        return places.here()
    except Refusal:
        return None
