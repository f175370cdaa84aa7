"""Nobody is stuck on the way in: leaving in the middle, being vouched for, revoked, restored, or closed out."""

from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import leasing, limits, qualification, queries, revocation, submission, way_in
from annotation.errors import NotYetRight
from annotation.models import Annotation, Attempt, Enrolment, Event, Qualification, Sitting
from annotation.way_in import Step
from tests.annotation.test_way_in import Person, reviewed, study_with_a_way
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from tests.people import make_researcher

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def trained(study):
    """Somebody who has read the instructions and has the next step open."""
    ann = Person(study)
    ann.start()
    ann.client.post(ann.url("instructions_first", study.slug, "generate"), follow=True)
    return ann


def vouch(ann):
    qualification.qualify(ann.worker, ann.study, ["generate"], by="user:eva", at=NOON)


def home(ann):
    return ann.client.get(ann.url("home")).content.decode()


# --- Practice left in the middle ------------------------------------------------------------------
@pytest.mark.parametrize(("questions", "step"), [(2, Step.TEST), (0, Step.WORK)])
def test_practice_that_was_all_right_but_never_handed_in_leads_on(questions, step):
    study = study_with_a_way(consent=False, practice=1, questions=questions)
    ann = trained(study)
    ann.answer()
    assert ann.step == step
    page = ann.start()
    assert (page.status_code, page.redirect_chain[-1][0].endswith("/1/")) == (200, True)
    purposes = dict(Sitting.objects.values_list("purpose", "state"))
    assert purposes == {"practice": "returned", ("test" if questions else "work"): "leased"}


def test_practice_handed_in_by_a_program_before_it_is_right_is_refused():
    study = study_with_a_way(consent=False, practice=1, questions=0)
    ann = trained(study)
    sitting = Sitting.objects.get()
    with pytest.raises(NotYetRight):
        submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    assert (Annotation.objects.count(), ann.step) == (0, Step.PRACTICE)


@pytest.mark.parametrize("practice", [0, 1])
def test_practice_and_tests_cannot_be_given_back(practice):
    study = study_with_a_way(consent=False, practice=practice)
    ann = trained(study)
    ann.start()
    sitting = Sitting.objects.get()
    assert ann.client.post(ann.url("give_back", sitting.pk)).status_code == 409
    assert Sitting.objects.get().state == "leased"


def test_an_answer_that_was_not_yet_right_is_marked_in_the_row_of_dots():
    study = study_with_a_way(consent=False, practice=2, questions=0)
    ann = trained(study)
    assert "Item 1: begun, something is missing" in ann.answer({"question": "subjective"}).content.decode()


def test_the_known_answer_is_shown_once_it_is_found():
    study = make_study()
    make_items(study, 1, role="practice", prefix="p", gold=FALSE_ANSWER)
    ann = trained(study)
    known = FALSE_ANSWER["pairs"][0]["correction"]
    assert known not in ann.answer().content.decode()
    written = {"pairs.0.presupposition": "Plants keep current.", "pairs.0.correction": "Plants keep none of it."}
    page = ann.answer({"question": "usable", "response": "informative", "wrong": "yes"} | written)
    assert known in page.content.decode()


# --- Vouched for in the middle --------------------------------------------------------------------
@pytest.mark.parametrize("practice", [0, 1])
def test_who_is_vouched_for_in_the_middle_of_practice_or_test_gets_work(practice):
    study = study_with_a_way(consent=False, practice=practice)
    ann = trained(study)
    ann.start()
    vouch(ann)
    assert leasing.lease(ann.worker, study, "generate", at=timezone.now())[1]
    assert sorted(Sitting.objects.values_list("state", flat=True)) == ["leased", "returned"]


def test_a_test_that_is_handed_in_after_somebody_vouched_is_scored_and_changes_nothing():
    study = study_with_a_way(consent=False, practice=0, review_tests="off")
    ann = trained(study)
    ann.start()
    vouch(ann)
    ann.answer({"question": "subjective"})
    assert ann.answer({"question": "subjective"}).status_code == 200
    assert (Attempt.objects.get().state, ann.step) == ("failed", Step.WORK)


