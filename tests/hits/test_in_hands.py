"""What is offered follows the seats the study needs, and work in somebody's hands is not offered."""

import pytest
from django.utils import timezone

from annotation.models import Item
from hits import publishing, visits
from hits.models import Hit
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_seat_in_somebodys_hands_is_no_surplus(lab):
    study = shop.make_shop_study(4)  # 8 seats, in sittings of 2
    batch = shop.buy(study, 4, per_hit=1)
    hits = list(batch.hits.order_by("number"))
    held = shop.enter(shop.accept(shop.make_worker(), hits[0]))
    visits.go_on(held, at=timezone.now())
    assert publishing.still_needed(study, "generate") == 3
    assert publishing.follow(batch, at=timezone.now()) == 0
    shop.drain()
    assert set(batch.hits.values_list("state", flat=True)) == {Hit.State.OPEN}


def test_what_is_not_needed_any_more_is_taken_down_the_last_first(lab):
    study = shop.make_shop_study(4)
    batch = shop.buy(study, 4, per_hit=1)
    Item.objects.filter(ref__in=["q1", "q2"]).update(state="settled", open_seats=0, stage="", votes_wanted=0)
    assert publishing.follow(batch, at=timezone.now()) == 2
    assert list(batch.hits.order_by("number").values_list("state", flat=True)) == ["open", "open", "ending", "ending"]


def test_what_is_missing_is_counted_in_sittings(lab):
    study = shop.make_shop_study(5)  # 10 seats
    assert publishing.missing(study)["generate"] == 5
    batch = shop.buy(study, 3)
    assert publishing.missing(study)["generate"] == 2
    publishing.pause(batch, by="test", at=timezone.now())
    assert publishing.missing(study)["generate"] == 5


def test_while_earlier_stages_may_open_more_only_full_sittings_are_missing(lab):
    study = shop.make_shop_study(5)
    Item.objects.filter(ref__in=["q1", "q2", "q3"]).update(stage="validate", open_seats=1)  # 3 seats
    assert publishing.missing(study) == {"generate": 2, "validate": 1}
    Item.objects.filter(stage="generate").update(state="settled", open_seats=0, stage="", votes_wanted=0)
    assert publishing.missing(study)["validate"] == 2


def test_a_sitting_holds_no_more_than_one_person_may_do(lab):
    study = shop.make_shop_study(4, items_per_sitting=4, max_annotations=2)
    assert publishing.missing(study)["generate"] == 4
