"""Many at once on batches and intents: threads that publish, end, look and work at the same moment."""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from threading import Event, Lock

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import Annotation
from hits import intents, places, publishing, reconciling, visits
from hits.client import RemoteAssignment, RemoteHit, Status
from hits.models import Hit, Intent, Payment, QualificationType, Visit
from hits.publishing import Terms
from tests.celery.site import wait_until
from tests.concurrency.crowd import at_once
from tests.factories import FALSE_ANSWER
from tests.hits import shop

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
SITE = "http://127.0.0.1:9"


@dataclass
class Marketplace:
    """What creates HITs, and counts tokens."""

    tokens: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def create_hit(self, new):
        with self.lock:
            self.tokens.append(new.token)
        return RemoteHit(new.token.upper()[:30], "T", new.annotation, "Assignable", 1, timezone.now(), new.reward)


@pytest.fixture
def study(settings):
    settings.MTURK_ACCESS_KEY = settings.MTURK_SECRET_KEY = "AKIATOUCHSTONETESTS0"
    settings.SITE_URL = settings.PUBLIC_URL = SITE
    settings.TASK_FRAME_HOSTS = [SITE]
    settings.MTURK_CALLS_PER_SECOND = 0
    made = shop.make_shop_study(20)
    for purpose in ("generate", "validate", QualificationType.OUT):
        QualificationType.objects.create(study=made, purpose=purpose, place=places.here(), name=purpose, type_id="Q")
    return made


def publish(study, units=8):
    terms = Terms(stage="generate", sittings=units, reward=Decimal("0.10"), per_hit=1)
    return publishing.publish(study, terms, by="test", at=timezone.now())


def waiting() -> int:
    """How many sessions wait for another's lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return int(cursor.fetchone()[0])


def test_a_hit_that_appears_while_its_batch_is_ended_is_taken_down(study):
    batch, mturk, ended, recorded = publish(study, 3), Marketplace(), Event(), []
    held = [intents.claim(batch.place, timezone.now()) for _ in range(3)]

    def act(intent):
        if intent:
            assert ended.wait(timeout=30)
            intents.carry_out(intent, mturk)
            return recorded.append(intent)
        with transaction.atomic():
            publishing.end(batch, by="test", at=timezone.now())
            ended.set()
            wait_until(lambda: len(recorded) + waiting() >= 3)  # all have recorded what they made, or wait for us

    assert at_once([*held, None], act) == [None] * 4
    assert Hit.objects.filter(state="open").count() == 3
    assert Intent.objects.filter(kind="expiry").values("hit").distinct().count() == 3


def test_a_task_that_was_delivered_six_times_sends_each_intent_once(study):
    """F7."""
    batch, mturk = publish(study, 40), Marketplace()
    found = at_once(range(6), lambda _: intents.drain(mturk, batch.place, seconds=20))
    assert found == [None] * 6
    assert (len(mturk.tokens), len(set(mturk.tokens))) == (40, 40)
    assert set(batch.hits.values_list("state", flat=True)) == {"open"}


def test_a_try_that_ends_after_its_lease_records_nothing_over_a_newer_one(study):
    batch, mturk = publish(study, 1), Marketplace()
    slow = intents.claim(batch.place, timezone.now())
    later = timezone.now() + intents.LEASE + timedelta(seconds=1)
    fast = intents.claim(batch.place, later)
    assert (slow.pk, fast.attempts, fast.was_unsure) == (fast.pk, 2, True)
    intents.carry_out(fast, mturk)
    intents.carry_out(slow, mturk)
    assert len(set(mturk.tokens)) == 1
    assert (Intent.objects.get(kind="create").state, Hit.objects.get().state) == ("done", "open")


def test_looks_at_the_same_work_and_people_who_work_do_not_get_in_each_others_way(study):
    """Every slot was answered here by two people, of whom the second submitted there; others lease and submit."""
    batch = publish(study, 6)
    intents.drain(Marketplace(), batch.place, seconds=20)
    now, remotes = timezone.now(), []
    for hit in batch.hits.all():
        for person in ("LEFT", "DID"):
            visit = visit_of(hit, f"A{hit.pk}", f"{person}{hit.pk}", at=now)
            if person == "DID":
                given = (f"A{hit.pk}", hit.hit_id, f"DID{hit.pk}", Status.SUBMITTED, now, now, None)
                remotes.append((RemoteAssignment(*given, {"reference": visit.reference}), hit))

    def act(job):
        if isinstance(job, tuple):
            return reconciling.take_in(*job, at=now)
        return visit_of(batch.hits.all()[job % 6], f"B{job}", f"NEW{job}", at=now)

    found = at_once([*remotes, *remotes, *range(6)], act)
    assert [each for each in found if isinstance(each, Exception)] == []
    states = Visit.objects.exclude(remote_worker__startswith="NEW").values_list("remote_worker", "state")
    assert {state for worker, state in states if worker.startswith("DID")} == {"confirmed"}
    assert {state for worker, state in states if worker.startswith("LEFT")} == {"quarantined"}
    assert (Payment.objects.count(), Intent.objects.filter(kind="approve").count()) == (6, 6)
    assert Annotation.objects.filter(uncounted="").count() == 12


def visit_of(hit, assignment, worker, *, at):
    visit = visits.arrive(hit, assignment, hit.hit_id, worker, SITE, at=at)
    return shop.answer(visit, FALSE_ANSWER, at=at)
