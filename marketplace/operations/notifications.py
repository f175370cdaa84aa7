"""Where events of a HIT type go."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from marketplace.errors import ParameterValidationError, RequestError
from marketplace.models import Notice
from marketplace.operations.asked import Asked, operation
from marketplace.operations.hits import type_with_id

VERSIONS = ("2006-05-05", "2014-08-15")


@operation
def update_notification_settings(asked: Asked) -> dict[str, Any]:
    """A new address, or switching the present one on and off."""
    hit_type = type_with_id(asked, asked.params["HITTypeId"])
    wanted, active = asked.get("Notification"), asked.get("Active")
    if wanted is None and active is None:
        raise ParameterValidationError("At least one of Notification and Active must be given.")
    if wanted is None and hit_type.notification is None:
        raise RequestError("InvalidParameterValue", "This HIT type has no notification to switch on or off.")
    kept = _read(wanted) if wanted else dict(hit_type.notification or {})
    hit_type.notification = {**kept, "Active": True if active is None else active}
    hit_type.save(update_fields=["notification"])
    asked.effect["hit_type"] = hit_type.type_id
    return {}


@operation
def send_test_event_notification(asked: Asked) -> dict[str, Any]:
    wanted = _read(asked.params["Notification"])
    event = {"EventType": asked.params["TestEventType"], "EventTimestamp": asked.at.isoformat()}
    made = Notice.objects.create(
        requester=asked.requester,
        destination=wanted["Destination"],
        event={**event, "HITTypeId": "", "HITId": ""},
        at=asked.at,
    )
    asked.effect["notice"] = made.pk
    return {}


def _read(wanted: dict[str, Any]) -> dict[str, Any]:
    """An e-mail address, or an http(s) address in place of a queue or a topic: events are posted there, signed."""
    destination, by_mail = wanted["Destination"], wanted["Transport"] == "Email"
    if len(destination) > 500 or not (_is_mailbox(destination) if by_mail else _is_safe(destination)):
        raise RequestError(
            "InvalidTransportEndpoint",
            "Events are sent to an e-mail address with the transport Email, or posted to an https address with the "
            "transport SQS or SNS: give it as the Destination.",
        )
    if not wanted["EventTypes"]:
        raise ParameterValidationError('The value "[]" is not valid for the parameter EventTypes.')
    if wanted["Version"] not in VERSIONS:
        raise ParameterValidationError(f'The value "{wanted["Version"]}" is not valid for the parameter Version.')
    return wanted


def _is_mailbox(destination: str) -> bool:
    try:
        validate_email(destination)
    except ValidationError:
        return False
    return True


def _is_safe(destination: str) -> bool:
    schemes = ("https", "http") if settings.MARKETPLACE_ALLOWS_HTTP else ("https",)
    try:
        parts = urlsplit(destination)
    except ValueError:  # half of an IPv6 address
        return False
    return parts.scheme in schemes and bool(parts.hostname)
