"""Answers of somebody who only claims to be the worker: kept on their seats, counted nowhere until it is proven."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation import exclusion, leasing, qualification, revocation, submission, way_in
from annotation.models import Annotation, Assignment, Enrolment, Event, Item, Sitting
from annotation.queries import places_of
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from validation.models import Resolution, Tally

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 3, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BY = {"by": "user:eva", "at": LATER}


def take(study, code, stage="generate", at=NOON):
    return leasing.lease(make_worker(study, code), study, stage, at=at)[0]


def submit(sitting, given=NORMAL_ANSWER, *, confirmed=False, at=NOON):
    return submission.submit(sitting, {a.pk: given for a in sitting.bundle}, at=at, confirmed=confirmed)


def claim(study, code, given=NORMAL_ANSWER, stage="generate"):
    """A sitting that somebody submitted in the name of `code`."""
    sitting = take(study, code, stage)
    submit(sitting, given)
    return sitting


def whys(code="ann"):
    return dict(Annotation.objects.filter(worker__code=code).values_list("item__ref", "uncounted"))


def place(ref="q1"):
    return Item.objects.values_list("state", "stage", "votes_wanted", "open_seats").get(ref=ref)


def revoke(work, code="ann"):
    revoked = revocation.revoke(Enrolment.objects.get(worker__code=code), why="Guessing.", work=work, **BY)
    revocation.apply_work(revoked, **BY)


@pytest.fixture
def study():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    return study


def test_an_unconfirmed_answer_keeps_its_seat_and_counts_only_once_it_is_confirmed(study):
    submit(take(study, "ben"), confirmed=True)
    sitting = claim(study, "ann")
    assert (whys(), place()) == ({"q1": "unconfirmed", "q2": "unconfirmed"}, ("open", "generate", 2, 0))
    assert (Resolution.objects.count(), set(Tally.objects.values_list("profile", flat=True))) == (0, {"0,1,0"})
    assert submission.confirm(sitting, at=LATER) == 2
    assert (whys(), place()) == ({"q1": "", "q2": ""}, ("settled", "", 0, 0))
    assert (Resolution.objects.count(), set(Tally.objects.values_list("profile", flat=True))) == (2, {"0,2,0"})
    told = Event.objects.filter(worker__code="ann", item__ref="q1").exclude(what="leased")
    assert list(told.values_list("what", "actor", "why", "at")) == [
        ("submitted", "worker:ann", "Who gave it is not proven yet.", NOON),
        ("confirmed", "system", "", LATER),
    ]


def test_confirming_again_changes_nothing(study):
    sitting = claim(study, "ann")
    submission.confirm(sitting, at=LATER)
    events = Event.objects.count()
    assert (submission.confirm(sitting, at=LATER), Event.objects.count(), whys()["q1"]) == (0, events, "")


def test_what_was_submitted_as_proven_needs_no_confirming(study):
    sitting = take(study, "ann")
    submit(sitting, confirmed=True)
    assert (submission.confirm(sitting, at=LATER), submission.confirm(take(study, "ben"), at=LATER)) == (0, 0)


def test_submitting_again_confirms_nothing(study):
    sitting = claim(study, "ann")
    again = submit(sitting, FALSE_ANSWER, confirmed=True)
    assert {(row.uncounted, row.answer["label"]) for row in again} == {("unconfirmed", "normal")}


def test_hidden_items_are_scored_once_they_are_confirmed():
    study = make_study(items_per_sitting=1, gold_rate=1.0, fillers_per_sitting=1)
    make_items(study, 1)
    make_items(study, 1, role="gold", prefix="g", gold=NORMAL_ANSWER)
    make_items(study, 1, role="filler", prefix="f", gold=FALSE_ANSWER)
    sitting = claim(study, "ann")
    assert whys() == dict.fromkeys(["q1", "g1", "f1"], "unconfirmed")
    assert submission.confirm(sitting, at=LATER) == 3
    assert whys() == {"q1": "", "g1": "gold", "f1": "filler"}
    assert dict(Annotation.objects.values_list("item__ref", "is_right")) == {"q1": None, "g1": True, "f1": False}


def test_a_late_answer_stays_late_and_one_whose_seat_is_free_takes_it():
    study = make_study(items_per_sitting=2)
    make_items(study, 2)
    late = take(study, "ann")
    leasing.expire(at=NOON + 61 * MINUTE)
    study.options["items_per_sitting"] = 1
    study.save(update_fields=["options"])
    for code in ("ben", "cat"):
        submit(take(study, code, at=NOON + 61 * MINUTE), confirmed=True)
    submit(late, FALSE_ANSWER, at=NOON + 62 * MINUTE)
    assert (whys(), place("q2")) == ({"q1": "late", "q2": "unconfirmed"}, ("open", "generate", 2, 1))
    assert (submission.confirm(late, at=LATER), whys()) == (1, {"q1": "late", "q2": ""})
    assert not Annotation.objects.filter(unproven=True).exists()


@pytest.mark.parametrize("purpose", ["practice", "test"])
def test_practice_and_tests_are_taken_either_way(purpose):
    study = make_study(review_tests="off")
    make_items(study, 1, role={"practice": "practice", "test": "qualification"}[purpose], prefix="p", gold=FALSE_ANSWER)
    ann = make_worker(study, "ann", stages=[])
    qualification.enrol(ann, study, "generate", by="test", at=NOON)
    way_in.read_instructions(ann, study, "generate", at=NOON)
    sitting = way_in.open_sitting(ann, study, "generate", way_in.step_of(ann, study, "generate"), at=NOON)
    if purpose == "practice":
        way_in.attempt_practice(sitting.bundle[0], FALSE_ANSWER, at=NOON)
    submit(sitting, FALSE_ANSWER)
    assert (whys(), way_in.step_of(ann, study, "generate")) == ({"p1": purpose}, "work")


def test_nobody_is_asked_to_judge_what_is_unconfirmed(study):
    submit(take(study, "ann"), confirmed=True)
    second = claim(study, "ben", FALSE_ANSWER)
    with pytest.raises(leasing.NothingLeft):
        take(study, "cat", "validate")
    submission.confirm(second, at=LATER)
    judged = {pk for a in take(study, "cat", "validate").bundle for pk in a.judges}
    assert judged == set(Annotation.objects.filter(stage="generate", uncounted="").values_list("pk", flat=True))


def test_an_unconfirmed_verdict_about_an_answer_that_is_excluded_is_obsolete_and_stays_so(study):
    submit(take(study, "ann"), confirmed=True)
    bad = submit(take(study, "ben"), FALSE_ANSWER, confirmed=True)
    verdict = claim(study, "cat", {"valid": "A"}, "validate")
    assert place() == ("open", "validate", 2, 1)
    exclusion.set_aside(study, [row.pk for row in bad], "excluded", why="Guessing.", **BY)
    assert (whys("cat"), place()) == (dict.fromkeys(["q1", "q2"], "obsolete"), ("open", "generate", 2, 1))
    assert not Assignment.objects.filter(stage="validate", seat__isnull=False).exists()
    assert (submission.confirm(verdict, at=LATER), whys("cat")["q1"]) == (0, "obsolete")


def test_a_verdict_that_was_obsolete_before_it_came_is_kept_as_such(study):
    submit(take(study, "ann"), confirmed=True)
    bad = submit(take(study, "ben"), FALSE_ANSWER, confirmed=True)
    sitting = take(study, "cat", "validate")
    exclusion.set_aside(study, [row.pk for row in bad], "excluded", why="Guessing.", **BY)
    submit(sitting, {"valid": "A"})
    assert (submission.confirm(sitting, at=LATER), set(whys("cat").values())) == (0, {"obsolete"})


def test_excluding_takes_unconfirmed_work_out_and_frees_its_seats_and_confirming_brings_nothing_back(study):
    sitting = claim(study, "ann")
    effect = exclusion.set_aside(study, Annotation.objects.values_list("pk", flat=True), "excluded", why="No.", **BY)
    assert (effect.annotations, effect.seats, place()) == (2, 2, ("open", "generate", 2, 2))
    assert (submission.confirm(sitting, at=LATER), set(whys().values())) == (0, {"excluded"})


def test_unconfirmed_answers_to_hidden_items_are_not_excluded_as_no_others_are():
    study = make_study(items_per_sitting=1, gold_rate=1.0)
    make_items(study, 1)
    make_items(study, 1, role="gold", prefix="g", gold=NORMAL_ANSWER)
    claim(study, "ann")
    exclusion.set_aside(study, Annotation.objects.values_list("pk", flat=True), "excluded", why="No.", **BY)
    assert whys() == {"q1": "excluded", "g1": "unconfirmed"}


def test_unconfirmed_work_cannot_be_held_or_reinstated(study):
    claim(study, "ann")
    pks = list(Annotation.objects.values_list("pk", flat=True))
    assert exclusion.set_aside(study, pks, "held", why="Hm.", **BY).annotations == 0
    assert exclusion.reinstate(study, pks, why="Fine.", **BY).annotations == 0
    assert set(whys().values()) == {"unconfirmed"}


def test_what_was_excluded_unproven_is_reinstated_only_once_it_is_confirmed(study):
    sitting = claim(study, "ann")
    pks = list(Annotation.objects.values_list("pk", flat=True))
    exclusion.set_aside(study, pks, "excluded", why="No.", **BY)
    assert exclusion.reinstate(study, pks, why="Sorry.", **BY).annotations == 0
    submission.confirm(sitting, at=LATER)
    assert exclusion.reinstate(study, pks, why="Sorry.", **BY).annotations == 2
    assert (set(whys().values()), place()) == ({""}, ("open", "generate", 2, 1))


@pytest.mark.parametrize(
    ("work", "before", "changed", "after", "open_seats"),
    [
        ("keep", "unconfirmed", 2, "", 0),
        ("hold", "unconfirmed", 2, "held", 0),
        ("exclude", "excluded", 0, "excluded", 1),
    ],
)
def test_what_a_revocation_says_of_work_holds_for_what_is_confirmed_after_it(
    study, work, before, changed, after, open_seats
):
    submit(take(study, "ben"), confirmed=True)
    sitting = claim(study, "ann")
    revoke(work)
    assert set(whys().values()) == {before}
    assert submission.confirm(sitting, at=LATER) == changed
    assert (set(whys().values()), place()[3]) == ({after}, open_seats)
    assert Resolution.objects.count() == (2 if work == "keep" else 0)


def test_a_revocation_whose_work_is_still_to_be_set_aside_is_heeded(study):
    """Ending somebody's work and setting it aside are two steps; a confirmation may come between them."""
    submit(take(study, "ben"), confirmed=True)
    sitting = claim(study, "ann")
    revocation.revoke(Enrolment.objects.get(worker__code="ann"), why="Guessing.", work="exclude", **BY)
    assert submission.confirm(sitting, at=LATER) == 2
    assert (set(whys().values()), place()) == ({"excluded"}, ("open", "generate", 2, 1))
    told = Event.objects.filter(worker__code="ann", item__ref="q1", what__in=["confirmed", "excluded"])
    assert list(told.values_list("what", "actor", "why")) == [
        ("confirmed", "system", ""),
        ("excluded", "user:eva", "Guessing."),
    ]


