"""What happened, for whoever asked to be told (MTURK.md 8): at least once, unordered, and only a hint to look."""

from datetime import datetime

from marketplace.models import HIT, Assignment, Notice


def tell(hit: HIT, event: str, assignment: Assignment | None = None, *, at: datetime) -> None:
    """Note an event where the HIT's type has an address for it; sending comes later, outside of any transaction."""
    wanted = hit.hit_type.notification
    if not wanted or not wanted.get("Active", True) or event not in wanted["EventTypes"]:
        return
    body = {
        "EventType": event,
        "EventTimestamp": at.isoformat(),
        "HITTypeId": hit.hit_type.type_id,
        "HITId": hit.hit_id,
    }
    if assignment:
        body["AssignmentId"] = assignment.assignment_id
    Notice.objects.create(requester_id=hit.requester_id, destination=wanted["Destination"], event=body, at=at)
