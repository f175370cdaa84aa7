"""F1, F3 and F6 together, and F2, F7 and F8: what is lost, refused, killed, emptied or restarted costs only time.

Real processes on PostgreSQL and Redis, judged by what the marketplace recorded.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal

import pytest
import redis
from django.db import connection
from django.utils import timezone

from annotation.models import Study
from hits import payments, publishing, spending
from hits.models import Hit, Intent, Payment
from hits.publishing import Terms
from marketplace.models import HIT, Bonus, Call, Transfer
from tests.concurrency.site import Site, in_flight, is_done
from tests.conftest import lacking
from tests.hits import shop
from tests.hits.faults.judge import problems
from tests.services import restart_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
BUDGET = Decimal("500.00")
LOST = {"lost_after": 0.08, "cut": 0.04, "error500_after": 0.04, "hang_after": 0.002, "lost_before": 0.04}
FAULTS = {
    "*": {"throttle": 0.3, **LOST, "latency": 0.05},
    "ApproveAssignment": {"throttle": 0.5},
    "SendBonus": {"throttle": 0.5},
    "UpdateExpirationForHIT": {"throttle": 0.6},
}


@pytest.fixture(scope="module")
def processes(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Started once, for what they take to start."""
    if connection.vendor != "postgresql":
        lacking("runs on postgresql only: `make test` starts one")
    with ExitStack() as up:
        yield Site(up, tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(processes: Site) -> Iterator[Site]:
    yield processes
    processes.rest()


def publish(study: Study, units: int) -> None:
    terms = Terms(stage="generate", sittings=units, reward=Decimal("0.20"), per_hit=1)
    spending.set_budget(study, BUDGET, by="test", at=timezone.now())
    publishing.publish(study, terms, by="test", at=timezone.now())


def lose_leases() -> None:
    """What nobody is at any more runs out at once."""
    Intent.objects.filter(state="in flight").update(leased_until=timezone.now(), not_before=timezone.now())


@pytest.mark.parametrize(("seed", "throttle", "whole"), [(7, 0.3, False), (11, 0.4, True)])
def test_each_of_500_units_happens_once_whatever_is_lost_refused_and_killed(site, settings, seed, throttle, whole):
    """450 HITs, 25 rewards and 25 bonuses for each of two seeds; whole: the worker dies with all its processes."""
    faults = {**FAULTS, "*": {**FAULTS["*"], "throttle": throttle}}
    site.open(settings, json.dumps({"seed": seed, "operations": faults, "latency_seconds": 0.1, "hang_seconds": 4}))
    study = shop.make_shop_study(1000)
    publish(study, 450)
    killed = 0
    for number in (20, 200):
        site.until(lambda number=number: HIT.objects.count() > number)
        killed += site.kill_in_a_call(whole=whole and number == 200)
    site.until(lambda: Hit.objects.filter(state="open").count() > 300)
    for n, hit in enumerate(Hit.objects.filter(state="open").order_by("pk")[:25]):
        shop.do(shop.make_worker(f"w{n}"), hit)
    site.until(lambda: Transfer.objects.filter(what="reward").count() > 5)
    killed += site.kill_in_a_call()
    site.until(lambda: Payment.objects.filter(state="paid").count() == 25)
    for payment in Payment.objects.select_related("worker"):
        what = {"key": f"b {payment.pk}", "by": "test", "at": timezone.now()}
        payments.offer(study, payment.worker, "bonus", Decimal("0.50"), "Well done", **what)
    site.until(lambda: Bonus.objects.count() > 5)
    killed += site.kill_in_a_call()
    site.until(is_done)
    assert killed >= 8
    assert problems(study, budget=BUDGET) == []
    assert (HIT.objects.count(), Bonus.objects.count()) == (450, 25)
    assert Transfer.objects.filter(what="reward").count() == 25
    assert Call.objects.exclude(fault="").count() > 150


def test_a_redis_that_is_emptied_and_restarted_loses_no_intent(site, settings):
    """F7. What is decided while it is down is there, and what it lost is asked again by the sweep."""
    site.open(settings)
    study = shop.make_shop_study(200)
    publish(study, 60)
    for _ in range(3):
        site.ask("send_intents")
    site.until(lambda: HIT.objects.count() > 10)
    with redis.Redis.from_url(site.redis.url) as client:
        client.flushall()
    site.until(lambda: HIT.objects.count() > 25)
    site.redis.kill()
    publish(study, 30)
    site.redis.start_again()
    site.until(is_done)
    assert problems(study, budget=BUDGET) == []
    assert HIT.objects.count() == 90


def test_a_postgresql_that_is_restarted_in_the_middle_of_calls_loses_no_intent(site, settings):
    """F8."""
    site.open(settings)
    study = shop.make_shop_study(200)
    publish(study, 60)
    for number in (10, 35):
        site.until(lambda number=number: HIT.objects.count() > number and in_flight())
        connection.close()
        restart_postgres(site.environment["DATABASE_URL"])
        lose_leases()
    site.until(is_done)
    assert problems(study, budget=BUDGET) == []
    assert HIT.objects.count() == 60


def test_a_marketplace_that_cannot_be_reached_is_waited_for(site, settings):
    """F2."""
    site.open(settings)
    study = shop.make_shop_study(100)
    publish(study, 40)
    site.until(lambda: HIT.objects.count() > 10)
    site.stop_serving()
    site.until(lambda: Intent.objects.filter(error__contains="cannot be reached").exists())
    lose_leases()
    site.serve()
    site.until(is_done)
    assert problems(study, budget=BUDGET) == []
    assert HIT.objects.count() == 40