def test_work_confirmed_while_its_writer_was_revoked_can_be_reinstated(study):
    submit(take(study, "ben"), confirmed=True)
    sitting = claim(study, "ann")
    revoke("hold")
    submission.confirm(sitting, at=LATER)
    ann = Enrolment.objects.get(worker__code="ann")
    revocation.restore(ann, why="A mistake.", **BY)
    assert revocation.reinstate_work(ann, why="A mistake.", **BY).annotations == 2
    assert (place(), Resolution.objects.count()) == (("settled", "", 0, 0), 2)


def test_after_a_revocation_was_lifted_work_is_confirmed_as_anybodys(study):
    sitting = claim(study, "ann")
    revoke("hold")
    revocation.restore(Enrolment.objects.get(worker__code="ann"), why="A mistake.", **BY)
    assert (submission.confirm(sitting, at=LATER), set(whys().values())) == (2, {""})


def test_words_whose_writer_withdrew_stay_withdrawn(study):
    sitting = claim(study, "ann")
    revocation.withdraw(Enrolment.objects.get(worker__code="ann"), at=LATER)
    assert place() == ("open", "generate", 2, 2)
    assert (submission.confirm(sitting, at=LATER), set(whys().values())) == (0, {"withdrawn"})


def test_an_item_closed_without_an_answer_that_is_confirmed_later_gets_gold_of_all_that_counts():
    study = make_study(items_per_sitting=1, adjudication="third_annotator")
    make_items(study, 1)
    submit(take(study, "ann"), FALSE_ANSWER, confirmed=True)
    sitting = claim(study, "ben", FALSE_ANSWER)
    # As under options that ask for one answer.
    item = Item.objects.get()
    item.state, item.stage, item.votes_wanted, item.open_seats = "settled", "", 0, 0
    item.save()
    Resolution.objects.create(study=study, item=item, outcome="settled", label="of one", gold={}, why="", at=NOON)
    submission.confirm(sitting, at=LATER)
    assert (place(), Resolution.objects.get().label) == (("settled", "", 0, 0), "false presupposition")


