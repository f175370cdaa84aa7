"""What happened, for whoever asked to be told (MTURK.md 8): at least once, unordered, and only a hint to look."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction

from marketplace.models import HIT, Assignment, HITType, Notice
from marketplace.status import REVIEWABLE, status

BACK = timedelta(days=1)  # a service that stood still for longer is silent about what ran out before


def tell(hit: HIT, event: str, assignment: Assignment | None = None, *, at: datetime) -> None:
    """Note an event where the HIT's type has an address for it; sending comes later, outside of any transaction."""
    wanted = hit.hit_type.notification
    if not wanted or not wanted.get("Active", True) or event not in wanted["EventTypes"]:
        return
    body = {
        "EventType": event,
        "EventTimestamp": at.isoformat(),
        "HITTypeId": hit.hit_type.type_id,
        "HITId": hit.hit_id,
    }
    if assignment:
        body["AssignmentId"] = assignment.assignment_id
    Notice.objects.create(requester_id=hit.requester_id, destination=wanted["Destination"], event=body, at=at)


def tell_if_reviewable(hit_id: int, *, at: datetime) -> None:
    """After a place was filled or freed, or the HIT ran out: the caller holds its lock."""
    hit = HIT.objects.select_related("hit_type").get(pk=hit_id)
    if status(hit, at) == REVIEWABLE:
        tell(hit, "HITReviewable", at=at)


def tell_what_ran_out(*, at: datetime) -> int:
    """Lifetimes end by the clock and nobody calls then: note it, once for each. Returns how many."""
    found = 0
    for hit in _ran_out(at):
        with transaction.atomic():
            locked = HIT.objects.select_for_update(of=("self",)).select_related("hit_type").get(pk=hit.pk)
            if locked.expires_at == hit.expires_at and not locked.disposed_at:
                tell(locked, "HITExpired", at=at)
                if locked.taken < locked.max_assignments:  # else its last submission told
                    tell_if_reviewable(locked.pk, at=at)
                found += 1
    return found


def _ran_out(at: datetime) -> Iterator[HIT]:
    """Of types whose requester asked to be told, and was not told since."""
    kinds = {"HITExpired", "HITReviewable"}
    asking = HITType.objects.filter(notification__isnull=False)
    types = [each for each in asking if each.notification and kinds & set(each.notification["EventTypes"])]
    for hit in HIT.objects.filter(hit_type__in=types, disposed_at=None, expires_at__range=(at - BACK, at)):
        told = Notice.objects.filter(requester=hit.requester_id, event__HITId=hit.hit_id, at__gte=hit.expires_at)
        if not told.filter(event__EventType__in=kinds).exists():
            yield hit
