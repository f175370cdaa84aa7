"""Parts of a study: no sitting mixes them, people stay in theirs, and shares are shares of a part."""

from datetime import UTC, datetime

import pytest

from annotation import leasing, submission
from annotation.elsewhere import import_annotations
from annotation.errors import LimitReached, NothingLeft
from annotation.intake import import_items
from annotation.limits import limits_of
from annotation.models import Enrolment, Item
from annotation.parts import bind
from annotation.queries import places_of
from annotation.reading import BadFile
from tests.claims import hand_in, item, make_claim_study, make_claim_worker, refs, reviewed, take, write, written
from tests.factories import make_items, make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def part_of(code):
    return Enrolment.objects.values_list("part", "taken", "taken_in_part").get(worker__code=code)


def test_items_are_counted_by_their_part_as_they_come():
    study = make_claim_study(splits=["train", "dev", "train"])
    assert (study.part_items, study.work_items) == ({"train": 2, "dev": 1}, 3)
    import_items(study, [item(4, "test"), item(5, "dev"), item(1, "train")], by="test", at=NOON)
    study.refresh_from_db()
    assert (study.part_items, study.work_items) == ({"train": 2, "dev": 2, "test": 1}, 5)
    assert list(Item.objects.values_list("ref", "part")) == [
        ("c1", "train"),
        ("c2", "dev"),
        ("c3", "train"),
        ("c4", "test"),
        ("c5", "dev"),
    ]


def test_the_first_sitting_is_of_the_queues_head_and_binds():
    study = make_claim_study(splits=["dev", "train", "dev", "train", "dev"], items_per_sitting=2)
    ann, ben = make_claim_worker(study, "ann"), make_claim_worker(study, "ben")
    assert refs(take(study, ann)) == ["c1", "c3"]
    assert refs(take(study, ben)) == ["c2", "c4"]
    assert [part_of(code) for code in ("ann", "ben")] == [("dev", 2, 2), ("train", 2, 2)]


def test_who_is_bound_gets_the_rest_of_their_part_and_then_nothing():
    study = make_claim_study(splits=["dev", "train", "dev", "train"], items_per_sitting=1)
    ann = make_claim_worker(study, "ann")
    assert [refs(write(study, ann)), refs(write(study, ann))] == [["c1"], ["c3"]]
    with pytest.raises(NothingLeft):
        take(study, ann)
    assert Item.objects.filter(open_seats=1, part="train", stage="write").count() == 2


def test_a_part_stays_also_when_the_sitting_is_given_back():
    study = make_claim_study(splits=["dev", "train", "dev"])
    ann = make_claim_worker(study, "ann")
    leasing.give_back(take(study, ann), at=NOON)
    assert part_of("ann") == ("dev", 0, 0)
    assert refs(take(study, ann)) == ["c3"]


def test_reviewing_binds_nobody_but_no_sitting_mixes_parts():
    study = make_claim_study(splits=["dev", "train", "dev"], items_per_sitting=3)
    write(study, make_claim_worker(study, "ann"))
    write(study, make_claim_worker(study, "ben"))
    eva = make_claim_worker(study, "eva")
    first = take(study, eva, "review")
    assert refs(first) == ["c1", "c3"]
    hand_in(first, reviewed(), reviewed())
    assert refs(take(study, eva, "review")) == ["c2"]
    assert part_of("eva") == ("", 3, 0)


def test_flipping_claims_binds_as_writing_them_does():
    study = make_claim_study(splits=["dev", "train"], contrast_share=1, reviewed_splits="")
    write(study, make_claim_worker(study, "ann"))
    write(study, make_claim_worker(study, "ben"))
    eva = make_claim_worker(study, "eva")
    assert refs(take(study, eva, "contrast")) == ["c1"]
    assert part_of("eva") == ("dev", 1, 1)


def test_a_part_once_set_is_not_set_again():
    study = make_claim_study()
    make_claim_worker(study, "ann")
    stale, enrolment = Enrolment.objects.get(), Enrolment.objects.get()
    assert (bind(enrolment, "dev"), bind(enrolment, "dev"), bind(enrolment, "train")) == (True, True, False)
    assert (bind(stale, "train"), stale.part) == (False, "dev")


