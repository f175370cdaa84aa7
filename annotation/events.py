"""Writing the event log."""

from collections.abc import Iterable
from datetime import datetime

from annotation.models import Event, Item, Study, Worker

SYSTEM = "system"


def event(
    study: Study | int,
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
    ids = [row if isinstance(row, int) or row is None else row.pk for row in (study, item, worker)]
    return Event(
        study_id=ids[0], item_id=ids[1], worker_id=ids[2], actor=by, what=what, why=why, details=details, at=at
    )


def record(events: Iterable[Event]) -> None:
    Event.objects.bulk_create(events)


def actor(worker: Worker) -> str:
    return f"worker:{worker.code}"
