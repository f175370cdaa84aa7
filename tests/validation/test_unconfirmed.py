"""What nobody has confirmed yet is in no number: no score, no threshold, no agreement, no limit; exports say so."""

from datetime import timedelta

import pytest

from annotation import leasing, limits, revocation, submission
from annotation.models import Enrolment, Item
from tests.factories import FALSE_ANSWER, LONG_AGO, NORMAL_ANSWER, make_items, make_study, make_worker
from tests.people import answer
from tests.slider import make_fillers, make_pairs, make_slider_study
from validation import exports, labelling, quality, recollection
from validation.evidence import evidence_of
from validation.models import Score, Threshold, Writing
from validation.queries import agreement_of
from validation.reports import work

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def claim(study, code, given, stage="generate", at=LONG_AGO):
    """A sitting that somebody submitted in the name of `code`, with the same answer to everything."""
    sitting = leasing.lease(make_worker(study, code, stages=[stage]), study, stage, at=at)[0]
    submission.submit(sitting, {a.pk: given for a in sitting.bundle}, at=at, confirmed=False)
    return sitting


@pytest.fixture
def study():
    """Work, gold and a filler in every sitting."""
    study = make_study(items_per_sitting=2, gold_rate=0.5, fillers_per_sitting=1, pay_per_sitting=1.0)
    make_items(study, 4)
    make_items(study, 2, role="gold", prefix="g", gold=NORMAL_ANSWER)
    make_items(study, 2, role="filler", prefix="f", gold=FALSE_ANSWER)
    return study


def scores(study, at):
    quality.refresh(study, at=at)
    return [
        (s.annotations, s.counted, s.gold, s.fillers, s.labels)
        for s in Score.objects.filter(study=study).order_by("pk")
    ]


def test_scores_know_of_an_answer_and_of_its_writings_once_it_is_confirmed(study):
    sitting = claim(study, "ann", FALSE_ANSWER)
    assert (scores(study, LONG_AGO + HOUR), Writing.objects.count()) == ([], 0)
    answer(study, "ben", *[NORMAL_ANSWER] * 4)
    assert len(scores(study, LONG_AGO + HOUR)) == 1  # so that the next time only looks at what is new
    submission.confirm(sitting, at=LONG_AGO + 5 * HOUR)
    assert scores(study, LONG_AGO + 5 * HOUR)[1] == (2, 2, 1, 1, {"false presupposition": 2})
    assert Writing.objects.filter(annotation__worker__code="ann").count() == 2 * 4


def test_late_answers_are_scored_once_they_are_confirmed():
    study = make_study(items_per_sitting=1)
    make_items(study, 1)
    late = leasing.lease(make_worker(study, "ann"), study, "generate", at=LONG_AGO)[0]
    leasing.expire(at=LONG_AGO + 2 * HOUR)
    for code in ("ben", "cat"):
        sitting = leasing.lease(make_worker(study, code), study, "generate", at=LONG_AGO + 2 * HOUR)[0]
        submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=LONG_AGO + 2 * HOUR)
    submission.submit(late, {a.pk: NORMAL_ANSWER for a in late.bundle}, at=LONG_AGO + 3 * HOUR, confirmed=False)
    assert len(scores(study, LONG_AGO + 4 * HOUR)) == 2
    assert submission.confirm(late, at=LONG_AGO + 5 * HOUR) == 0
    assert scores(study, LONG_AGO + 5 * HOUR)[2] == (1, 0, 0, 0, {"normal": 1})


def test_nothing_follows_from_unconfirmed_fillers_and_ratings():
    study = make_slider_study(items_per_sitting=2, fillers_per_sitting=6, max_share=0)
    make_pairs(study, 1)
    make_fillers(study)
    sitting = claim(study, "ann", {"position": 500}, "rate")
    rule = study.protocol.labelling
    assert (labelling.fillers_of(study, rule).workers, labelling.raters(study, rule)) == ((), [])
    labelling.refresh(study, at=LONG_AGO)
    assert not Threshold.objects.exists()
    submission.confirm(sitting, at=LONG_AGO + HOUR)
    labelling.refresh(study, at=LONG_AGO + HOUR)
    assert [t.fillers for t in Threshold.objects.all()] == [6]


def test_agreement_pay_and_shares_leave_it_out(study):
    claim(study, "ann", NORMAL_ANSWER)
    found = agreement_of(study, "generate", "label")
    assert (found.items, found.annotations, found.workers) == (0, 0, 0)
    assert (work.shares(study), work.pay(study)["sittings"]) == ([], {})


def test_whoever_has_only_unconfirmed_fillers_right_gets_nothing_that_is_collected_again():
    study = make_study(items_per_sitting=1, fillers_per_sitting=1, recollect_above_accuracy=0.5)
    make_items(study, 2)
    make_items(study, 1, role="filler", prefix="f", gold=NORMAL_ANSWER)
    sitting = claim(study, "ann", NORMAL_ANSWER)
    Item.objects.filter(ref="q2").update(recollected=True)
    ann = Enrolment.objects.get(worker__code="ann")

    def allowed():
        return set(limits.allowed(Item.objects.filter(ref="q2"), ann, study).values_list("ref", flat=True))

    assert allowed() == set()
    submission.confirm(sitting, at=LONG_AGO + HOUR)
    assert allowed() == {"q2"}


def test_exports_say_that_it_does_not_count_and_keep_hidden_items_here(study):
    claim(study, "ann", NORMAL_ANSWER)
    rows = list(exports.annotation_rows(study))
    assert [(row["item"], row["counted"], row["why"]) for row in rows] == [
        ("q1", False, "unconfirmed"),
        ("q2", False, "unconfirmed"),
    ]
    assert exports.count_annotations(study) == 2


def test_the_card_of_an_item_says_so_and_then_when_it_was_confirmed(study):
    sitting = claim(study, "ann", NORMAL_ANSWER)
    titles = [m.title for m in evidence_of(study, Item.objects.get(ref="q1")).moments]
    assert titles == ["Imported", "Leased", "Written, not counted: unconfirmed"]
    submission.confirm(sitting, at=LONG_AGO + HOUR)
    titles = [m.title for m in evidence_of(study, Item.objects.get(ref="q1")).moments]
    assert titles == ["Imported", "Leased", "Written (A)", "Confirmed"]


@pytest.mark.parametrize("choice", ["hold", "exclude"])
def test_a_preview_of_revoking_says_what_becomes_of_unconfirmed_work(study, choice):
    answer(study, "ben", *[NORMAL_ANSWER] * 4)
    claim(study, "ann", NORMAL_ANSWER)
    ann = Enrolment.objects.select_related("study", "worker").get(worker__code="ann")
    preview = recollection.preview(study, [ann], choice)
    by = {"by": "user:eva", "at": LONG_AGO + HOUR}
    effect = revocation.apply_work(revocation.revoke(ann, why="Guessing.", work=choice, **by), **by)
    assert (
        (preview.annotations, preview.seats)
        == (effect.annotations, effect.seats)
        == {
            "hold": (0, 0),
            "exclude": (2, 2),
        }[choice]
    )
