"""Scores of workers, counted from the rows; rules that propose or act on them."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation import exclusion, leasing, submission
from annotation.models import Annotation, Enrolment, Event, Revocation
from tests.claims import hand_in, make_claim_study, make_claim_worker, refs, reviewed, take, written
from tests.factories import (
    FALSE_ANSWER,
    FILTER_ANSWER,
    LONG_AGO,
    NORMAL_ANSWER,
    make_items,
    make_study,
    make_worker,
)
from validation import quality
from validation.models import Score, Writing

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def answer(study, code, *given, stage="generate", at=NOON, signs=None, seconds=0):
    """`code` answers the next sitting's items; the last answer is repeated."""
    sitting = leasing.lease(make_worker(study, code), study, stage, at=at)[0]
    rows = list(sitting.bundle)
    for row in rows:
        row.signs, row.active_seconds = signs or {}, seconds
        row.save(update_fields=["signs", "active_seconds"])
    answers = [given[min(n, len(given) - 1)] for n in range(len(rows))]
    submission.submit(sitting, {row.pk: a for row, a in zip(rows, answers, strict=True)}, at=at)


def scores(study, at=NOON + HOUR, **how):
    quality.refresh(study, at=at, **how)
    return {(s.enrolment.worker.code, s.stage): s for s in Score.objects.select_related("enrolment__worker")}


def test_a_worker_is_scored_by_what_others_decided_under_both_denominators():
    study = make_study(items_per_sitting=4)
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER, NORMAL_ANSWER, FALSE_ANSWER, FILTER_ANSWER)
    answer(study, "ben", NORMAL_ANSWER, FALSE_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER)
    for code in ("cat", "dan"):  # of q2 and q3, the normal one is right
        answer(study, code, {"valid": "A"}, {"valid": "B"}, stage="validate")
    ann, ben = (scores(study)[code, "generate"] for code in ("ann", "ben"))
    assert (ann.annotations, ann.decided, ann.invalid, ann.judged, ann.judged_invalid) == (4, 3, 1, 2, 1)
    assert (ann.invalid_share, ann.invalid_share_of_judged) == (1 / 3, 1 / 2)
    assert (ben.decided, ben.invalid, ben.judged, ben.judged_invalid) == (3, 1, 2, 1)
    assert ann.labels == {"normal": 2, "false presupposition": 1, "filter": 1}
    cat = scores(study)["cat", "validate"]
    assert (cat.annotations, cat.decided, cat.invalid, cat.labels) == (2, 2, 0, {"A": 1, "B": 1})


def test_hidden_items_make_accuracies_and_are_no_work():
    study = make_study(items_per_sitting=2, gold_rate=1.0, fillers_per_sitting=1)
    make_items(study, 2)
    make_items(study, 2, role="gold", prefix="g", gold=NORMAL_ANSWER)
    make_items(study, 1, role="filler", prefix="f", gold=FALSE_ANSWER)
    answer(study, "ann", NORMAL_ANSWER)
    ann = scores(study)["ann", "generate"]
    assert (ann.annotations, ann.gold_accuracy, ann.filler_accuracy, ann.labels) == (2, 1.0, 0.0, {"normal": 2})


def test_times_and_pasting_are_summed_up():
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER, seconds=10, signs={"pasted": 30, "typed": 10})
    answer(study, "ann", NORMAL_ANSWER, seconds=40, signs={"pasted": 0, "typed": 20})
    ann = scores(study)["ann", "generate"]
    assert (ann.median_seconds, ann.seconds, ann.pasted) == (25.0, [10, 10, 10, 10, 10, 40, 40, 40, 40], 0.5)


def test_copies_are_found_across_workers_and_within_one():
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    answer(study, "ann", FALSE_ANSWER)
    assert (scores(study)["ann", "generate"].copies_own, Writing.objects.count()) == (2, 4)
    again = {**FALSE_ANSWER, "pairs": [{**FALSE_ANSWER["pairs"][0], "presupposition": "Power plants store the wind."}]}
    answer(study, "ben", again, NORMAL_ANSWER, at=NOON + 2 * HOUR)
    found = scores(study, NOON + 3 * HOUR)["ben", "generate"]
    assert (found.copies_own, found.copies_others) == (0, 1)  # the correction; the presupposition has other words


def test_a_refresh_counts_those_anew_whom_something_has_happened_to():
    study = make_study(items_per_sitting=1)
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER)
    assert len(quality.refresh(study, at=NOON + HOUR)) == 1
    assert quality.refresh(study, at=NOON + 2 * HOUR) == []
    answer(study, "ben", NORMAL_ANSWER, at=NOON + 3 * HOUR)  # settles ann's item
    anew = quality.refresh(study, at=NOON + 4 * HOUR)
    assert {(s.enrolment.worker.code, s.decided) for s in anew} == {("ann", 1), ("ben", 1)}
    pks = list(Annotation.objects.filter(worker__code="ben").values_list("pk", flat=True))
    exclusion.set_aside(study, pks, "excluded", by="user:eva", why="x", at=NOON + 5 * HOUR)
    anew = quality.refresh(study, at=NOON + 6 * HOUR)
    assert {(s.enrolment.worker.code, s.decided, s.counted) for s in anew} == {("ann", 0, 1), ("ben", 0, 0)}


