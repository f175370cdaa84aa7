"""Who comes into a study, and through which links: adding people, revoking links, the open enrolment link."""

from datetime import datetime

from django.db import transaction

from annotation import qualification
from annotation.events import event, record
from annotation.models import Enrolment, Study, Worker

MAX_CODE = 90  # leaves room for the number that a count appends
MAX_COUNT = 500


def add_workers(study: Study, code: str, stages: list[str], count: int, *, by: str, at: datetime) -> list[Worker]:
    """The worker `code`, or for a count above 1 `code`-1, `code`-2, ...; all or none. Raises UnknownStage."""
    codes = [code] if count == 1 else [f"{code}-{n}" for n in range(1, count + 1)]
    with transaction.atomic():
        return [qualification.add_worker(study, each, stages, by=by, at=at) for each in codes]


@transaction.atomic
def revoke_links(enrolment: Enrolment, *, by: str, at: datetime, why: str) -> None:
    """Every link and token of the worker stops working, in all of their studies. What they wrote stays."""
    worker = Worker.objects.select_for_update().get(pk=enrolment.worker_id)
    qualification.revoke_links(worker)
    record([event(enrolment.study, "links revoked", by=by, at=at, worker=worker, why=why)])


@transaction.atomic
def set_enrolment(study: Study, is_open: bool, *, by: str, at: datetime) -> None:
    """Let people in through the enrolment link, or close it; closed, the same link works again once it is reopened."""
    if Study.objects.filter(pk=study.pk, enrolment_open=not is_open).update(enrolment_open=is_open):
        record([event(study, "enrolment opened" if is_open else "enrolment closed", by=by, at=at)])
    study.enrolment_open = is_open


@transaction.atomic
def renew_enrolment_link(study: Study, *, by: str, at: datetime) -> None:
    """Every earlier enrolment link stops working; those who came in through it keep their own links."""
    locked = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    locked.enrolment_serial += 1
    locked.save(update_fields=["enrolment_serial"])
    record([event(study, "enrolment link renewed", by=by, at=at)])
    study.enrolment_serial = locked.enrolment_serial
