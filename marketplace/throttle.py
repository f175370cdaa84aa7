"""So many calls a second for each account, counted in the database's record of calls."""

from datetime import datetime, timedelta

from django.conf import settings

from marketplace.errors import Throttled
from marketplace.models import Call, Requester


def allows(requester: Requester, at: datetime) -> bool:
    """Whether one more call fits into the last second, beside those that got through; no limit at 0."""
    limit = settings.MARKETPLACE_CALLS_PER_SECOND
    if not limit:
        return True
    lately = Call.objects.filter(requester=requester, at__gt=at - timedelta(seconds=1))
    lately = lately.exclude(outcome=Throttled.kind)
    return lately.count() < limit
