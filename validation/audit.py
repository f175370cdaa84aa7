"""The event log for people who ask who did what, when, why, and with what effect."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import Event, Study
from validation.exports import running_codes


def rows(study: Study, events: QuerySet[Event]) -> Iterator[dict[str, Any]]:
    """Events as plain values, in their order; workers by running code."""
    codes = running_codes(study)
    for event in events.select_related("item").iterator(chunk_size=2_000):
        yield {
            "at": event.at.isoformat(),
            "actor": event.actor,
            "what": event.what,
            "why": event.why,
            "item": event.item.ref if event.item else None,
            "worker": codes.get(event.worker_id or 0),
            "details": event.details,
        }


def search(study: Study, asked: Mapping[str, str]) -> QuerySet[Event]:
    """The study's events, newest first, of which all that is asked for is true.

    asked: who (part of the actor), what, worker (running code), item (its id), text (part of why), since and until
    (dates, both included). Empty ones ask for nothing.
    """
    found = Event.objects.filter(study=study).order_by("-pk")
    if who := asked.get("who"):
        found = found.filter(actor__icontains=who)
    if what := asked.get("what"):
        found = found.filter(what=what)
    if worker := asked.get("worker"):
        number = worker.strip().upper().removeprefix("W")
        mine = study.enrolments.filter(number=int(number)) if number.isdecimal() and len(number) < 10 else None
        found = found.filter(worker__in=mine.values("worker")) if mine is not None else found.none()
    if item := asked.get("item"):
        found = found.filter(item__ref=item)
    if text := asked.get("text"):
        found = found.filter(Q(why__icontains=text))
    if since := asked.get("since"):
        found = found.filter(at__date__gte=since)
    if until := asked.get("until"):
        found = found.filter(at__date__lte=until)
    return found
