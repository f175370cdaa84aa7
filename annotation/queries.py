"""Reads that more than one place needs."""

from dataclasses import dataclass

from django.db.models import Count

from annotation.models import Annotation, Enrolment, Qualification, Sitting, Study, Worker
from annotation.models.sittings import State
from annotation.protocols.base import Stage


@dataclass(frozen=True)
class Place:
    """Somewhere a worker may work: one stage of one study."""

    study: Study
    stage: Stage
    revoked: bool
    resumes: bool
    done: int


def places_of(worker: Worker) -> list[Place]:
    """All of a worker's places, in three queries."""
    qualifications = Qualification.objects.filter(enrolment__worker=worker).select_related("enrolment__study")
    done = Annotation.objects.filter(worker=worker).values_list("study", "stage").annotate(Count("pk")).order_by()
    counts = {(study, stage): count for study, stage, count in done}
    begun = set(Sitting.objects.filter(worker=worker, state=State.LEASED).values_list("study", "stage"))
    places = []
    for q in qualifications.order_by("-enrolment__created_at", "pk"):
        study, key = q.enrolment.study, (q.enrolment.study_id, q.stage)
        stage = study.protocol.stage(q.stage)
        places.append(
            Place(study, stage, q.enrolment.state == Enrolment.State.REVOKED, key in begun, counts.get(key, 0))
        )
    return places
