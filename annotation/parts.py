"""Parts of a study, such as splits: no sitting mixes them, and people are bound to the one they begin in."""

from collections.abc import Iterator

from django.db.models import QuerySet

from annotation.models import Enrolment, Item, Study


def turns(
    items: QuerySet[Item], enrolment: Enrolment, study: Study, stage: str
) -> Iterator[tuple[str, QuerySet[Item]]]:
    """The parts of which a sitting may take these items, one after the other, each with its items.

    Somebody who is bound has one; for everybody else they come as the queue has them.
    """
    if study.protocol.part is None:
        yield "", items
    elif enrolment.part and study.protocol.stage(stage).binds:
        yield enrolment.part, items.filter(part=enrolment.part)
    else:
        seen: list[str] = []
        while head := items.exclude(part__in=seen).order_by("queued_at").values_list("part", flat=True)[:1]:
            seen += head
            yield seen[-1], items.filter(part=seen[-1])


def bind(enrolment: Enrolment, part: str) -> bool:
    """Bind a person to a part, unless they are bound; whether it is theirs now. Once set, a part stays."""
    if not enrolment.part and Enrolment.objects.filter(pk=enrolment.pk, part="").update(part=part):
        enrolment.part = part
    else:
        enrolment.refresh_from_db(fields=["part"])
    return enrolment.part == part
