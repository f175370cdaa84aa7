"""Send events to requesters' addresses, posted and signed or by e-mail: at least once, outside of any transaction."""

import hmac
import json
import urllib.request
import uuid
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from urllib.error import URLError

from django.core.mail import EmailMessage, get_connection
from django.db.models import Q

from marketplace import signing
from marketplace.models import Notice

MOST = 100  # in one go
ATTEMPTS = 8
TIMEOUT = 10  # seconds
VERSION = "2014-08-15"
HEADER = "X-Marketplace-Signature"  # HMAC-SHA256 of the body, with the requester's secret key


def deliver(*, at: datetime) -> int:
    """Send what waits and is due; returns how many were taken. A failed one waits twice as long each time, and holds
    nobody else's up.
    """
    taken = 0
    for notice in Notice.objects.filter(_due(at), sent_at=None).select_related("requester").order_by("pk")[:MOST]:
        error = _post(notice) if notice.destination.startswith(("https://", "http://")) else _mail(notice)
        is_over = not error or notice.attempts + 1 >= ATTEMPTS
        Notice.objects.filter(pk=notice.pk, sent_at=None).update(
            attempts=notice.attempts + 1, error=error, sent_at=at if is_over else None
        )
        taken += not error
    return taken


def _due(at: datetime) -> Q:
    """Never tried, or tried n times and noted so long ago."""
    tried = (Q(attempts=n, at__lte=at - timedelta(seconds=30 * 2**n)) for n in range(1, ATTEMPTS))
    return reduce(or_, tried, Q(attempts=0))


def body_of(notice: Notice) -> bytes:
    """As the service's: a document with its id, and one event. The id stays the same however often it is sent."""
    document = {
        "EventDocVersion": VERSION,
        "EventDocId": id_of(notice),
        "CustomerId": notice.requester.account_id,
        "Events": [notice.event],
    }
    return json.dumps(document, sort_keys=True).encode()


def id_of(notice: Notice) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"notice {notice.pk}"))


def signature_of(notice: Notice, body: bytes) -> str:
    return hmac.new(signing.secret_of(notice.requester).encode(), body, "sha256").hexdigest()


def _post(notice: Notice) -> str:
    """Why it was not taken, or ""."""
    body = body_of(notice)
    headers = {"Content-Type": "application/json", HEADER: signature_of(notice, body)}
    request = urllib.request.Request(notice.destination, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return "" if answer.status < 300 else f"HTTP {answer.status}"
    except (URLError, OSError, ValueError) as error:
        return str(error)[:200]


def _mail(notice: Notice) -> str:
    """Why it was not taken, or "". A line for each of the event's properties, and the id."""
    properties = {**notice.event, "EventDocId": id_of(notice)}
    lines = [f"{name}: {value}" for name, value in sorted(properties.items())]
    subject = f"{notice.event['EventType']} {notice.event.get('HITId', '')}".strip()
    letter = EmailMessage(subject, "\n".join(lines), None, [notice.destination])
    letter.connection = get_connection(timeout=TIMEOUT)
    try:
        letter.send()
    except (OSError, ValueError) as error:
        return str(error)[:200] or type(error).__name__
    return ""
