"""Writing the event log."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Model

from annotation.models import Event, Item, Study, Worker

SYSTEM = "system"


def event(
    study: Study,
    what: str,
    *,
    by: str,
    at: datetime,
    item: Item | int | None = None,
    worker: Worker | int | None = None,
    why: str = "",
    **details: object,
) -> Event:
    """An event, not yet written: a step collects its events and records them in one statement."""
    return Event(
        study=study,
        item_id=_pk(item),
        worker_id=_pk(worker),
        actor=by,
        what=what,
        why=why,
        details=details,
        at=at,
    )


def _pk(row: Model | int | None) -> int | None:
    return row.pk if isinstance(row, Model) else row


def record(events: Iterable[Event]) -> None:
    Event.objects.bulk_create(events)


def actor(worker: Worker) -> str:
    return f"worker:{worker.code}"
