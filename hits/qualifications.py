"""The study's word on its workers, kept at the marketplace too: who may work in a stage, and who may not at all.

The study's own state is the truth, and the frame enforces it again: what stands at the marketplace only keeps people
from taking work they could not do.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from annotation.events import SYSTEM
from annotation.models import Enrolment, Qualification, Study, Worker
from hits import intents
from hits.client import MTurkClient, NotThere
from hits.intents import Kind, NotYet
from hits.models import Batch, Grant, Hit, Intent, MarketWorker, QualificationType

State = Intent.State
OUT, FOR = QualificationType.OUT, "for "
EVERY = timedelta(hours=1)  # how often the holders at the marketplace are compared


def purpose_of(worker: Worker) -> str:
    """Of the type that only this worker holds, while there is a HIT for them alone."""
    return f"{FOR}{worker.pk}"


def ensure(study: Study, stages: Iterable[str], place: str, *, at: datetime) -> None:
    """The types for these stages and for being out; made at the marketplace if new. In the caller's transaction."""
    for purpose in (*stages, OUT):
        name = f"Excluded from {study.slug}" if purpose == OUT else f"May {purpose} in {study.slug}"
        name = f"Compensation {purpose.removeprefix(FOR)} from {study.slug}" if purpose.startswith(FOR) else name
        made, _ = QualificationType.objects.get_or_create(
            study=study, purpose=purpose, place=place, defaults={"name": name}
        )
        if not made.type_id:
            intents.decide(
                "qualification", str(made.pk), study=study, place=place, by=SYSTEM, at=at, params={"type": made.pk}
            )


def type_id(study: Study, purpose: str, place: str) -> str:
    """Raises NotYet while the marketplace does not have it."""
    made = QualificationType.objects.filter(study=study, purpose=purpose, place=place).exclude(type_id="")
    if (found := made.first()) is None:
        raise NotYet("The study's qualification is made first.", came=made.all().exists)
    return found.type_id


def follow(study: Study, place: str, *, at: datetime) -> int:
    """Decide what to grant and to take away, so that the marketplace says what the study does; returns how many."""
    decided = 0
    for kind in QualificationType.objects.filter(study=study, place=place).exclude(type_id=""):
        wanted = _wanted(study, kind.purpose)
        known = {grant.worker_id: grant for grant in kind.grants.all()}
        for market in MarketWorker.objects.filter(place=place, worker__enrolments__study=study).order_by("pk"):
            is_wanted, grant = market.worker_id in wanted, known.get(market.pk)
            if grant is None and is_wanted:
                grant, _ = Grant.objects.get_or_create(qualification=kind, worker=market, defaults={"wanted": False})
            if grant is not None and grant.wanted != is_wanted:
                decided += _change(kind, grant, is_wanted, at=at)
    return decided


def _wanted(study: Study, purpose: str) -> set[int]:
    """Workers (ids) who should hold it."""
    if purpose.startswith(FOR):
        offered = Batch.objects.filter(study=study, hits__state__in=[Hit.State.PLANNED, Hit.State.OPEN])
        return set(offered.filter(invited=int(purpose.removeprefix(FOR))).values_list("invited", flat=True))
    if purpose == OUT:
        gone = study.enrolments.filter(~Q(state=Enrolment.State.ACTIVE))
        return set(gone.values_list("worker", flat=True))
    may = Qualification.objects.filter(
        enrolment__study=study,
        enrolment__state=Enrolment.State.ACTIVE,
        stage=purpose,
        state=Qualification.State.QUALIFIED,
    )
    return set(may.values_list("enrolment__worker", flat=True))


@transaction.atomic
def _change(kind: QualificationType, grant: Grant, wanted: bool, *, at: datetime) -> bool:
    """Each change is a decision of its own; of two who see the same need one decides."""
    believed = Grant.objects.filter(pk=grant.pk, wanted=grant.wanted, changes=grant.changes)
    if not believed.update(wanted=wanted, changes=F("changes") + 1):
        return False
    grant.refresh_from_db()
    intents.decide(
        "grant",
        f"{grant.pk} {grant.changes}",
        study=kind.study,
        place=kind.place,
        by=SYSTEM,
        at=at,
        params={"grant": grant.pk, "to": wanted, "change": grant.changes},
    )
    return True


