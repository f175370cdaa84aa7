"""The facts: one module per noun."""

from annotation.models.events import Event
from annotation.models.items import Item, ItemGroup
from annotation.models.jobs import Job
from annotation.models.sittings import Annotation, Assignment, Attempt, Feedback, Sitting
from annotation.models.studies import Study
from annotation.models.wordings import Wording
from annotation.models.workers import (
    Appeal,
    ConsentText,
    Enrolment,
    Exposure,
    Qualification,
    Revocation,
    Try,
    Worker,
)

__all__ = [
    "Annotation",
    "Appeal",
    "Assignment",
    "Attempt",
    "ConsentText",
    "Enrolment",
    "Event",
    "Exposure",
    "Feedback",
    "Item",
    "ItemGroup",
    "Job",
    "Qualification",
    "Revocation",
    "Sitting",
    "Study",
    "Try",
    "Wording",
    "Worker",
]
