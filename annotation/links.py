"""Personal links and tokens: signed, expiring, revocable. They carry identity, so no cookie is needed."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.urls import reverse

from annotation.errors import BadLink, LinkExpired, LinkRevoked
from annotation.models import Study, Worker

LINK, TOKEN, ENROLMENT = "touchstone.link", "touchstone.token", "touchstone.enrolment"


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
    if until < at.timestamp():
        raise LinkExpired
    try:
        return Worker.objects.get(pk=pk, link_serial=serial)
    except Worker.DoesNotExist:
        raise LinkRevoked from None


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