# --- Shares ---------------------------------------------------------------------------------------
def test_a_share_is_of_the_parts_items_and_of_what_is_written():
    study = make_claim_study(splits=["dev"] * 10 + ["train"] * 4, items_per_sitting=9, max_share=0.3)
    ann = make_claim_worker(study, "ann")
    assert refs(write(study, ann)) == ["c1", "c2", "c3"]
    with pytest.raises(LimitReached):
        take(study, ann)
    hand_in(take(study, make_claim_worker(study, "eva"), "review"), reviewed(), reviewed(), reviewed())
    assert refs(write(study, make_claim_worker(study, "ben"))) == ["c4", "c5", "c6"]
    ann_reviews = take(study, ann, "review")
    assert refs(ann_reviews) == ["c4", "c5", "c6"]  # reading again has no such limit
    assert [(limit.words, limit.violations) for limit in limits_of(study)] == [
        ("at most 30% of a part’s items for one person", 0)
    ]
    Enrolment.objects.filter(worker=ann).update(taken_in_part=4)
    assert [limit.violations for limit in limits_of(study)] == [1]


def test_where_a_share_comes_to_less_than_an_item_everybody_may_do_one():
    study = make_claim_study(splits=["dev"] * 3, max_share=0.07)
    ann, bob = (make_claim_worker(study, code) for code in ("ann", "bob"))
    for worker in (ann, bob):
        assert len(refs(write(study, worker))) == 1
        with pytest.raises(LimitReached):
            take(study, worker)
    assert [limit.violations for limit in limits_of(study)] == [0]


def test_the_page_says_how_much_of_their_part_somebody_may_still_do():
    study = make_claim_study(splits=["dev"] * 4 + ["train"] * 8, items_per_sitting=1, max_share=0.5)
    ann = make_claim_worker(study, "ann", ["write"])
    shown = []
    for _ in range(3):
        (place,) = places_of(ann)
        shown.append((place.left, place.is_free, place.is_done_up))
        if not place.is_done_up:
            write(study, ann)
    assert shown == [(None, True, False), (1, True, False), (0, True, True)]


def test_nothing_is_free_for_somebody_whose_part_is_done():
    study = make_claim_study(splits=["dev", "train"])
    ann = make_claim_worker(study, "ann", ["write"])
    write(study, ann)
    assert [place.is_free for place in places_of(ann)] == [False]


def test_a_study_without_parts_binds_nobody():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    leasing.lease(make_worker(study, "ann"), study, "generate", at=NOON)
    assert part_of("ann") == ("", 2, 0)


# --- From elsewhere ---------------------------------------------------------------------------------
def row(number, worker, **more):
    return {"item": f"c{number}", "worker": worker, "stage": "write", "answer": written(number), **more}


def test_a_file_binds_people_and_refuses_one_worker_in_two_parts_by_name():
    study = make_claim_study(splits=["dev", "train", "dev"])
    import_annotations(study, [row(1, "ann"), row(3, "ann")], by="test", at=NOON)
    assert part_of("creak:ann") == ("dev", 2, 2)
    with pytest.raises(BadFile) as refusal:
        import_annotations(study, [row(2, "ann")], by="test", at=NOON)
    assert refusal.value.sentence == (
        "Nothing was kept, because of 1 bad line: line 1: the worker 'ann' belongs to 'dev', "
        "and the item 'c2' to 'train'."
    )


def test_one_file_cannot_put_somebody_into_two_parts_either():
    study = make_claim_study(splits=["dev", "train"])
    counts = import_annotations(study, [row(1, "ann"), row(2, "ann")], skip_bad=True, by="test", at=NOON)
    assert counts.as_dict() == {"created": 1, "unchanged": 0, "bad": 1}
    assert list(study.annotations.values_list("item__ref", flat=True)) == ["c1"]


def test_who_was_bound_by_a_file_goes_on_in_that_part():
    study = make_claim_study(splits=["dev", "train", "train"])
    import_annotations(study, [row(2, "ann")], by="test", at=NOON)
    worker = Enrolment.objects.get().worker
    assert refs(take(study, worker)) == ["c3"]


def test_what_comes_late_counts_for_the_share_of_the_part():
    study = make_claim_study(splits=["dev"] * 4, items_per_sitting=2, lease_minutes=1)
    ann = make_claim_worker(study, "ann")
    sitting = take(study, ann, at=NOON)
    leasing.expire(at=NOON.replace(hour=13))
    assert part_of("ann") == ("dev", 0, 0)
    submission.submit(sitting, {a.pk: written(int(a.item.ref[1:])) for a in sitting.bundle}, at=NOON.replace(hour=14))
    assert part_of("ann") == ("dev", 2, 2)