def test_ones_own_page_tells_nothing_of_what_others_claim_to_have_done_in_ones_name():
    study = make_study(items_per_sitting=1, pay_per_sitting=2.0)
    make_items(study, 2)
    submit(take(study, "ann"), confirmed=True)
    sitting = claim(study, "ann")

    def shown():
        place = next(p for p in places_of(make_worker(study, "ann")) if p.stage.name == "generate")
        return place.done, float(place.earned)

    assert shown() == (1, 2.0)
    submission.confirm(sitting, at=LATER)
    assert shown() == (2, 4.0)


@pytest.mark.parametrize("why", ["", "held", "gold", "filler"])
def test_the_database_lets_nothing_unproven_count(study, why):
    claim(study, "ann")
    with pytest.raises(IntegrityError), transaction.atomic():
        Annotation.objects.update(uncounted=why)


def test_confirming_costs_a_fixed_number_of_queries(django_assert_num_queries):
    for size in (1, 10):
        study = make_study(f"crepe-{size}", items_per_sitting=size)
        make_items(study, 10)
        sitting = claim(study, f"ann{size}")
        sitting = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
        with django_assert_num_queries(12):
            submission.confirm(sitting, at=LATER)


# --- Unconfirmed, then confirmed, is the same as confirmed at once --------------------------------

