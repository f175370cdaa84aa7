"""F9: a request token is forgotten after 24 hours. What may have happened by then is found or parked, never sent."""

from datetime import timedelta
from decimal import Decimal

import pytest

from hits import intents, payments, publishing, spending
from hits.models import Call, Hit, Intent, Payment
from hits.publishing import Terms
from marketplace.models import HIT, Bonus
from tests.hits import shop
from tests.hits.faults.judge import calls, problems

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]
DAY = timedelta(seconds=86_401)


def publish(study, beat, sittings=2, **more):
    terms = Terms(stage="generate", sittings=sittings, reward=Decimal("0.50"), per_hit=1, **more)
    return publishing.publish(study, terms, by="test", at=beat.now())


def test_a_hit_whose_answer_was_lost_a_day_ago_is_found_among_all(lab, beat, suffer):
    study = shop.make_shop_study(4)
    suffer(CreateHIT={"lost_after": 1})
    publish(study, beat)
    beat.sweep()
    sent = Call.objects.filter(operation="CreateHIT").count()
    assert HIT.objects.count() == 2
    suffer()
    beat.ahead += DAY
    beat.until_quiet(minutes=1)
    assert problems(study, at=beat.now()) == []
    assert (calls("CreateHIT"), calls("ListHITs")) == (sent, 2)
    assert set(Hit.objects.values_list("state", flat=True)) == {"open"}


def test_a_hit_that_may_exist_is_parked_and_never_sent_again_by_itself(lab, beat, suffer):
    study = shop.make_shop_study(4)
    suffer(CreateHIT={"lost_before": 1})
    publish(study, beat)
    beat.sweep()
    suffer()
    sent = Call.objects.filter(operation="CreateHIT").count()
    for _ in range(3):
        beat.ahead += DAY
        beat.until_quiet(minutes=1)
    assert (calls("CreateHIT"), HIT.objects.count()) == (sent, 0)
    parked = Intent.objects.filter(kind="create")
    assert set(parked.values_list("state", flat=True)) == {"parked"}
    assert spending.committed(study) == Decimal("1.00")  # what is not known counts as spent
    assert all(intents.again(intent, by="test", at=beat.now()) for intent in parked)  # a person has looked there
    beat.until_quiet(minutes=1)
    assert problems(study, at=beat.now()) == []
    assert HIT.objects.count() == 2


@pytest.mark.parametrize(("fault", "paid", "state"), [("lost_after", [25], "paid"), ("lost_before", [], "attention")])
def test_a_bonus_of_unknown_outcome_is_found_or_parked_after_a_day(lab, beat, suffer, fault, paid, state):
    study = shop.make_shop_study(4)
    hit = publish(study, beat, 1).hits.get()
    beat.until_quiet()
    shop.do(shop.make_worker(), hit, at=beat.now())
    beat.until_quiet()
    suffer(SendBonus={fault: 1})
    worker = Payment.objects.get().worker
    amount = Decimal("0.25")
    bonus = payments.offer(study, worker, "bonus", amount, "Well done", key="b", by="test", at=beat.now())
    beat.sweep()
    sent = Call.objects.filter(operation="SendBonus").count()
    assert sent >= 1
    suffer()
    for _ in range(3):
        beat.ahead += DAY
        beat.until_quiet(minutes=15)
    bonus.refresh_from_db()
    assert (bonus.state, calls("SendBonus")) == (state, sent)
    assert list(Bonus.objects.values_list("cents", flat=True)) == paid
    assert problems(study, at=beat.now()) == []
    assert spending.committed(study) == Decimal("0.75")


def test_what_was_only_throttled_for_a_day_is_sent(lab, beat, suffer):
    study = shop.make_shop_study(4)
    suffer(CreateHIT={"throttle": 1})
    publish(study, beat, 1)
    beat.sweep()
    suffer()
    beat.ahead += DAY
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert (HIT.objects.count(), calls("ListHITs")) == (1, 0)