def test_the_queue_shows_nobody_who_is_through_or_gone():
    study = make_study()
    make_items(study, 2)
    make_items(study, 2, role="qualification", prefix="t", gold=FALSE_ANSWER)
    ann, ben, cat, dan = (reviewed(study) for _ in range(4))
    vouch(ann)
    revocation.revoke(Enrolment.objects.get(worker=ben.worker), why="Guessing.", by="user:eva", at=NOON)
    revocation.withdraw(Enrolment.objects.get(worker=cat.worker), at=NOON)
    assert [a.qualification.enrolment.worker for a in way_in.waiting(study)] == [dan.worker]


# --- Revoked in the middle ------------------------------------------------------------------------
@pytest.mark.parametrize("practice", [0, 1])
def test_who_was_revoked_in_the_middle_is_told_so_and_goes_on_once_restored(practice):
    study = study_with_a_way(consent=False, practice=practice, review_tests="off")
    ann = trained(study)
    ann.start()
    sitting, enrolment = Sitting.objects.get(), Enrolment.objects.get()
    ann.client.post(ann.url("draft", sitting.pk, 1), {"question": "subjective"})
    revocation.revoke(enrolment, why="Guessing.", by="user:eva", at=NOON)
    assert "Taken back" in ann.client.get(ann.url("done", sitting.pk)).content.decode()
    revocation.restore(enrolment, by="user:eva", why="A mistake.", at=NOON)
    page = ann.start().content.decode()
    assert ("This is the test" if practice == 0 else "Practice: nothing counts") in page
    again = Sitting.objects.get(state="leased")
    assert again.bundle[0].draft == {"question": "subjective"}
    assert Attempt.objects.count() == (practice == 0)


# --- Places ---------------------------------------------------------------------------------------
def test_who_comes_when_all_places_are_taken_hears_so_before_any_practice():
    study = study_with_a_way(consent=False, practice=0, questions=1, review_tests="off", max_qualified=1)
    ann, ben = trained(study), Person(study)
    ann.start()
    ann.answer()
    assert (ann.step, ben.step) == (Step.WORK, Step.FULL)
    assert "All places in this study are taken" in home(ben)
    assert "You have passed" not in home(ben)
    assert ben.start().status_code == 409
    revocation.revoke(Enrolment.objects.get(worker=ann.worker), why="Guessing.", by="user:eva", at=NOON)
    assert ben.step == Step.INSTRUCTIONS  # a place became free


def test_places_are_counted_once_whatever_the_number_of_tests():
    study = study_with_a_way(consent=False, practice=0, questions=1, review_tests="off", max_qualified=2)
    ann, ben = trained(study), Person(study)
    ann.start()
    ann.answer()
    assert (qualification.places_taken(study, "generate"), ben.step) == (1, Step.INSTRUCTIONS)


def test_questions_without_a_known_answer_are_no_test():
    study = make_study()
    make_items(study, 2)
    make_items(study, 2, role="qualification", prefix="t")
    assert Person(study).step == Step.WORK


def test_practice_and_tests_take_no_room_among_the_open_sittings():
    study = study_with_a_way(consent=False, practice=1, max_open_sittings=1)
    ann = trained(study)
    qualification.qualify(ann.worker, study, ["validate"], by="user:eva", at=NOON)
    assert limits.room(Enrolment.objects.get(), study, "generate") > 0
    assert [limit.violations for limit in limits.limits_of(study)] == [0]


# --- Consent --------------------------------------------------------------------------------------
def test_a_version_of_five_thousand_digits_agrees_to_nothing():
    ann = Person(study_with_a_way())
    assert ann.agree("9" * 5_000).status_code == 409


def test_agreeing_twice_is_one_event_and_keeps_the_first_time():
    study = study_with_a_way()
    ann = Person(study)
    way_in.agree(ann.worker, study, 1, at=NOON)
    way_in.agree(ann.worker, study, 1, at=timezone.now())
    assert (Event.objects.filter(what="consented").count(), Enrolment.objects.get().consented_at) == (1, NOON)


def test_who_is_revoked_agrees_to_nothing():
    study = study_with_a_way()
    ann = Person(study)
    revocation.revoke(Enrolment.objects.get(), why="Guessing.", by="user:eva", at=NOON)
    ann.agree(1)
    assert (Enrolment.objects.get().consent, Event.objects.filter(what="consented").exists()) == (None, False)


