"""What happens by itself as time passes: deadlines run out, submitted work is approved.

Every request calls `catch_up` first, so the clock is right also where no job ever ran.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from marketplace import events
from marketplace.models import HIT, Assignment
from marketplace.payment import pay

State = Assignment.State
STEP = 200


def catch_up(at: datetime) -> None:
    """Free what ran out by `at`, and approve what approves itself by then; each in a transaction of its own."""
    due = Assignment.objects.filter(state=State.ACCEPTED, deadline__lte=at).order_by("deadline")
    while pairs := list(due.values_list("hit_id", "pk")[:STEP]):
        for hit, pk in pairs:
            _abandon(hit, pk, at)
    ripe = Assignment.objects.filter(state=State.SUBMITTED, approves_at__lte=at).order_by("approves_at")
    while pairs := list(ripe.values_list("hit_id", "pk")[:STEP]):
        for hit, pk in pairs:
            _approve(hit, pk)


@transaction.atomic
def _abandon(hit: int, pk: int, at: datetime) -> None:
    locked = HIT.objects.select_for_update().select_related("hit_type").get(pk=hit)
    if free(locked, pk, deadline__lte=at):
        events.tell(locked, "AssignmentAbandoned", Assignment.objects.get(pk=pk), at=at)
        events.tell_if_reviewable(hit, at=at)


def free(hit: HIT, pk: int, **conditions: object) -> bool:
    """Give a place back, if it is still in somebody's hands. The caller holds the HIT's lock."""
    mine = Assignment.objects.filter(pk=pk, state=State.ACCEPTED, **conditions)
    given = mine.update(state=State.FREE, worker=None, accepted_at=None, deadline=None)
    if given:
        HIT.objects.filter(pk=hit.pk).update(accepted=F("accepted") - 1)
    return bool(given)


@transaction.atomic
def _approve(hit: int, pk: int) -> None:
    locked = HIT.objects.select_for_update().select_related("hit_type", "requester").get(pk=hit)
    assignment = Assignment.objects.select_related("worker").get(pk=pk)
    if assignment.state == State.SUBMITTED and assignment.approves_at:
        pay(locked, assignment, "", at=assignment.approves_at)
