"""Claims when people click at the same moment: one wording, one part; on real threads."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from annotation import leasing, submission
from annotation.elsewhere import import_annotations
from annotation.errors import Invalid, NothingLeft
from annotation.models import Annotation, Assignment, Enrolment, Sitting, Wording
from annotation.wordings import THERE
from tests.claims import claim, make_claim_study, make_claim_worker, refs, take, written
from tests.concurrency.crowd import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
SAME = "Towers stand in cities."


def with_same(number, *labels):
    """An answer whose claims under these labels are the same for everybody."""
    answer = written(number)
    return answer | {label: claim(f"{SAME} {label}", mention="Towers") for label in labels}


def submit(sitting, *labels):
    mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
    answers = {a.pk: with_same(int(a.item.ref[1:]), *labels) for a in mine.bundle}
    return submission.submit(mine, answers, at=NOON)


@pytest.mark.parametrize("attempt", range(3))
def test_of_many_who_hand_in_one_wording_at_once_one_is_taken_and_the_others_are_told(attempt):
    study = make_claim_study(splits=["train"] * 6)
    sittings = [take(study, make_claim_worker(study, f"w{n}")) for n in range(6)]
    results = at_once(sittings, lambda sitting: submit(sitting, "true"))
    assert Counter(type(result) for result in results) == {list: 1, Invalid: 5}
    said = [said for result in results if isinstance(result, Invalid) for said in result.problems.values()]
    assert said == [{"true.claim": [THERE]}] * 5
    assert Wording.objects.filter(text=f"{SAME} true", is_repeat=False).count() == 1
    assert (Annotation.objects.count(), Sitting.objects.filter(state="leased").count()) == (1, 5)


@pytest.mark.parametrize("attempt", range(3))
def test_sittings_that_share_several_wordings_in_either_order_do_not_lock_each_other_out(attempt):
    study = make_claim_study(splits=["train"] * 4)
    sittings = [take(study, make_claim_worker(study, f"w{n}")) for n in range(4)]
    order = [("true", "false"), ("false", "true")] * 2
    results = at_once(list(zip(sittings, order, strict=True)), lambda pair: submit(pair[0], *pair[1]))
    assert Counter(type(result) for result in results) == {list: 1, Invalid: 3}
    assert Wording.objects.count() == 2


@pytest.mark.parametrize("attempt", range(3))
def test_one_worker_in_many_tabs_is_bound_to_one_part(attempt):
    study = make_claim_study(splits=["dev", "train"] * 6, contrast_share=1, reviewed_splits="", items_per_sitting=1)
    ann = make_claim_worker(study, "ann")
    results = at_once(["write"] * 4 + ["contrast"] * 2, lambda stage: lease(ann, study, stage))
    taken = [result for result in results if isinstance(result, list)]
    assert {tuple(each) for each in taken} == {("c1",)}
    assert Enrolment.objects.values_list("part", "taken_in_part").get() == ("dev", 1)


def lease(worker, study, stage):
    return refs(leasing.lease(worker, study, stage, at=NOON)[0])


@pytest.mark.parametrize("attempt", range(3))
def test_a_crowd_that_begins_at_once_ends_in_one_part_each(attempt):
    study = make_claim_study(splits=["dev", "train", "test"] * 12, items_per_sitting=2)
    crowd = [make_claim_worker(study, f"w{n}") for n in range(8)]  # so many items that everybody finds a beginning

    def live(worker):
        for _ in range(2):
            try:
                sitting = leasing.lease(worker, study, "write", at=NOON)[0]
            except NothingLeft:  # in their part
                return
            submission.submit(sitting, {a.pk: written(int(a.item.ref[1:])) for a in sitting.bundle}, at=NOON)

    assert [result for result in at_once(crowd, live) if result is not None] == []
    parts = {}
    for worker, part in Assignment.objects.values_list("worker", "item__part"):
        parts.setdefault(worker, set()).add(part)
    bound = dict(Enrolment.objects.values_list("worker", "part"))
    assert parts == {worker: {part} for worker, part in bound.items()}
    assert len(parts) == 8


@pytest.mark.parametrize("attempt", range(4))
def test_a_file_and_a_lease_that_meet_bind_to_one_part(attempt):
    """The file speaks of train, the queue's head is dev: whoever comes first decides, and the other keeps to it."""
    study = make_claim_study(splits=["dev", "train", "train"])
    ann = make_claim_worker(study, "ann")
    row = {"item": "c2", "worker": "ann", "stage": "write", "answer": written(2)}

    def act(what):
        if what == "lease":
            return lease(ann, study, "write")
        return import_annotations(study, [row], skip_bad=True, by="test", at=NOON).as_dict()["created"]

    leased, created = at_once(["lease", "file"], act)
    part = Enrolment.objects.values_list("part", flat=True).get()
    expected = {"train": (["c3"], 1), "dev": (["c1"], 0)}
    assert (leased, created) == expected[part]
    assert {p for (p,) in Assignment.objects.values_list("item__part")} == {part}