def test_the_same_text_again_is_no_new_version():
    study = study_with_a_way()
    assert way_in.set_consent(study, "We keep your answers.", by="user:eva", at=NOON).version == 1
    assert (study.consent_version, Event.objects.filter(what="consent text changed").count()) == (1, 1)


# --- The page of one's work -----------------------------------------------------------------------
def test_a_test_in_the_middle_is_no_second_try():
    study = study_with_a_way(consent=False, practice=0)
    ann = trained(study)
    ann.start()
    assert ("another try" in home(ann), "Go on where you left off" in home(ann)) == (False, True)


def test_what_was_done_counts_hidden_items_too_so_that_nobody_can_tell_how_many_there_are():
    study = make_study(items_per_sitting=2, gold_rate=0.5)
    make_items(study, 2)
    make_items(study, 1, role="gold", prefix="g", gold=NORMAL_ANSWER)
    ann = Person(study)
    sitting = leasing.lease(ann.worker, study, "generate", at=timezone.now())[0]
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=timezone.now())
    assert 'done <span class="number">3</span>' in home(ann)


def test_who_has_done_as_much_as_one_person_may_reads_so_instead_of_a_button():
    study = make_study(items_per_sitting=2, max_annotations=2)
    make_items(study, 4)
    ann = Person(study)
    sitting = leasing.lease(ann.worker, study, "generate", at=timezone.now())[0]
    assert "Go on where you left off" in home(ann)
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=timezone.now())
    assert ("as much of this study as one person may" in home(ann), "Start:" in home(ann)) == (True, False)


def test_where_nothing_is_free_the_page_says_so_and_one_may_look_again():
    study = make_study()
    assert "Nothing is free here right now" in home(Person(study))


def test_an_appeal_that_was_granted_is_told():
    study = make_study()
    ann = Person(study)
    enrolment = Enrolment.objects.get()
    revocation.revoke(enrolment, why="Guessing.", by="user:eva", at=NOON)
    appeal = revocation.appeal(enrolment, "I did not.", at=NOON)
    revocation.decide_appeal(appeal, granted=True, answer="We looked again; welcome back.", by="user:eva", at=NOON)
    assert "We looked again; welcome back." in home(ann)


def test_the_stages_of_a_study_stand_together():
    first, second = make_study("first"), make_study("second")
    ann = make_worker(first, stages=["generate"])
    make_worker(second, stages=["generate"])
    make_worker(first)
    make_worker(second)
    assert [(p.study.slug, p.stage.name) for p in queries.places_of(ann)] == [
        ("second", "generate"),
        ("second", "validate"),
        ("first", "generate"),
        ("first", "validate"),
    ]


def test_what_is_noted_is_named_also_where_there_is_no_consent_text():
    assert "how much of a text was pasted" in home(Person(make_study()))
    assert "how much of a text was pasted" not in home(Person(make_study("quiet", signs="off")))


# --- The team's side ------------------------------------------------------------------------------
def test_the_page_names_the_items_and_the_places(client):
    study = study_with_a_way(consent=False, practice=1, questions=1, max_qualified=30)
    ann = trained(study)
    client.force_login(make_researcher(study))
    page = client.get(reverse("annotation:way_in", args=[study.slug])).content.decode()
    assert ("0 of 30 places are taken" in page, ">p1<" in page, ">t1<" in page) == (True, True, True)
    assert Enrolment.objects.get(worker=ann.worker).running_code in page


def test_how_many_tests_wait_stands_in_the_navigation(client):
    study = make_study()
    make_items(study, 2)
    make_items(study, 2, role="qualification", prefix="t", gold=FALSE_ANSWER)
    client.force_login(make_researcher(study))
    url = reverse("annotation:settings", args=[study.slug])
    assert "wait" not in client.get(url).content.decode()
    reviewed(study)
    assert '1<span class="visually-hidden"> test waits to be read' in client.get(url).content.decode()


def test_somebody_on_the_way_is_let_in_without_the_rest(client):
    study = study_with_a_way(consent=False)
    ann = Person(study)
    client.force_login(make_researcher(study))
    found = Qualification.objects.get()
    assert client.post(reverse("annotation:let_in", args=[study.slug, found.pk])).status_code == 302
    assert ann.step == Step.WORK
