"""F1, F3, F4: answers that are lost, cut, late or refused for now, through a batch's whole life."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest

from hits import payments, publishing, spending
from hits.models import Intent, Payment
from hits.publishing import Terms
from marketplace.models import HIT, Assignment, Bonus
from tests.hits import shop
from tests.hits.faults.judge import calls, problems

# On one database only, for its length; tests/concurrency has the same on PostgreSQL, with many workers.
pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]
BUDGET = Decimal("2.50")


AFTER = {"lost_after": 0.15, "cut": 0.1, "error500_after": 0.1, "hang_after": 0.05}
BEFORE = {"throttle": 0.3, "lost_before": 0.1, "error500_before": 0.1, "hang_before": 0.02}


@pytest.mark.parametrize(("chances", "seed"), [(AFTER, 1), (BEFORE, 2)], ids=["after", "before"])
def test_a_batch_lives_its_whole_life_whatever_becomes_of_the_answers(lab, settings, beat, suffer, chances, seed):
    settings.MTURK_READ_TIMEOUT = 0.15
    suffer(All=chances, seed=seed)
    study = shop.make_shop_study(8)
    spending.set_budget(study, BUDGET, by="test", at=beat.now())
    terms = Terms(stage="generate", sittings=4, reward=Decimal("0.50"), per_hit=1, approval="by hand")
    batch = publishing.publish(study, terms, by="test", at=beat.now())
    beat.until_quiet(minutes=15)
    assert HIT.objects.count() == 4
    hits = list(batch.hits.order_by("pk"))
    people = [shop.make_worker(f"w{n}") for n in range(3)]
    for person, hit in zip(people, hits, strict=False):
        shop.do(person, hit, at=beat.now())
    beat.until_quiet(minutes=15)
    *good, bad = Payment.objects.order_by("pk")
    for payment in good:
        assert payments.approve(payment, by="test", at=beat.now())
        name = f"bonus {payment.pk}"
        given = payments.offer(
            study, payment.worker, "bonus", Decimal("0.20"), "Well done", key=name, by="test", at=beat.now()
        )
        assert given.state == "asked"
    assert payments.reject(bad, "Not an answer", by="test", at=beat.now())
    publishing.extend(batch, 100, by="test", at=beat.now())
    publishing.pause(batch, by="test", at=beat.now())
    beat.until_quiet(minutes=15)
    assert problems(study, budget=BUDGET, at=beat.now()) == []
    publishing.resume(batch, by="test", at=beat.now())
    beat.until_quiet(minutes=15)
    assert problems(study, budget=BUDGET, at=beat.now()) == []
    publishing.end(batch, by="test", at=beat.now())
    beat.until_quiet(minutes=15)
    beat.ahead += timedelta(hours=2)  # until nobody can hold one any more
    beat.until_quiet(minutes=15)
    assert problems(study, budget=BUDGET, at=beat.now()) == []
    assert (HIT.objects.count(), HIT.objects.filter(disposed_at=None).count()) == (4, 0)
    assert sorted(Assignment.objects.values_list("state", flat=True)) == ["Approved"] * 2 + ["Rejected"]
    assert list(Bonus.objects.values_list("cents", flat=True)) == [20] * 2
    assert Counter(Intent.objects.values_list("state", flat=True)) == {"done": Intent.objects.count()}


def test_throttling_slows_a_batch_and_fails_nothing_though_nine_of_ten_calls_are_refused(lab, beat, suffer):
    """P8."""
    suffer(All={"throttle": 0.9}, seed=3)
    terms = Terms(stage="generate", sittings=5, reward=Decimal("0.50"), per_hit=1)
    study = shop.make_shop_study(10)
    publishing.publish(study, terms, by="test", at=beat.now())
    beat.until_quiet(minutes=15)
    assert problems(study, at=beat.now()) == []
    assert (HIT.objects.count(), calls("CreateHIT", outcome="ok")) == (5, 5)
    assert calls("CreateHIT") > 20
