"""Gold and fillers among the work: they look alike, are scored, and are never collected."""

from datetime import UTC, datetime

import pytest

from annotation import leasing, submission
from annotation.models import Annotation, Item
from tests.annotation.program import Program
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def study_with(**options):
    study = make_study(items_per_sitting=4, **options)
    make_items(study, 12)
    make_items(study, 6, role="gold", prefix="g", gold=NORMAL_ANSWER)
    make_items(study, 3, role="filler", prefix="f", gold=FALSE_ANSWER)
    return study


def take(study, worker, stage="generate"):
    return leasing.lease(worker, study, stage, at=NOON)[0]


def roles(sitting):
    return [assignment.role for assignment in sitting.bundle]


def test_nothing_is_hidden_unless_the_study_says_so():
    study = study_with()
    assert set(roles(take(study, make_worker(study)))) == {"work"}


def test_hidden_items_come_at_the_set_rate_at_places_of_their_own_and_the_work_keeps_its_order():
    study = study_with(gold_rate=0.5, fillers_per_sitting=1)
    places = set()
    for n in range(2):
        sitting = take(study, make_worker(study, f"w{n}"))
        assert sorted(roles(sitting)) == ["filler", "gold", "gold", "work", "work", "work", "work"]
        assert [a.item.ref for a in sitting.bundle if a.role == "work"] == ["q1", "q2", "q3", "q4"]
        assert [a.pk for a in sitting.bundle] == sorted(a.pk for a in sitting.bundle)
        places.add(tuple(roles(sitting)))
    assert len(places) == 2


def test_nobody_meets_a_hidden_item_twice_and_it_holds_no_seat():
    study = study_with(gold_rate=1.0)
    ann = make_worker(study)
    met = []
    for _ in range(3):
        sitting = take(study, ann)
        met += [a.item.ref for a in sitting.bundle if a.role == "gold"]
        submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    assert (len(met), len(set(met))) == (6, 6)
    assert set(Item.objects.filter(role="gold").values_list("open_seats", "state")) == {(0, "open")}


def test_answers_to_hidden_items_are_scored_and_do_not_count():
    study = study_with(gold_rate=0.5, fillers_per_sitting=1)
    ann = make_worker(study)
    sitting = take(study, ann)
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    scored = Annotation.objects.exclude(uncounted="").order_by("uncounted", "pk").values_list("uncounted", "is_right")
    assert list(scored) == [("filler", False), ("gold", True), ("gold", True)]
    assert set(Annotation.objects.filter(uncounted="").values_list("is_right", flat=True)) == {None}


def test_hidden_items_lapse_and_come_back_with_the_sitting():
    study = study_with(gold_rate=0.25, lease_minutes=1)
    ann = make_worker(study)
    first = take(study, ann)
    leasing.expire(at=NOON.replace(hour=13))
    again = leasing.lease(ann, study, "generate", at=NOON.replace(hour=14))[0]
    assert (again, roles(again), {a.state for a in again.bundle}) == (first, roles(first), {"leased"})


def test_a_known_answer_is_one_of_the_first_stage_so_only_there_something_is_hidden():
    study = study_with(gold_rate=1.0, fillers_per_sitting=1)
    Item.objects.filter(role="work").update(stage="validate")
    assert set(roles(take(study, make_worker(study), "validate"))) == {"work"}


def test_a_program_is_not_told_which_items_were_hidden():
    study = study_with(gold_rate=0.5, fillers_per_sitting=1)
    ann = Program(make_worker(study))
    _, done = ann.submit(ann.lease(study.slug), NORMAL_ANSWER)
    assert [(a["counted"], a["why"]) for a in done["annotations"]] == [(True, "")] * 7
