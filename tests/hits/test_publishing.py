"""What is offered: paused, extended, topped up, ended, and never more than the study still needs."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.models import Item
from hits import publishing, spending, sweeping
from hits.errors import BadTerms, NotNow
from hits.models import Batch, Hit, Intent
from hits.places import NoAccount, NotAllowed, OtherPlace
from hits.publishing import Terms
from marketplace.models import HIT, HITType
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)


def remote_ends():
    return list(HIT.objects.order_by("pk").values_list("expires_at", flat=True))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stage": "nonsense"}, "no stage 'nonsense'; it has generate, validate"),
        ({"sittings": 0}, "sittings must be from 1"),
        ({"per_hit": 0}, "seats of one HIT must be from 1"),
        ({"reward": Decimal(0)}, "reward is dollars and cents"),
        ({"reward": Decimal("0.005")}, "reward is dollars and cents"),
        ({"duration_minutes": 0}, "minutes for one sitting"),
        ({"requirements": [{}] * 9}, "At most 8 requirements"),
    ],
)
def test_terms_that_cannot_be_are_refused_and_nothing_is_kept(lab, changes, said):
    study = shop.make_shop_study(2)
    terms = Terms(**{"stage": "generate", "sittings": 2, "reward": Decimal("0.50"), **changes})
    with pytest.raises(BadTerms, match=said):
        publishing.publish(study, terms, by="ann", at=timezone.now())
    assert not Batch.objects.exists()


def test_a_plan_says_what_it_costs_and_buys_nothing(lab, settings):
    settings.MTURK_FEES = "mturk"
    study = shop.make_shop_study(2)
    spending.set_budget(study, Decimal(50), by="ann", at=timezone.now())
    plan = publishing.plan(study, Terms("generate", 20, Decimal("1.20")), balance=Decimal(100))
    assert plan.as_dict() == {
        "hits": 3,
        "assignments": 20,
        "reward_total": "24.00",
        "fees": "4.80",
        "total": "28.80",
        "balance": "100.00",
        "budget_left": "21.20",
    }
    assert not Batch.objects.exists()


def test_paused_hits_are_not_offered_and_resumed_ones_are_again(lab):
    study = shop.make_shop_study(8)
    batch = shop.buy(study, 2, per_hit=1)
    now = timezone.now()
    publishing.pause(batch, by="ann", at=now)
    shop.drain()
    assert all(end <= timezone.now() for end in remote_ends())
    with pytest.raises(NotNow):
        publishing.pause(batch, by="ann", at=now)
    publishing.resume(batch, by="ann", at=timezone.now())
    shop.drain()
    assert all(end > now + timedelta(hours=71) for end in remote_ends())
    assert set(Hit.objects.values_list("state", flat=True)) == {"open"}
    shop.do(shop.make_worker(), batch.hits.first())


def test_extending_moves_the_end(lab):
    study = shop.make_shop_study(8)
    batch = shop.buy(study, 2, per_hit=1)
    assert publishing.extend(batch, 200, by="ann", at=timezone.now()) == 2
    shop.drain()
    assert all(end > timezone.now() + timedelta(hours=199) for end in remote_ends())


def test_a_top_up_sells_more_on_the_same_terms_in_the_same_group(lab):
    study = shop.make_shop_study(8)
    batch = shop.buy(study, 2)
    publishing.top_up(batch, 3, by="ann", at=timezone.now())
    shop.drain()
    assert list(HIT.objects.order_by("pk").values_list("max_assignments", flat=True)) == [2, 3]
    assert HITType.objects.count() == 1
    assert spending.committed(study) == Decimal("2.50")


def test_hits_the_study_needs_no_more_are_taken_down(lab):
    study = shop.make_shop_study(4)  # two annotations of each, two in a sitting: four sittings
    batch = shop.buy(study, 4, per_hit=1)
    assert shop.look(study)["ended"] == 0
    Item.objects.filter(pk__in=Item.objects.values("pk")[:2]).update(state="dropped", stage="", open_seats=0)
    assert shop.look(study)["ended"] == 2
    assert sorted(batch.hits.values_list("state", flat=True)) == ["ending", "ending", "open", "open"]


def test_while_other_stages_may_still_open_seats_nothing_is_taken_down(lab):
    study = shop.make_shop_study(4)
    shop.buy(study, 3, per_hit=1, stage="validate")
    assert shop.look(study)["ended"] == 0


def test_a_batch_ended_before_its_hits_appeared_publishes_none(lab):
    study = shop.make_shop_study(4)
    terms = Terms("generate", 2, Decimal("0.50"))
    batch = publishing.publish(study, terms, by="ann", at=timezone.now())
    publishing.end(batch, by="ann", at=timezone.now())
    shop.drain()
    assert not HIT.objects.exists()
    assert spending.committed(study) == 0
    assert Hit.objects.get().state == "failed"


def test_what_is_over_and_reviewed_is_deleted_there(lab):
    study = shop.make_shop_study(4)
    batch = shop.buy(study, 1)
    shop.do(shop.make_worker(), batch.hits.get())
    shop.look(study)  # paid, and sold out
    shop.look(study)
    assert (Hit.objects.get().state, HIT.objects.get().disposed_at is not None) == ("deleted", True)


def test_nothing_is_published_without_an_account_or_leave_to_spend(lab, settings):
    study, terms = shop.make_shop_study(2), Terms("generate", 2, Decimal("0.50"))
    settings.MTURK_MODE = "production"
    with pytest.raises(NotAllowed):
        publishing.publish(study, terms, by="ann", at=timezone.now())
    settings.MTURK_MODE, settings.MTURK_ACCESS_KEY = "marketplace", ""
    with pytest.raises(NoAccount):
        publishing.publish(study, terms, by="ann", at=timezone.now())


def test_what_was_bought_in_one_place_is_never_touched_from_another(lab, settings):
    """P9."""
    study = shop.make_shop_study(4)
    batch = shop.buy(study, 2)
    publishing.top_up(batch, 1, by="ann", at=timezone.now())
    settings.MTURK_MODE = "sandbox"
    with pytest.raises(OtherPlace):
        publishing.end(batch, by="ann", at=timezone.now())
    shop.drain()
    assert Intent.objects.filter(state="pending").count() == 1
    assert sweeping.sweep()["hits"] == 0
