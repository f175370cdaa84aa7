"""Who a marketplace's worker is here."""

import re
from datetime import datetime

from django.db import transaction

from annotation.models import Worker
from hits.models import MarketWorker

ID = re.compile(r"[A-Za-z0-9]{1,64}")


def is_id(text: str) -> bool:
    """Whether this can be an id of a marketplace: letters and digits."""
    return ID.fullmatch(text) is not None


def find_or_make(place: str, remote_worker: str, *, at: datetime) -> MarketWorker:
    """The same person for the same id at the same marketplace, however many ask at once.

    The id is a claim until the marketplace confirms work under it.
    """
    found = MarketWorker.objects.select_related("worker").filter(place=place, remote_worker=remote_worker).first()
    if found:
        return found
    mode = place.partition(" ")[0]
    with transaction.atomic():
        # Who comes second waits here for the first, at the unique code.
        worker, _ = Worker.objects.get_or_create(code=f"{mode} {remote_worker}", defaults={"created_at": at})
        return MarketWorker.objects.get_or_create(
            place=place, remote_worker=remote_worker, defaults={"worker": worker}
        )[0]
