"""Who may work in which stage."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from annotation.errors import UnknownStage
from annotation.events import event, record
from annotation.models import Enrolment, Qualification, Study, Worker


@transaction.atomic
def qualify(worker: Worker, study: Study, stages: Iterable[str], *, by: str, at: datetime) -> Enrolment:
    """Enrol a worker and let them work in `stages`; what is already so stays. Locks the study. Raises UnknownStage."""
    stages, known = list(stages), [s.name for s in study.protocol.stages]
    for stage in stages:
        if stage not in known:
            raise UnknownStage(f"This study has no stage {stage!r}; it has {', '.join(known)}.")
    Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    enrolment = Enrolment.objects.filter(study=study, worker=worker).first()
    if enrolment is None:
        last = study.enrolments.aggregate(last=Max("number"))["last"] or 0
        enrolment = Enrolment.objects.create(study=study, worker=worker, number=last + 1, created_at=at)
    has = set(enrolment.qualifications.values_list("stage", flat=True))
    new = [stage for stage in dict.fromkeys(stages) if stage not in has]
    Qualification.objects.bulk_create(Qualification(enrolment=enrolment, stage=s, created_at=at) for s in new)
    record(event(study, "qualified", by=by, at=at, worker=worker, stage=stage) for stage in new)
    return enrolment


def add_worker(study: Study, code: str, stages: Iterable[str], *, by: str, at: datetime) -> Worker:
    """The worker with this code, made if new, qualified for `stages`: whoever adds them vouches for them."""
    with transaction.atomic():
        worker, _ = Worker.objects.get_or_create(code=code, defaults={"created_at": at})
        qualify(worker, study, stages, by=by, at=at)
    return worker


def join(study: Study, *, at: datetime) -> Worker:
    """A new person through the open enrolment link; they begin at the protocol's first stage."""
    code = f"{study.slug}-{secrets.token_hex(4)}"
    return add_worker(study, code, [study.protocol.stages[0].name], by="enrolment link", at=at)


def revoke_links(worker: Worker) -> None:
    """Every link and token of this worker stops working; new ones can be made at once."""
    worker.link_serial += 1
    worker.save(update_fields=["link_serial"])
