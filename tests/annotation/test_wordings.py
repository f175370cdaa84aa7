"""What a study wants once: said while typing, refused when handed in, freed with the answer it is in."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation import exclusion, links, submission
from annotation.elsewhere import import_annotations
from annotation.errors import Invalid
from annotation.models import Annotation, Event, Wording
from annotation.wordings import THERE, TWICE
from tests.claims import (
    claim,
    hand_in,
    make_claim_study,
    make_claim_worker,
    reviewed,
    take,
    write,
    written,
)

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
AGAIN = "  paris 1  LIES on a river"


def texts(**which):
    return list(Wording.objects.filter(**which).values_list("item__ref", "field", "is_repeat"))


def copying(number, text=AGAIN):
    """An answer about the item's first entity whose false claim is somebody else's; it names both."""
    return written(number) | {"false": claim(f"{text}", mention=text.strip())}


def refused(sitting, *answers):
    with pytest.raises(Invalid) as refusal:
        hand_in(sitting, *answers)
    return {
        sitting.bundle.index(next(a for a in sitting.bundle if a.pk == pk)): said
        for pk, said in refusal.value.problems.items()
    }


def test_every_claim_that_is_handed_in_has_its_row():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    rows = Wording.objects.values_list("stage", "field", "text", "label", "about", "worker__code", "is_repeat")
    assert set(rows) == {
        ("write", "true.claim", "Paris 1 lies on a river.", "true", "Paris 1", "ann", False),
        ("write", "false.claim", "Snow covers Paris 1 in every summer month.", "false", "Paris 1", "ann", False),
    }


def test_the_wording_of_somebody_else_is_refused_whatever_its_case_blanks_and_end():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    sitting = take(study, make_claim_worker(study, "ben"))
    assert refused(sitting, copying(2)) == {0: {"false.claim": [THERE]}}
    assert Annotation.objects.count() == 1
    hand_in(sitting, written(2))
    assert Annotation.objects.count() == 2


def test_one_wording_twice_in_a_sitting_is_refused_at_the_later_item():
    study = make_claim_study(items_per_sitting=2)
    sitting = take(study, make_claim_worker(study, "ann"))
    assert refused(sitting, written(1), copying(2)) == {1: {"false.claim": [TWICE]}}


def test_another_study_may_have_the_same_wording():
    for slug in ("one", "two"):
        study = make_claim_study(slug)
        write(study, make_claim_worker(study, f"ann-{slug}"))
    assert Wording.objects.count() == 4


def test_the_database_itself_refuses_a_second_one():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    write(study, make_claim_worker(study, "ben"))
    first, second = Wording.objects.filter(field="true.claim").order_by("pk")
    with pytest.raises(IntegrityError), transaction.atomic():
        Wording.objects.filter(pk=second.pk).update(digest=first.digest)


# --- While typing ---------------------------------------------------------------------------------
def said_while_typing(client, sitting, number, **fields):
    token = links.sign(sitting.worker, links.LINK, at=NOON)
    url = reverse("annotation:draft", args=[token, sitting.pk, number])
    return [(p["field"], p["text"], p["blocking"]) for p in client.post(url, fields).json()["problems"]]


def test_a_wording_is_looked_up_while_it_is_typed(client):
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    sitting = take(study, make_claim_worker(study, "ben"))
    fields = {"entity": "Paris 2", "true.claim": AGAIN, "true.mention": "paris 1"}
    assert said_while_typing(client, sitting, 1, **fields) == [("true.claim", THERE, True)]


def test_the_other_items_of_the_sitting_are_looked_at_too(client):
    study = make_claim_study(items_per_sitting=2)
    sitting = take(study, make_claim_worker(study, "ann"))
    assert said_while_typing(client, sitting, 1, entity="Paris 1", **{"true.claim": "Paris 1 has a bridge."}) == []
    same = {"true.claim": "Paris 1 has a bridge", "true.mention": "Paris 1"}
    assert said_while_typing(client, sitting, 2, entity="Paris 2", **same) == [("true.claim", TWICE, True)]
    near = {"true.claim": "Paris 1 has a bridge now", "true.mention": "Paris 1"}
    assert said_while_typing(client, sitting, 2, entity="Paris 2", **near) == [
        ("true.claim", "This is much like your own “Paris 1 has a bridge.”.", False)
    ]


def test_only_ones_own_near_duplicates_are_warned_of(client):
    study = make_claim_study()
    ann, ben = make_claim_worker(study, "ann"), make_claim_worker(study, "ben")
    write(study, ann)
    near = {"true.claim": "Paris 1 lies on a long river.", "true.mention": "Paris 1"}
    assert said_while_typing(client, take(study, ben), 1, entity="Paris 2", **near) == []
    assert said_while_typing(client, take(study, ann), 1, entity="Paris 3", **near) == [
        ("true.claim", "This is much like your own “Paris 1 lies on a river.”.", False)
    ]


# --- Edits and contrasts ----------------------------------------------------------------------------
def test_an_edit_that_changes_a_capital_is_no_second_wording():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    edit = {"decision": "edit", "claim": "Paris 1 Lies on a river."}
    hand_in(take(study, make_claim_worker(study, "eva"), "review"), reviewed(edit))
    assert texts(stage="review") == [("c1", "true.claim", True)]


def test_an_edit_into_somebody_elses_wording_is_refused():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    hand_in(take(study, make_claim_worker(study, "ben")), written(2, true="Paris 2 meets Paris 3 on a hill."))
    hand_in(take(study, make_claim_worker(study, "cat")), written(3, true="Paris 2 meets Paris 3 on hills."))
    eva = make_claim_worker(study, "eva")
    hand_in(take(study, eva, "review"), reviewed())
    sitting = take(study, eva, "review")
    edit = {"decision": "edit", "claim": "Paris 2 meets Paris 3 on hills."}
    assert refused(sitting, reviewed(edit)) == {0: {"true.claim": [THERE]}}
    hand_in(sitting, reviewed(edit | {"claim": "Paris 2 meets Paris 3 on that hill."}))
    assert texts(stage="review") == [("c2", "true.claim", False)]


# --- What does not count ----------------------------------------------------------------------------
def test_an_excluded_answer_frees_its_wordings_and_comes_back_only_while_they_are_free():
    study = make_claim_study(splits=["train"] * 3)
    write(study, make_claim_worker(study, "ann"))
    mine = Annotation.objects.get()
    by = {"by": "user:eva", "why": "Guessing.", "at": NOON}
    exclusion.set_aside(study, [mine.pk], "excluded", **by)
    assert texts() == []
    exclusion.reinstate(study, [mine.pk], **by)
    assert len(texts()) == 2
    exclusion.set_aside(study, [mine.pk], "excluded", **by)
    hand_in(take(study, make_claim_worker(study, "ben")), copying(2))
    exclusion.reinstate(study, [mine.pk], **by)
    mine.refresh_from_db()
    assert (mine.uncounted, sorted(texts())) == (
        "excluded",
        [("c2", "false.claim", False), ("c2", "true.claim", False)],
    )


def test_held_work_keeps_its_wordings_and_withdrawn_work_loses_them():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    by = {"by": "user:eva", "why": "Looking.", "at": NOON}
    kept = []
    for to in ("held", "withdrawn"):
        exclusion.set_aside(study, [Annotation.objects.get().pk], to, **by)
        kept.append(len(texts()))
    assert kept == [2, 0]


def test_an_answer_that_came_too_late_holds_no_wording():
    study = make_claim_study(splits=["train"], lease_minutes=1)
    ann, ben = make_claim_worker(study, "ann"), make_claim_worker(study, "ben")
    late = take(study, ann, at=NOON)
    write(study, ben, at=NOON.replace(hour=13))
    hand_in(late, written(1, true="Paris 1 has bridges."), at=NOON.replace(hour=14))
    assert Annotation.objects.get(worker=ann).uncounted == "late"
    assert texts(worker=ann) == []


def test_unconfirmed_work_holds_its_wordings_until_it_is_known_whose_it_is():
    study = make_claim_study()
    ann = make_claim_worker(study, "ann")
    sitting = take(study, ann)
    answers = {a.pk: written(1) for a in sitting.bundle}
    submission.submit(sitting, answers, at=NOON, confirmed=False)
    assert len(texts()) == 2
    submission.confirm(sitting, at=NOON)
    assert len(texts()) == 2


# --- From a file --------------------------------------------------------------------------------------
def row(number, worker, answer):
    return {"item": f"c{number}", "worker": worker, "stage": "write", "answer": answer}


def test_a_file_may_repeat_a_wording_as_published_data_do_and_it_is_counted_and_told():
    study = make_claim_study()
    rows = [row(1, "ann", written(1)), row(2, "ben", copying(2)), row(3, "cat", written(3))]
    counts = import_annotations(study, rows, by="test", at=NOON)
    assert counts.as_dict() == {"created": 3, "unchanged": 0, "bad": 0, "repeated": 1}
    assert texts(is_repeat=True) == [("c2", "false.claim", True)]
    assert list(Annotation.objects.values_list("uncounted", flat=True)) == ["", "", ""]
    said = Event.objects.get(what="submitted", item__ref="c2").why
    assert said == "Made elsewhere. The study has one of its texts already."


def test_a_repeat_takes_the_place_of_the_first_when_that_is_excluded():
    study = make_claim_study()
    import_annotations(study, [row(1, "ann", written(1)), row(2, "ben", copying(2))], by="test", at=NOON)
    first = Annotation.objects.get(item__ref="c1")
    exclusion.set_aside(study, [first.pk], "excluded", by="user:eva", why="Guessing.", at=NOON)
    assert sorted(texts()) == [("c2", "false.claim", False), ("c2", "true.claim", False)]
    sitting = take(study, make_claim_worker(study, "eve"))
    assert refused(sitting, copying(3)) == {0: {"false.claim": [THERE]}}
