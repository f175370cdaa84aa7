"""F15: lists longer than a page, their empty last page, and rows that come while they are read."""

from decimal import Decimal

import pytest
from django.db.models import F
from django.utils import timezone

from hits import places, publishing
from hits.models import Payment, Visit
from hits.publishing import Terms
from marketplace.models import HIT, Assignment
from marketplace.models import Worker as MarketplaceWorker
from tests.hits import shop
from tests.hits.faults.judge import calls, problems

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def crowded(lab, beat):
    """A HIT in which 130 people submitted something, long since; somebody extended it at the marketplace itself."""
    study = shop.make_shop_study(4)
    terms = Terms(stage="generate", sittings=20, reward=Decimal("0.50"), per_hit=20, approval="by hand")
    publishing.publish(study, terms, by="test", at=beat.now())
    beat.until_quiet()
    HIT.objects.update(max_assignments=135)
    submit(130)
    return study


def submit(count, name="p"):
    """At the marketplace alone: nobody came to our page."""
    hit, now = HIT.objects.get(), timezone.now()
    people = [MarketplaceWorker(name=f"{name}{n}", created_at=now) for n in range(count)]
    number = Assignment.objects.count()
    rows = [
        Assignment(hit=hit, worker=worker, number=number + n, state="Submitted", accepted_at=now, submitted_at=now)
        for n, worker in enumerate(MarketplaceWorker.objects.bulk_create(people), 1)
    ]
    Assignment.objects.bulk_create(rows)
    HIT.objects.update(submitted=F("submitted") + count)


@pytest.fixture
def meanwhile(lab, monkeypatch):
    """`meanwhile("ListX", do)`: done once, between its first two pages."""

    def arrange(operation, do):
        client = places.client()
        record, todo = client.record, [do]

        def told(made):
            record(made)
            if made.operation == operation and todo:
                todo.pop()()

        monkeypatch.setattr(client, "record", told)

    return arrange


def test_all_pages_are_read_though_most_are_refused_and_rows_come_meanwhile(crowded, beat, suffer, meanwhile):
    """P8: throttling slows, and never fails; were each look begun anew, hardly one would reach the end of its list."""
    suffer(ListAssignmentsForHIT={"throttle": 0.6}, seed=5)
    meanwhile("ListAssignmentsForHIT", lambda: submit(5, "late"))
    beat.ahead += publishing.LOOK_FIRST
    beat.sweep()
    assert calls("ListAssignmentsForHIT", outcome="ok") == 3  # 100, 35, and the empty one
    assert (Visit.objects.count(), Payment.objects.filter(state="due").count()) == (135, 135)
    suffer()
    shop.look(crowded, at=beat.now())
    assert (Visit.objects.count(), Payment.objects.count()) == (135, 135)
    assert problems(crowded, at=beat.now()) == []


def test_a_hit_is_found_among_hundreds_of_others_once(lab, beat, suffer, meanwhile):
    """The account has 240 HITs of other projects, and more are made while the list is read."""
    study = shop.make_shop_study(4)
    terms = Terms(stage="generate", sittings=1, reward=Decimal("0.50"))
    publishing.publish(study, terms, by="test", at=beat.now())
    beat.until_quiet()
    mine = HIT.objects.get()
    others = [HIT(**{**fields(mine), "annotation": f"other {n}"}) for n in range(245)]
    HIT.objects.bulk_create(others[:240])
    suffer(CreateHIT={"lost_after": 1})
    batch = publishing.publish(study, terms, by="test", at=beat.now())
    beat.sweep()
    suffer()
    before = calls("ListHITs")
    meanwhile("ListHITs", lambda: HIT.objects.bulk_create(others[240:]))
    beat.wait(86_401)
    beat.until_quiet()
    assert calls("ListHITs") - before == 3
    assert HIT.objects.get(hit_id=batch.hits.get().hit_id).annotation == batch.intents.get(kind="create").token


def fields(hit):
    kept = ("requester", "hit_type", "question", "max_assignments", "made_for", "hold", "created_at", "expires_at")
    return {name: getattr(hit, name) for name in kept}
