"""The facts: one module per noun."""

from annotation.models.events import Event
from annotation.models.items import Item
from annotation.models.jobs import Job
from annotation.models.sittings import Annotation, Assignment, Sitting
from annotation.models.studies import Study
from annotation.models.workers import Enrolment, Qualification, Worker

__all__ = [
    "Annotation",
    "Assignment",
    "Enrolment",
    "Event",
    "Item",
    "Job",
    "Qualification",
    "Sitting",
    "Study",
    "Worker",
]
