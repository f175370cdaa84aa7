"""A study with a batch and what people earned in it, as rows: no marketplace is asked."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Permission, User

from annotation import qualification, submission
from annotation.models import Annotation, Enrolment, Sitting, Study, Worker
from hits import payments, people, publishing
from hits.models import Batch, Hit, Intent, Payment, Visit
from hits.publishing import Terms
from tests.factories import NORMAL_ANSWER, make_items, make_sitting, make_study
from tests.people import make_onlooker

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def open_account(settings: Any) -> None:
    """At a marketplace that is not there."""
    settings.MTURK_MODE, settings.MTURK_ENDPOINT_URL = "marketplace", "http://127.0.0.1:9/"
    settings.MTURK_ACCESS_KEY, settings.MTURK_SECRET_KEY = "AKTEST", "secret"
    settings.MTURK_FEES, settings.MTURK_READ_TIMEOUT = "mturk", 0.5


def make_spender(*studies: Study, name: str = "mona") -> User:
    """In the team, and may spend."""
    user = make_onlooker(*studies, name=name)
    user.user_permissions.add(Permission.objects.get(codename="spend"))
    return user


def make_shop(items: int = 8, slug: str = "crepe-a", **options: Any) -> Study:
    study = make_study(slug, items_per_sitting=2, **options)
    make_items(study, items)
    return study


def make_batch(study: Study, sittings: int = 4, *, reward: str = "1.00", published: bool = True, **more: Any) -> Batch:
    """On offer, unless `published` is False: then its HITs are planned."""
    terms = Terms(stage="generate", sittings=sittings, reward=Decimal(reward), **more)
    batch = publishing.publish(study, terms, by="test", at=NOON)
    if published:
        for hit in batch.hits.all():
            found = {"hit_id": f"H{batch.pk}N{hit.number}", "expires_at": NOON + timedelta(days=3)}
            Hit.objects.filter(pk=hit.pk).update(state=Hit.State.OPEN, **found)
        done = {"state": Intent.State.DONE, "closed_at": NOON}
        Intent.objects.filter(batch=batch, kind="create").update(**done)
    return batch


def earn(
    batch: Batch,
    remote_worker: str = "WANDA",
    *,
    state: str = Visit.State.CONFIRMED,
    why: str = "",
    seconds: int = 0,
) -> Payment:
    """Somebody submitted work in the batch's first HIT with a free seat; its reward waits for a decision.

    seconds: of active time; with it there are answers too.
    """
    study = batch.study
    worker = people.find_or_make(batch.place, remote_worker, at=NOON).worker
    if not Enrolment.objects.filter(study=study, worker=worker).exists():
        qualification.enrol(worker, study, batch.stage, by="test", at=NOON)
    hit = batch.hits.filter(unsold__gt=0).order_by("number").first()
    assert hit is not None
    slot = f"A{hit.visits.count() + 1}{hit.key[:8]}"
    seen = {"remote": "Submitted", "submitted_at": NOON, "approves_at": NOON + timedelta(days=3), "opened_at": NOON}
    sitting = _work(study, worker, batch.stage, seconds) if seconds else None
    visit = Visit.objects.create(
        hit=hit,
        assignment_id=slot,
        remote_worker=remote_worker,
        worker=worker,
        sitting=sitting,
        state=state,
        why=why,
        **seen,
    )
    return payments.owe_reward(visit, hit, worker, at=NOON)


def _work(study: Study, worker: Worker, stage: str, seconds: int) -> Sitting:
    sitting = make_sitting(study, worker=worker, stage=stage)
    given = submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    Annotation.objects.filter(pk__in=[a.pk for a in given]).update(active_seconds=seconds // len(given))
    return sitting
