"""Personal links and tokens: signed, expiring, revocable. They carry identity, so no cookie is needed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from annotation.errors import BadLink, LinkExpired, LinkRevoked
from annotation.models import Sitting, Study, Worker

LINK, TOKEN, ENROLMENT = "touchstone.link", "touchstone.token", "touchstone.enrolment"
SCOPE = "touchstone.scope"


def sign(worker: Worker, purpose: str, *, at: datetime) -> str:
    """A token for `purpose` (LINK or TOKEN) that works for LINK_DAYS, or until the worker's links are revoked."""
    until = int((at + timedelta(days=settings.LINK_DAYS)).timestamp())
    return signing.dumps([worker.pk, worker.link_serial, until], salt=purpose)


def worker_of(token: str, purpose: str, *, at: datetime) -> Worker:
    """Raises BadLink (tampered), LinkExpired or LinkRevoked."""
    try:
        pk, serial, until = signing.loads(token, salt=purpose)
    except (signing.BadSignature, ValueError):
        raise BadLink from None
    return _worker(pk, serial, until, at)


def _worker(pk: int, serial: int, until: int, at: datetime) -> Worker:
    if until < at.timestamp():
        raise LinkExpired
    try:
        return Worker.objects.get(pk=pk, link_serial=serial)
    except Worker.DoesNotExist:
        raise LinkRevoked from None


@dataclass(frozen=True)
class Scope:
    """The one place that a scoped token opens: the way into a stage of a study (slug), or a sitting (id) in it.

    then: the path of this site where the worker goes on, wherever they would otherwise be led home.
    Whoever holds such a token claims to be the worker: what they submit is unconfirmed (`submission.confirm`).
    """

    worker: Worker
    study: str
    stage: str
    sitting: int | None
    then: str


def sign_scope(worker: Worker, study: Study, stage: str, *, sitting: Sitting | None, then: str, until: datetime) -> str:
    """A token for the addresses of personal links that opens one `Scope`, until then or until links are revoked."""
    if not then.startswith("/") or not url_has_allowed_host_and_scheme(then, allowed_hosts=None):
        raise ValueError(f"{then!r} is no path of this site")
    place = [study.slug, stage, sitting and sitting.pk, then]
    return signing.dumps([worker.pk, worker.link_serial, int(until.timestamp()), *place], salt=SCOPE)


def is_scoped(token: str) -> bool:
    """Whether `sign_scope` made it; it may have expired since."""
    try:
        signing.loads(token, salt=SCOPE)
    except (signing.BadSignature, ValueError):
        return False
    return True


def scope_of(token: str, *, at: datetime) -> Scope:
    """Raises BadLink (tampered), LinkExpired or LinkRevoked."""
    try:
        pk, serial, until, study, stage, sitting, then = signing.loads(token, salt=SCOPE)
    except (signing.BadSignature, ValueError):
        raise BadLink from None
    return Scope(_worker(pk, serial, until, at), study, stage, sitting, then)


def personal_link(worker: Worker, *, at: datetime) -> str:
    return settings.SITE_URL + reverse("annotation:home", args=[sign(worker, LINK, at=at)])


def enrolment_link(study: Study) -> str:
    token = signing.dumps([study.pk, study.enrolment_serial], salt=ENROLMENT)
    return settings.SITE_URL + reverse("annotation:join", args=[token])


def study_of(token: str) -> Study:
    """The study an enrolment link leads to. Raises BadLink, or LinkRevoked when renewed, or enrolment is closed."""
    try:
        pk, serial = signing.loads(token, salt=ENROLMENT)
    except (signing.BadSignature, ValueError):
        raise BadLink from None
    study = Study.objects.filter(pk=pk, enrolment_serial=serial, enrolment_open=True).first()
    if study is None:
        raise LinkRevoked("This study does not take new people through this link any more.")
    return study
