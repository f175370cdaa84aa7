"""F10, F16: reads that lag behind writes, and clocks that do not agree."""

from datetime import timedelta
from decimal import Decimal

import pytest

from annotation.models import Annotation
from hits import publishing
from hits.models import Hit, Intent, Visit
from hits.publishing import Terms
from marketplace import faults
from marketplace.models import HIT
from tests.hits import shop
from tests.hits.faults.judge import calls, problems

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


def publish(study, beat, sittings=2, **more):
    terms = Terms(stage="generate", sittings=sittings, reward=Decimal("0.50"), per_hit=1, **more)
    return publishing.publish(study, terms, by="test", at=beat.now())


def test_work_that_is_not_shown_yet_is_waited_for(lab, beat, suffer):
    study = shop.make_shop_study(4)
    suffer(lag_seconds=60)
    hit = publish(study, beat, 1).hits.get()
    beat.sweep(3)
    hit.refresh_from_db()
    assert (hit.state, calls("CreateHIT")) == ("open", 1)
    shop.do(shop.make_worker(), hit, at=beat.now())
    beat.sweep()
    assert Visit.objects.get().state == "left"
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"unconfirmed"}
    beat.until_quiet(minutes=3)
    assert Visit.objects.get().state == "confirmed"
    assert problems(study, at=beat.now()) == []


def test_a_hit_that_is_not_shown_yet_can_be_ended(lab, beat, suffer):
    study = shop.make_shop_study(4)
    suffer(lag_seconds=60)
    batch = publish(study, beat)
    beat.sweep(2)
    assert batch.hits.filter(state="open").count() == 2
    publishing.end(batch, by="test", at=beat.now())
    beat.sweep()
    assert set(Intent.objects.filter(kind="expiry").values_list("state", flat=True)) == {"pending"}
    beat.until_quiet(minutes=5)
    assert problems(study, at=beat.now()) == []
    assert not HIT.objects.filter(expires_at__gt=beat.now()).exists()


def test_a_hit_that_was_taken_away_there_ends_what_is_decided_about_it(lab, beat):
    """Not there is "not yet" for minutes only."""
    study = shop.make_shop_study(4)
    batch = publish(study, beat, 1)
    beat.until_quiet()
    HIT.objects.update(hit_id="3GONE")
    publishing.end(batch, by="test", at=beat.now())
    beat.until_quiet(minutes=12)
    assert Intent.objects.get(kind="expiry").state == "failed"


@pytest.mark.parametrize("minutes", [-4, 4])
def test_a_batch_is_ended_at_once_though_the_clocks_do_not_agree(lab, beat, monkeypatch, minutes):
    """F16: ours is so many minutes before or behind the marketplace's."""
    monkeypatch.setattr(faults, "now", lambda: beat.now() - timedelta(minutes=minutes))
    study = shop.make_shop_study(4)
    batch = publish(study, beat)
    beat.until_quiet()
    publishing.end(batch, by="test", at=beat.now())
    beat.until_quiet()
    assert not HIT.objects.filter(expires_at__gt=faults.now()).exists()
    assert set(Hit.objects.values_list("state", flat=True)) == {"ending"}
