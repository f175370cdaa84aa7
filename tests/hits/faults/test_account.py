"""F13, and an account that stops working: what is decided waits for money or a key, and is then done once."""

from datetime import timedelta
from decimal import Decimal

import pytest

from hits import intents, payments, places, publishing, spending
from hits.errors import OverBudget
from hits.models import Hit, Intent, Payment
from hits.publishing import Terms
from marketplace import ledger
from marketplace.models import HIT, Bonus, QualificationType
from tests.hits import shop
from tests.hits.faults.judge import problems
from tests.marketplace import market

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def poor(live_server, settings):
    """An account with $1.60: enough for three HITs."""
    yield shop.open_shop(settings, live_server.url, deposit=160)
    places.close()
    market.close_all()


def publish(study, beat, sittings=2, **more):
    terms = Terms(stage="generate", sittings=sittings, reward=Decimal("0.50"), per_hit=1, **more)
    return publishing.publish(study, terms, by="test", at=beat.now())


def states(kind):
    return sorted(Intent.objects.filter(kind=kind).values_list("state", flat=True))


def test_a_batch_waits_for_funds_in_its_middle_and_goes_on_when_they_arrive(poor, beat):
    study = shop.make_shop_study(12)
    spending.set_budget(study, Decimal("5.00"), by="test", at=beat.now())
    publish(study, beat, 6)
    beat.sweep(3)
    assert (HIT.objects.count(), states("create")) == (3, ["done"] * 3 + ["pending"] * 3)
    assert "insufficient funds" in Intent.objects.filter(state="pending").first().error
    assert spending.committed(study) == Decimal("3.00")
    ledger.deposit(poor, 150, at=beat.now())
    beat.until_quiet(minutes=5)
    assert HIT.objects.count() == 6
    shop.do(shop.make_worker(), Hit.objects.first(), at=beat.now())
    beat.until_quiet(minutes=5)
    worker = Payment.objects.get().worker
    payments.offer(study, worker, "bonus", Decimal("0.30"), "Well done", key="b", by="test", at=beat.now())
    beat.sweep(3)
    assert (states("bonus"), Bonus.objects.count()) == (["pending"], 0)
    ledger.deposit(poor, 100, at=beat.now())
    beat.until_quiet(minutes=5)
    assert (states("bonus"), Bonus.objects.count()) == (["done"], 1)
    assert problems(study, budget=Decimal("5.00"), at=beat.now()) == []


def test_a_wrong_key_makes_a_batch_wait_and_not_fail(lab, beat, suffer, settings):
    study = shop.make_shop_study(4)
    publish(study, beat, 1)
    beat.until_quiet()
    suffer(CreateHIT={"lost_after": 1})
    publish(study, beat, 2)  # one try of unknown outcome each, before the key is wrong
    beat.sweep()
    suffer()
    right, settings.MTURK_SECRET_KEY = settings.MTURK_SECRET_KEY, "x" * 40
    places.close()
    for _ in range(2):
        beat.ahead += timedelta(minutes=2)
        beat.sweep()
    publish(study, beat, 2)
    beat.sweep()
    assert states("create") == ["done"] + ["pending"] * 4
    assert "secret key" in Intent.objects.filter(kind="create", state="pending").first().error
    places.close()
    settings.MTURK_SECRET_KEY = right
    beat.until_quiet(minutes=3)
    assert problems(study, at=beat.now()) == []
    assert HIT.objects.count() == 5


def test_a_refusal_of_a_second_try_says_nothing_about_the_first(lab, beat, suffer):
    study = shop.make_shop_study(4)
    suffer(CreateHIT={"lost_after": 1})
    publish(study, beat)
    beat.sweep()
    suffer()
    QualificationType.objects.update(deleted_at=beat.now())  # from now on every CreateHIT is refused
    beat.ahead += intents.LAG
    beat.until_quiet()
    assert states("create") == ["done", "done"]
    assert HIT.objects.count() == 2
    assert problems(study, at=beat.now()) == []
    assert spending.committed(study) == Decimal("1.00")


def test_a_bonus_that_was_refused_is_paid_once_when_a_person_asks_again_and_the_budget_reaches(lab, beat):
    study = shop.make_shop_study(4)
    hit = publish(study, beat, 1).hits.get()
    beat.until_quiet()
    shop.do(shop.make_worker(), hit, at=beat.now())
    beat.until_quiet()
    worker = Payment.objects.get().worker
    payments.offer(study, worker, "bonus", Decimal("0.30"), "x", key="b", by="test", at=beat.now())
    HIT.objects.update(requester=market.make_requester("stranger"))  # so that it is refused
    beat.ahead += intents.LAG
    beat.until_quiet()
    bonus = Intent.objects.get(kind="bonus")
    assert (bonus.state, spending.committed(study)) == ("failed", Decimal("0.50"))
    HIT.objects.update(requester=lab)
    spending.set_budget(study, Decimal("0.70"), by="test", at=beat.now())
    with pytest.raises(OverBudget):
        intents.again(bonus, by="test", at=beat.now())
    spending.set_budget(study, Decimal("0.80"), by="test", at=beat.now())
    assert [intents.again(bonus, by="test", at=beat.now()) for _ in range(2)] == [True, False]
    beat.until_quiet()
    assert (Payment.objects.get(kind="bonus").state, Bonus.objects.count()) == ("paid", 1)
    assert problems(study, budget=Decimal("0.80"), at=beat.now()) == []