def mend(kind: QualificationType, mturk: MTurkClient, *, at: datetime) -> int:
    """Compare with who really holds it, and decide again what differs; returns how much did. One read of all pages."""
    holders = {worker for worker, _ in mturk.holders(kind.type_id)}
    drifted = 0
    pending = set(
        Intent.objects.filter(kind="grant", study=kind.study, closed_at=None).values_list("params__grant", flat=True)
    )
    for grant in kind.grants.select_related("worker"):
        if grant.pk not in pending and grant.wanted != (grant.worker.remote_worker in holders):
            drifted += _change(kind, grant, grant.wanted, at=at)
    known = set(kind.grants.values_list("worker__remote_worker", flat=True))
    for market in MarketWorker.objects.filter(place=kind.place, remote_worker__in=holders - known):
        grant = Grant.objects.create(qualification=kind, worker=market, wanted=False, held=True)
        drifted += _change(kind, grant, market.worker_id in _wanted(kind.study, kind.purpose), at=at)
    QualificationType.objects.filter(pk=kind.pk).update(checked_at=at)
    return drifted


def to_compare(place: str, *, at: datetime) -> list[QualificationType]:
    """Types whose holders were not compared for a while."""
    old = Q(checked_at=None) | Q(checked_at__lt=at - EVERY)
    return list(QualificationType.objects.filter(old, place=place).exclude(type_id="").select_related("study"))


# --- Carrying out ----------------------------------------------------------------------------------


def _make(intent: Intent, mturk: MTurkClient) -> str:
    kind = QualificationType.objects.select_related("study").get(pk=intent.params["type"])
    return mturk.create_qualification(kind.name, f"About the study “{kind.study.title}”. It is given, not asked for.")


def _find(intent: Intent, mturk: MTurkClient) -> str | None:
    return mturk.find_qualification(QualificationType.objects.get(pk=intent.params["type"]).name) or None


def _made(intent: Intent, at: datetime) -> None:
    QualificationType.objects.filter(pk=intent.params["type"]).update(type_id=intent.remote_id)
    intents.wake_waiting(Intent.objects.filter(kind="create", study=intent.study_id, place=intent.place), at=at)


def _grant(intent: Intent, mturk: MTurkClient) -> str:
    grant = _grant_of(intent)
    type_id, worker = grant.qualification.type_id, grant.worker.remote_worker
    if grant.changes != intent.params["change"]:
        return ""  # it was decided anew since
    if _before(intent).exists():
        raise NotYet("The decision before this one ends first.")
    if intent.params["to"]:
        mturk.grant(type_id, worker, 1)
    else:
        with suppress(NotThere):  # never granted is as good as taken away
            mturk.revoke(type_id, worker, "")
    return ""


def _before(intent: Intent) -> QuerySet[Intent]:
    """Earlier decisions about the same grant without an end: the last word at the marketplace must be the newest."""
    same = Intent.objects.filter(kind="grant", study=intent.study_id, params__grant=intent.params["grant"])
    return same.filter(closed_at=None, pk__lt=intent.pk)


def _granted(intent: Intent, mturk: MTurkClient) -> str | None:
    grant = _grant_of(intent)
    holders = {worker for worker, _ in mturk.holders(grant.qualification.type_id)}
    return "" if (grant.worker.remote_worker in holders) == intent.params["to"] else None


def _has_changed(intent: Intent, at: datetime) -> None:
    mine = Grant.objects.filter(pk=intent.params["grant"], changes=intent.params["change"])
    mine.update(held=intent.params["to"])


def _grant_of(intent: Intent) -> Grant:
    return Grant.objects.select_related("qualification", "worker").get(pk=intent.params["grant"])


intents.KINDS |= {
    "qualification": Kind(send=_make, look=_find, done=_made),
    "grant": Kind(send=_grant, look=_granted, done=_has_changed),
}
