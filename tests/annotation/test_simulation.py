"""A simulated crowd goes the way of real people, and the same seed goes it twice."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from annotation.models import Annotation, Assignment, Item
from annotation.simulation import BadCrowd, simulate
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_study
from validation.exports import annotation_rows

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def run(study, *, workers=8, accuracy=0.8, seed=1, **options):
    options.setdefault("clock", lambda done: NOON + timedelta(minutes=done))
    return simulate(study, workers=workers, accuracy=accuracy, seed=seed, **options)


def study_of(slug="crepe-a", items=30, gold=FALSE_ANSWER, **options):
    study = make_study(slug, **options)
    make_items(study, items, gold=gold)
    return study


def written(study):
    return [(r["item"], r["worker"], r["stage"], r["answer"], r["active_seconds"]) for r in annotation_rows(study)]


def test_the_same_seed_gives_the_same_annotations_by_the_same_people():
    one, two, other = (study_of(slug) for slug in ("one", "two", "other"))
    assert run(one) == run(two, clock=lambda done: timezone.now()) > 60
    run(other, seed=2)
    assert written(one) == written(two) != written(other)


def test_a_crowd_that_is_large_enough_leaves_nothing_open():
    study = study_of(gold=None)
    count = run(study)
    assert Annotation.objects.filter(uncounted="").count() == count
    assert set(study.items.values_list("state", "open_seats")) <= {("settled", 0), ("dropped", 0), ("unresolved", 0)}


@pytest.mark.parametrize("gold", [FALSE_ANSWER, NORMAL_ANSWER, FILTER_ANSWER])
def test_a_crowd_without_fault_answers_the_gold(gold):
    study = study_of(gold=gold, items=5)
    assert run(study, accuracy=1) == 10
    assert list(Annotation.objects.values_list("stage", "answer")) == [("generate", gold)] * 10


def test_a_crowd_that_is_always_wrong_never_answers_the_gold():
    study = study_of(items=20)
    run(study, accuracy=0, stages=["generate"])
    assert FALSE_ANSWER["label"] not in {a["label"] for a in Annotation.objects.values_list("answer", flat=True)}


def test_a_crowd_can_be_kept_to_one_stage():
    study = study_of()
    run(study, stages=["generate"])
    assert Counter(Annotation.objects.values_list("stage", flat=True)) == {"generate": 60}
    assert Item.objects.filter(stage="validate", open_seats=2).exists()


def test_a_limit_stops_the_crowd_after_the_sitting_that_reaches_it():
    assert run(study_of(items_per_sitting=4), limit=10) == 12


def test_what_the_crowd_did_has_times_that_fit_together():
    run(study_of(items=3), workers=2, stages=["generate"])
    rows = Assignment.objects.values_list("sitting__opened_at", "first_opened_at", "active_seconds", "closed_at")
    assert {closed_at for *_, closed_at in rows} == {NOON, NOON + timedelta(minutes=3)}
    for sitting in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == sitting]
        assert [mine[0][1], *(opened + timedelta(seconds=active) for _, opened, active, _ in mine[:-1])] == [
            opened for _, opened, *_ in mine
        ]
        assert all(active > 0 and opened + timedelta(seconds=active) <= closed for _, opened, active, closed in mine)


def test_progress_hears_of_every_sitting():
    heard = []
    run(study_of(items=6, items_per_sitting=3), workers=2, stages=["generate"], progress=heard.append)
    assert heard == [3, 6, 9, 12]


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"accuracy": 1.1}, {"accuracy": float("nan")}])
def test_a_crowd_that_cannot_be_is_refused(wrong):
    with pytest.raises(BadCrowd, match="at least 1 worker, and an accuracy from 0 to 1"):
        run(study_of(), **wrong)
