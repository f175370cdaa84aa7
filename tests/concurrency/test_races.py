"""What must hold when people click at the same moment: real threads, real PostgreSQL."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from threading import Event
from time import monotonic, sleep

import pytest
from django.db import connection, transaction

from annotation import leasing, submission
from annotation.errors import Closed, NothingLeft
from annotation.models import Annotation, Assignment, Item, Sitting
from tests.concurrency.crowd import at_once
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from validation.models import Resolution, Tally

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=61)


def answers(sitting, answer=NORMAL_ANSWER):
    return {a.pk: answer for a in sitting.assignments.all()}


def open_seats(study):
    return dict(study.items.values_list("ref", "open_seats"))


def test_two_workers_never_get_the_same_seat():
    study = make_study(items_per_sitting=3)
    make_items(study, 12)
    crowd = [make_worker(study, f"w{n}") for n in range(8)]
    results = at_once(crowd, lambda worker: leasing.lease(worker, study, "generate", at=NOON))
    assert [type(result) for result in results] == [tuple] * 8
    seats = Counter(Assignment.objects.values_list("item__ref", "seat"))
    assert len(seats) == 24
    assert set(open_seats(study).values()) == {0}


def test_nobody_is_told_nothing_left_while_a_seat_is_free():
    """Eight people, one each for exactly eight seats, with every row locked by somebody most of the time."""
    study = make_study(items_per_sitting=1)
    make_items(study, 4)
    crowd = [make_worker(study, f"w{n}") for n in range(12)]
    results = at_once(crowd, lambda worker: leasing.lease(worker, study, "generate", at=NOON))
    assert Counter(type(result) for result in results) == {tuple: 8, NothingLeft: 4}
    assert set(open_seats(study).values()) == {0}


def test_one_worker_in_many_tabs_has_one_sitting():
    study = make_study(items_per_sitting=2)
    make_items(study, 20)
    worker = make_worker(study)
    results = at_once(range(8), lambda _: leasing.lease(worker, study, "generate", at=NOON)[0].pk)
    assert len(set(results)) == 1
    assert (Sitting.objects.count(), Assignment.objects.count()) == (1, 2)


def test_a_sitting_submitted_in_many_tabs_is_stored_once():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    sitting, _ = leasing.lease(make_worker(study), study, "generate", at=NOON)
    given = answers(sitting)

    def click(n):
        mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
        return [a.pk for a in submission.submit(mine, given, at=NOON + timedelta(seconds=n))]

    results = at_once(range(6), click)
    assert len({tuple(result) for result in results}) == 1
    assert Annotation.objects.count() == 2


def test_both_generators_of_an_item_at_the_same_moment_settle_it_once():
    study = make_study(items_per_sitting=1)
    make_items(study, 1)
    sittings = [leasing.lease(make_worker(study, code), study, "generate", at=NOON)[0] for code in ("ann", "ben")]
    at_once(sittings, lambda sitting: submission.submit(sitting, answers(sitting), at=NOON))
    assert Resolution.objects.values_list("outcome", "label").get() == ("settled", "normal")
    assert Tally.objects.values_list("profile", flat=True).get() == "0,2,0"
    assert Item.objects.values_list("state", "open_seats").get() == ("settled", 0)


@pytest.mark.parametrize("attempt", range(3))
def test_submitting_against_expiry_either_keeps_the_seat_or_takes_it_back(attempt):
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    sitting, _ = leasing.lease(make_worker(study), study, "generate", at=NOON)
    given = answers(sitting)

    def race(who):
        if who == "clock":
            return leasing.expire(at=LATER)
        mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
        return len(submission.submit(mine, given, at=LATER))

    results = at_once(["clock", "worker"], race)
    assert results[1] == 2
    assert list(Annotation.objects.values_list("uncounted", flat=True)) == ["", ""]
    assert set(open_seats(study).values()) == {1}


def test_submitting_against_giving_back_has_one_winner():
    study = make_study(items_per_sitting=1)
    make_items(study, 1)
    sitting, _ = leasing.lease(make_worker(study), study, "generate", at=NOON)
    given = answers(sitting)

    def race(what):
        mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
        return leasing.give_back(mine, at=NOON) if what == "return" else submission.submit(mine, given, at=NOON)

    returned, submitted = at_once(["return", "submit"], race)
    if returned is None:
        assert isinstance(submitted, Closed)
        assert (Annotation.objects.count(), open_seats(study)) == (0, {"q1": 2})
    else:
        assert isinstance(returned, Closed)
        assert (Annotation.objects.count(), open_seats(study)) == (1, {"q1": 1})


def test_a_crowd_that_also_walks_away_ends_with_exactly_two_annotations_per_item():
    """Ten people lease, submit, give back and let leases lapse at random until nothing is left."""
    study = make_study(items_per_sitting=3)
    make_items(study, 30)
    crowd = [make_worker(study, f"w{n}", stages=["generate"]) for n in range(10)]

    def live(n):
        rng = Random(n)
        while True:
            try:
                sitting, _ = leasing.lease(crowd[n], study, "generate", at=NOON)
            except NothingLeft:
                return "done"
            chance = rng.random()
            if chance < 0.1:
                leasing.give_back(sitting, at=NOON)
            elif chance < 0.2:
                leasing.expire(at=LATER)
            else:
                answer = rng.choice([NORMAL_ANSWER, FALSE_ANSWER, FILTER_ANSWER])
                submission.submit(sitting, answers(sitting, answer), at=NOON)

    results = at_once(range(10), live)
    assert [r for r in results if r != "done" and not isinstance(r, Closed)] == []
    last = make_worker(study, "last", stages=["generate"]), make_worker(study, "very-last", stages=["generate"])
    for worker in last:
        while True:
            try:
                sitting, _ = leasing.lease(worker, study, "generate", at=LATER)
            except NothingLeft:
                break
            submission.submit(sitting, answers(sitting), at=LATER)
    counted = Counter(Annotation.objects.filter(uncounted="", stage="generate").values_list("item__ref", flat=True))
    assert counted == {f"q{n}": 2 for n in range(1, 31)}
    assert Item.objects.exclude(open_seats=0).exclude(stage="validate").count() == 0
    assert Resolution.objects.count() == Item.objects.exclude(state="open").count()


def is_waited_for():
    """Whether some transaction waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_a_lapsed_sitting_is_taken_up_while_somebody_closes_it():
    """Both lock its items before itself, also those that are not free any more: else each would wait for the other."""
    study = make_study(items_per_sitting=2)
    first, second = make_items(study, 2)
    worker = make_worker(study, "back")
    sitting, _ = leasing.lease(worker, study, "generate", at=NOON)
    leasing.expire(at=LATER)
    study.options["items_per_sitting"] = 1
    for code in ("other", "another"):
        submitted, _ = leasing.lease(make_worker(study, code), study, "generate", at=LATER)
        submission.submit(submitted, answers(submitted), at=LATER)
    begun = Event()

    def close(until):
        with transaction.atomic():
            list(Item.objects.filter(pk=first.pk).select_for_update())
            list(Sitting.objects.filter(pk=sitting.pk).select_for_update())
            begun.set()
            while not is_waited_for() and monotonic() < until:
                sleep(0.01)
            list(Item.objects.filter(pk=second.pk).select_for_update())
        return "closed"

    def come_back(until):
        begun.wait(timeout=30)
        return leasing.lease(worker, study, "generate", at=LATER)[0].pk

    assert at_once([close, come_back], lambda do: do(monotonic() + 30)) == ["closed", sitting.pk]
