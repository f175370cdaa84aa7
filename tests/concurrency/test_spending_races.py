"""Everybody clicks the same button at the same moment: money moves once, on real threads."""

from datetime import timedelta
from decimal import Decimal

import pytest

from annotation.models import Study
from hits import intents, payments, publishing, spending, wages
from hits.errors import OverBudget
from hits.models import Batch, Hit, Intent, Once, Payment
from hits.once import KeyUsed, once
from hits.publishing import Terms
from tests.concurrency.crowd import at_once
from tests.hits.rows import NOON, earn, make_batch, make_shop, open_account

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
BY = {"by": "user:mona", "at": NOON}


@pytest.fixture(autouse=True)
def _account(settings):
    open_account(settings)


def publish_under(key, sittings=4):
    study = Study.objects.get()
    terms = Terms(stage="generate", sittings=sittings, reward=Decimal(1))
    act = {"batch": 0}

    def publish():
        return act | {"batch": publishing.publish(study, terms, **BY).number}

    return once(study, key, {"sittings": sittings}, publish, **BY)["batch"]


@pytest.mark.parametrize("n", range(3))
def test_one_key_buys_one_batch_however_many_send_it(n):
    make_shop()
    assert at_once(["key"] * 6, publish_under) == [1] * 6
    assert (Batch.objects.count(), Hit.objects.count(), Once.objects.count()) == (1, 1, 1)


def test_different_requests_under_one_key_are_told_apart():
    make_shop()
    results = at_once([4, 5, 6], lambda sittings: publish_under("key", sittings))
    assert sorted(str(type(r)) for r in results) == sorted([str(int), str(KeyUsed), str(KeyUsed)])
    assert Batch.objects.count() == 1


def test_who_waited_for_a_refusal_tries_for_themselves():
    spending.set_budget(make_shop(), Decimal(4), **BY)
    results = at_once(["key"] * 4, publish_under)
    assert [type(r) for r in results] == [OverBudget] * 4
    assert (Batch.objects.count(), Once.objects.count()) == (0, 0)


@pytest.mark.parametrize("n", range(3))
def test_all_that_wait_are_approved_once(n):
    study = make_shop()
    batch = make_batch(study, 9)
    for number in range(9):
        earn(batch, f"W{number}")
    counts = at_once(range(4), lambda _: payments.approve_all(payments.proven(study), **BY))
    assert sum(counts) == 9
    assert Intent.objects.filter(kind="approve").count() == 9
    assert set(Payment.objects.values_list("state", flat=True)) == {"asked"}
    assert Payment.objects.filter(intent=None).count() == 0


@pytest.mark.parametrize("n", range(3))
def test_a_wage_is_topped_up_once(n):
    study = make_shop()
    spending.set_budget(study, Decimal(6), **BY)  # enough for one top-up
    earn(make_batch(study), seconds=720)
    drafts = wages.topups(study, Decimal(10))
    assert sorted(at_once(range(4), lambda _: wages.decide(study, drafts, **BY))) == [0, 0, 0, 1]
    assert Payment.objects.filter(kind="topup").count() == 1


def test_a_refused_hit_is_bought_anew_once():
    study = make_shop()
    batch = make_batch(study, 2)
    Hit.objects.update(state="failed", unsold=0)
    Intent.objects.filter(kind="create").update(state="failed", closed_at=NOON)
    intent = Intent.objects.get(kind="create")
    later = {"by": "user:mona", "at": NOON + timedelta(hours=1)}
    assert sorted(at_once(range(4), lambda _: intents.again(intent, **later))) == [False, False, False, True]
    assert spending.committed(study) == batch.cost * 2
