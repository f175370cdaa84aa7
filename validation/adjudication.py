"""Decide contested items: what people did not agree on, one person of the team settles, saying why.

The decision stays with the item: it is applied whenever the item is settled again, after exclusions, re-collection or
other options. Who decided what, when and why is in the event log, also of decisions that were changed or taken back.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.errors import Refusal
from annotation.events import event, record
from annotation.models import Event, Item, Study
from annotation.progress import advance
from annotation.protocols.base import Adjudication
from validation.models import Resolution

WHAT = "adjudicated"
MAX_WHY = 400


class NotContested(Refusal):
    code = "not_contested"


class BadRuling(Refusal):
    code, status = "bad_ruling", 422


class UnknownItem(Refusal):
    code, status = "unknown_item", 404


@dataclass(frozen=True)
class Decided:
    """What an item comes to now. before: what had been decided earlier, or ""."""

    item: str
    value: str
    before: str
    state: str
    label: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def rule_of(study: Study) -> Adjudication:
    """Raises NotContested for a protocol that leaves nothing to a person."""
    rule = study.protocol.adjudication
    if rule is None:
        raise NotContested(f"In {study.protocol.title} nothing is decided by one person.")
    return rule


def contested(study: Study) -> QuerySet[Item]:
    """Items that wait for a decision, in import order; none where the protocol foresees no decisions."""
    rule = study.protocol.adjudication
    labels = rule.contested if rule else ()
    return study.items.filter(resolution__study=study, resolution__label__in=labels, ruling="").order_by("pk")


def decided(study: Study) -> QuerySet[Item]:
    """Items with a decision, in import order."""
    return study.items.exclude(ruling="").order_by("pk")


def rulings(study: Study, items: QuerySet[Item]) -> Mapping[int, Event]:
    """Item id -> the event of its last decision."""
    events = Event.objects.filter(study=study, item__in=items.order_by().values("pk"), what=WHAT).order_by("pk")
    return {e.item_id: e for e in events if e.item_id}


def adjudicate(
    study: Study, ref: str, value: str, *, why: str, by: str, at: datetime, believed: str | None = None
) -> Decided:
    """Decide an item (by its own id) that is contested, or decide it anew; "" takes a decision back. Locks the item.

    believed: what the person saw as decided so far; another decision meanwhile is not overwritten. A repeated call
    changes nothing. Raises BadRuling, UnknownItem or NotContested.
    """
    rule = rule_of(study)
    words = {choice.value: choice.label for choice in rule.choices}
    if value and value not in words:
        raise BadRuling(f"It can be decided as {' or '.join(words)}; it was {value!r}.")
    if not why.strip() or len(why) > MAX_WHY:
        raise BadRuling(f"Say why, in at most {MAX_WHY} characters; it stays in the log.")
    with transaction.atomic():
        item = study.items.select_for_update(of=("self",)).filter(ref=ref).first()
        if item is None:
            raise UnknownItem(f"There is no item {ref!r} in this study.")
        before = item.ruling
        if believed is not None and believed != before:
            raise NotContested(f"Somebody decided meanwhile: {words.get(before, 'nothing')}. Look at it again.")
        resolution = Resolution.objects.filter(item=item).first()
        if not before and (resolution is None or resolution.label not in rule.contested):
            stands = f"it is settled as {resolution.label}" if resolution else "it is still being worked on"
            raise NotContested(f"There is nothing to decide about {ref!r}: {stands}.")
        if value != before:
            _decide(study, item, value, why=why.strip(), by=by, at=at, said=words.get(value, "taken back"))
        resolution = Resolution.objects.filter(item=item).first()
        return Decided(ref, value, before, item.state, resolution.label if resolution else "")


def _decide(study: Study, item: Item, value: str, *, why: str, by: str, at: datetime, said: str) -> None:
    before, item.ruling = item.ruling, value
    item.save(update_fields=["ruling"])
    told = event(study, WHAT, by=by, at=at, item=item, why=f"{said}: {why}", value=value, before=before)
    record([told, *advance(study, [item], at=at, anew=True)])