WRITTEN = [NORMAL_ANSWER, FALSE_ANSWER, FILTER_ANSWER]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    written=st.lists(st.sampled_from(WRITTEN), min_size=6, max_size=6),
    claims=st.lists(st.booleans(), min_size=2, max_size=2),
    order=st.permutations(range(2)),
    adjudication=st.sampled_from(["validators", "third_annotator"]),
)
def test_confirmed_later_ends_as_confirmed_at_once(written, claims, order, adjudication):
    def run(claims):
        """Two people answer three items; then whatever is asked next of a third, who claims only where both do."""
        study = make_study(items_per_sitting=3, adjudication=adjudication)
        make_items(study, 3)
        sittings = [take(study, f"w{n}") for n in range(2)]
        for n, sitting in enumerate(sittings):
            given = dict(zip([a.pk for a in sitting.bundle], written[3 * n : 3 * n + 3], strict=True))
            submission.submit(sitting, given, at=NOON + n * MINUTE, confirmed=not claims[n])
        for n in order:
            submission.confirm(sittings[n], at=NOON + 3 * MINUTE)
        for stage, third in (("generate", NORMAL_ANSWER), ("validate", {"valid": "A"})):
            if study.items.filter(stage=stage, open_seats__gt=0).exists():
                last = take(study, "w3", stage)
                submit(last, third, confirmed=not all(claims), at=NOON + 4 * MINUTE)
                submission.confirm(last, at=NOON + 5 * MINUTE)
        return standing(study)

    with transaction.atomic():
        at_once = run([False, False])
        transaction.set_rollback(True)
    with transaction.atomic():
        assert run(claims) == at_once
        transaction.set_rollback(True)


def standing(study):
    items = study.items.values_list("ref", "state", "stage", "votes_wanted", "open_seats").order_by("ref")
    tallies = Tally.objects.filter(study=study).values_list("item__ref", "stage", "measure", "profile")
    gold = Resolution.objects.filter(study=study).order_by("item__ref")
    counted = Annotation.objects.filter(study=study).values_list("item__ref", "worker__code", "uncounted", "upheld")
    return (
        list(items),
        sorted(tallies),
        [(row.item.ref, row.outcome, row.label, row.gold) for row in gold.select_related("item")],
        Counter(counted),
    )
