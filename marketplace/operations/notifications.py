"""Where events of a HIT type go."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

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
    """An http(s) address in place of a queue or a topic; events are posted there, signed."""
    parts = urlsplit(wanted["Destination"])
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and settings.MARKETPLACE_ALLOWS_HTTP)
    if wanted["Transport"] == "Email" or not is_safe or not parts.hostname or len(wanted["Destination"]) > 500:
        raise RequestError(
            "InvalidTransportEndpoint",
            "Events are posted to an https address: give it as the Destination, with the transport SQS or SNS.",
        )
    if not wanted["EventTypes"]:
        raise ParameterValidationError('The value "[]" is not valid for the parameter EventTypes.')
    if wanted["Version"] not in VERSIONS:
        raise ParameterValidationError(f'The value "{wanted["Version"]}" is not valid for the parameter Version.')
    return wanted
