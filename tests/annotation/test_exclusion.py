"""Finished work taken out of the count, and let in again: only what is missing is collected anew."""

from datetime import UTC, datetime

import pytest
from django.db.models import Count

from annotation import exclusion, leasing, submission
from annotation.errors import NothingLeft
from annotation.models import Annotation, Assignment, Event, Item
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from validation.models import Resolution, Tally

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 3, 12, tzinfo=UTC)


def answer(study, code, given, stage="generate"):
    """What `code` writes to the next sitting's items."""
    sitting = leasing.lease(make_worker(study, code), study, stage, at=NOON)[0]
    return submission.submit(sitting, {a.pk: given for a in sitting.bundle}, at=NOON)


def exclude(study, rows, to="excluded"):
    effect = exclusion.set_aside(study, [r.pk for r in rows], to, by="user:eva", why="Guessing.", at=LATER)
    return effect.annotations, effect.items, effect.seats


def place(ref="q1"):
    return Item.objects.values_list("state", "stage", "votes_wanted", "open_seats").get(ref=ref)


@pytest.fixture
def study():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    return study


def test_an_excluded_answer_opens_its_seat_and_the_gold_goes(study):
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", NORMAL_ANSWER)
    assert (place(), Resolution.objects.count()) == (("settled", "", 0, 0), 2)
    assert exclude(study, bad) == (2, 2, 2)
    assert (place(), Resolution.objects.count()) == (("open", "generate", 2, 1), 0)
    assert set(Tally.objects.values_list("profile", flat=True)) == {"0,1,0"}
    assert set(Annotation.objects.filter(worker__code="ann").values_list("upheld", flat=True)) == {None}
    told = Event.objects.filter(what="excluded").values_list("actor", "worker__code", "why")
    assert list(told) == [("user:eva", "ben", "Guessing.")] * 2


def test_doing_it_again_changes_nothing(study):
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", NORMAL_ANSWER)
    exclude(study, bad)
    events = Event.objects.count()
    assert (exclude(study, bad), Event.objects.count()) == ((0, 0, 0), events)


def test_the_missing_seat_goes_to_somebody_who_has_not_met_the_item(study):
    answer(study, "ann", NORMAL_ANSWER)
    exclude(study, answer(study, "ben", FALSE_ANSWER))
    for code in ("ann", "ben"):
        with pytest.raises(NothingLeft):
            answer(study, code, NORMAL_ANSWER)
    answer(study, "cat", NORMAL_ANSWER)
    assert place() == ("settled", "", 0, 0)
    counted = Annotation.objects.filter(uncounted="").values("item").annotate(n=Count("pk"))
    assert {row["n"] for row in counted} == {2}


def test_held_work_neither_counts_nor_is_collected_again(study):
    answer(study, "ann", NORMAL_ANSWER)
    doubted = answer(study, "ben", NORMAL_ANSWER)
    assert exclude(study, doubted, "held") == (2, 2, 0)
    assert (place(), Resolution.objects.count()) == (("open", "generate", 2, 0), 0)
    effect = exclusion.reinstate(study, [r.pk for r in doubted], by="user:eva", why="It was fine.", at=LATER)
    assert (effect.annotations, place(), Resolution.objects.count()) == (2, ("settled", "", 0, 0), 2)


def test_held_work_can_be_excluded_later(study):
    answer(study, "ann", NORMAL_ANSWER)
    doubted = answer(study, "ben", NORMAL_ANSWER)
    exclude(study, doubted, "held")
    assert (exclude(study, doubted), place()) == ((2, 2, 2), ("open", "generate", 2, 1))


def test_excluded_work_counts_again_where_its_seat_is_still_free(study):
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", NORMAL_ANSWER)
    exclude(study, bad)
    study.options["items_per_sitting"] = 1
    study.save(update_fields=["options"])
    answer(study, "cat", NORMAL_ANSWER)  # takes q1's seat
    effect = exclusion.reinstate(study, [r.pk for r in bad], by="user:eva", why="Sorry.", at=LATER)
    assert (effect.annotations, place("q1"), place("q2")) == (1, ("settled", "", 0, 0), ("settled", "", 0, 0))
    assert dict(Annotation.objects.filter(worker__code="ben").values_list("item__ref", "uncounted")) == {
        "q1": "excluded",
        "q2": "",
    }


def test_verdicts_about_an_excluded_answer_are_obsolete_and_others_are_asked_about_the_new_one(study):
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", FALSE_ANSWER)
    answer(study, "cat", {"valid": "A"}, "validate")
    assert place() == ("open", "validate", 2, 1)
    exclude(study, bad)
    assert place() == ("open", "generate", 2, 1)
    assert set(Annotation.objects.filter(stage="validate").values_list("uncounted", flat=True)) == {"obsolete"}
    answer(study, "dan", FALSE_ANSWER)
    assert place() == ("open", "validate", 2, 2)
    for code in ("eve", "fay"):
        answer(study, code, {"valid": "B"}, "validate")
    assert place() == ("settled", "", 0, 0)


def test_a_verdict_handed_in_after_its_answer_was_excluded_is_kept_and_holds_no_seat(study):
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", FALSE_ANSWER)
    sitting = leasing.lease(make_worker(study, "cat"), study, "validate", at=NOON)[0]
    exclude(study, bad)
    rows = submission.submit(sitting, {a.pk: {"valid": "A"} for a in sitting.bundle}, at=LATER)
    assert {row.uncounted for row in rows} == {"obsolete"}
    assert not Assignment.objects.filter(stage="validate", seat__isnull=False).exists()
    answer(study, "dan", FALSE_ANSWER)
    assert place() == ("open", "validate", 2, 2)


def test_gold_that_changes_without_the_item_being_reopened_is_written_anew():
    study = make_study(items_per_sitting=1, adjudication="third_annotator")
    make_items(study, 1)
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", FALSE_ANSWER)
    answer(study, "cat", FALSE_ANSWER)
    assert Resolution.objects.get().label == "false presupposition"
    exclude(study, bad)  # ann and cat differ now: a third is asked again
    assert place() == ("open", "generate", 3, 1)
    answer(study, "dan", NORMAL_ANSWER)
    assert (place(), Resolution.objects.get().label) == (("settled", "", 0, 0), "normal")


def test_work_is_excluded_in_steps_and_a_second_call_finishes_what_was_cut_off(study, monkeypatch):
    monkeypatch.setattr(exclusion, "CHUNK", 1)
    answer(study, "ann", NORMAL_ANSWER)
    bad = answer(study, "ben", NORMAL_ANSWER)

    def cut_off(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exclusion.set_aside(study, [r.pk for r in bad], "excluded", by="x", why="y", at=LATER, progress=cut_off)
    assert sorted(Annotation.objects.filter(worker__code="ben").values_list("uncounted", flat=True)) == ["", "excluded"]
    assert exclude(study, bad) == (1, 1, 1)
