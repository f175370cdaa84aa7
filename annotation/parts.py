"""Parts of a study, such as splits: no sitting mixes them, and people are bound to the one they begin in."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import QuerySet

from annotation.models import Enrolment, Item, Study


def turns(
    items: QuerySet[Item], enrolment: Enrolment, study: Study, stage: str, seen: datetime | None
) -> Iterator[tuple[str, QuerySet[Item]]]:
    """The parts of which a sitting may take these items, one after the other, each with its items.

    Somebody who is bound has one; for everybody else they come as the queue has them. seen: how far along the queue
    there is probably nothing for the worker, so that a long past is not walked through.
    """
    if study.protocol.part is None:
        yield "", items
    elif enrolment.part and study.protocol.stage(stage).binds:
        yield enrolment.part, items.filter(part=enrolment.part)
    else:
        had: list[str] = []
        while (part := _head(items.exclude(part__in=had), seen)) is not None:
            had.append(part)
            yield part, items.filter(part=part)


def _head(items: QuerySet[Item], seen: datetime | None) -> str | None:
    """The part of the first of these in the queue."""
    parts = items.order_by("queued_at").values_list("part", flat=True)
    later = parts.filter(queued_at__gte=seen).first() if seen else None
    return parts.first() if later is None else later


def bind(enrolment: Enrolment, part: str) -> bool:
    """Bind a person to a part, unless they are bound; whether it is theirs now. Once set, a part stays."""
    if not enrolment.part and Enrolment.objects.filter(pk=enrolment.pk, part="").update(part=part):
        enrolment.part = part
    else:
        enrolment.refresh_from_db(fields=["part"])
    return enrolment.part == part