def test_counting_everybody_gives_the_same_as_counting_step_by_step():
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    for n, code in enumerate(("ann", "ben", "cat", "dan")):
        answer(study, code, [NORMAL_ANSWER, FALSE_ANSWER][n % 2], at=NOON + n * HOUR)
        quality.refresh(study, at=NOON + n * HOUR + HOUR / 2)
    fields = [f.name for f in Score._meta.fields if f.name not in ("id", "scored_at")]
    before = list(Score.objects.order_by("pk").values(*fields))
    quality.refresh(study, at=NOON + 9 * HOUR, everybody=True)
    assert list(Score.objects.order_by("pk").values(*fields)) == before


# --- Rules ---------------------------------------------------------------------------------------
def judged_study(**options):
    """ann and ben agree on two items, cat contradicts ben on two and is found wrong."""
    study = make_study(items_per_sitting=2, revoke_after=2, revoke_invalid_share=0.3, **options)
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER)
    answer(study, "ben", NORMAL_ANSWER)
    answer(study, "ben", NORMAL_ANSWER)
    answer(study, "cat", FALSE_ANSWER)
    for code in ("dan", "eve"):
        answer(study, code, {"valid": "A"}, stage="validate")
    return study


def judge(study, at=NOON + HOUR):
    quality.judge(study, quality.refresh(study, at=at, everybody=True), at=at)
    return list(Revocation.objects.values_list("enrolment__worker__code", "state", "rule", "work"))


def test_a_rule_proposes_once():
    study = judged_study()
    assert judge(study) == [("cat", "proposed", "revoke_invalid_share", "keep")]
    assert judge(study, NOON + 2 * HOUR) == [("cat", "proposed", "revoke_invalid_share", "keep")]
    assert Revocation.objects.get().why == "2 of 2 answers were found invalid (100.0%); the study allows at most 30%."
    assert Enrolment.objects.get(worker__code="cat").state == "active"


def test_a_rule_acts_where_the_study_says_so_and_its_effect_follows():
    study = judged_study(revoke="act", work_of_revoked="exclude")
    assert judge(study) == [("cat", "in force", "revoke_invalid_share", "exclude")]
    assert set(Annotation.objects.filter(worker__code="cat").values_list("uncounted", flat=True)) == {"excluded"}
    assert Event.objects.get(what="revoked").actor == "rule:revoke_invalid_share"
    assert judge(study, NOON + 2 * HOUR) == [("cat", "in force", "revoke_invalid_share", "exclude")]


def test_a_rule_that_would_end_everybodys_work_only_proposes():
    study = judged_study(revoke="act")
    Enrolment.objects.exclude(worker__code="cat").update(state="withdrawn")
    assert judge(study) == [("cat", "proposed", "revoke_invalid_share", "keep")]


def test_who_was_restored_is_not_revoked_again_on_the_same_numbers():
    from annotation import revocation

    study = judged_study(revoke="act")
    judge(study)
    revocation.restore(Enrolment.objects.get(worker__code="cat"), by="user:eva", why="Hard items.", at=NOON + HOUR)
    judge(study, NOON + 2 * HOUR)
    assert Enrolment.objects.get(worker__code="cat").state == "active"


def test_what_is_repeated_in_another_stage_is_found_as_well():
    long = "Paris {} {} a long quiet river that boats from many small towns of the north cross every {} of the year."
    study = make_claim_study(splits=("train", "train"), contrast_share=1, items_per_sitting=2)
    sitting = take(study, make_claim_worker(study, "ann"))
    numbers = [ref[1:] for ref in refs(sitting)]
    hand_in(sitting, *(written(n, long.format(n, "lies on", "day"), long.format(n, "drank", "day")) for n in numbers))
    hand_in(take(study, make_claim_worker(study, "bob"), "review"), reviewed(), reviewed())
    quality.refresh(study, at=LONG_AGO)
    sitting = take(study, make_claim_worker(study, "eve"), "contrast")
    flipped = [long.format(ref[1:], "lies on", "night") for ref in refs(sitting)]
    hand_in(sitting, *({"claim": claim, "explanation": "It is so."} for claim in flipped))
    quality.refresh(study, at=LONG_AGO, everybody=True)
    assert Writing.objects.filter(annotation__stage="contrast", copy_of__stage="write").count() == 2
