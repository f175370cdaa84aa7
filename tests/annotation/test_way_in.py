"""The way into a stage: what comes next, page by page."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import leasing, links, qualification, revocation, signs, way_in
from annotation.errors import ConsentNeeded
from annotation.models import Annotation, Attempt, ConsentText, Enrolment, Event, Qualification, Sitting, Try
from annotation.way_in import ConsentChanged, Step
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from tests.people import make_onlooker, make_researcher

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
NORMAL = {"question": "usable", "response": "informative", "wrong": "no"}


def study_with_a_way(*, practice=2, questions=2, consent=True, **options):
    study = make_study(**options)
    make_items(study, 3)
    make_items(study, practice, role="practice", prefix="p", gold=NORMAL_ANSWER)
    make_items(study, questions, role="qualification", prefix="t", gold=NORMAL_ANSWER)
    if consent:
        way_in.set_consent(study, "We keep your answers.", by="user:eva", at=NOON)
    return study


class Person:
    """Somebody with a personal link in a browser without cookies."""

    def __init__(self, study):
        self.study, self.client = study, Client()
        self.worker = qualification.join(study, at=timezone.now())
        self.token = links.sign(self.worker, links.LINK, at=timezone.now())

    def url(self, name, *args):
        return reverse(f"annotation:{name}", args=[self.token, *args])

    @property
    def step(self):
        return way_in.step_of(self.worker, self.study, "generate")

    def start(self):
        return self.client.post(self.url("start", self.study.slug, "generate"), follow=True)

    def agree(self, version):
        return self.client.post(self.url("consent", self.study.slug, "generate"), {"version": version}, follow=True)

    def answer(self, fields=NORMAL):
        """Answer the item on the open page and press Next."""
        sitting = Sitting.objects.get(worker=self.worker, state="leased")
        number = next(n for n, a in enumerate(sitting.assignments.all(), 1) if self._is_open(a))
        url = self.url("work", sitting.pk, number)
        return self.client.post(url, fields | {"go": "next"}, follow=True)

    def _is_open(self, assignment):
        learnt = not way_in.unlearnt([assignment]) if assignment.role == "practice" else bool(assignment.draft)
        return not learnt


def test_somebody_new_passes_every_step_to_the_work():
    study = study_with_a_way(review_tests="off")
    ann = Person(study)
    assert ann.step == Step.CONSENT
    assert b"We keep your answers." in ann.start().content
    assert b"how it is done" in ann.agree(1).content
    assert ann.step == Step.INSTRUCTIONS
    page = ann.client.post(ann.url("instructions_first", study.slug, "generate"), follow=True)
    assert b"Practice: nothing counts here" in page.content
    for _ in range(2):
        assert b"<strong>Right.</strong>" in ann.answer().content
    sitting = Sitting.objects.get(purpose="practice")
    done = ann.client.post(ann.url("submit", sitting.pk), follow=True)
    assert (b"Practice is done" in done.content, ann.step) == (True, Step.TEST)
    assert b"This is the test" in ann.start().content
    ann.answer()
    assert b"You have passed" in ann.answer().content
    assert (ann.step, leasing.lease(ann.worker, study, "generate", at=timezone.now())[1]) == (Step.WORK, True)
    assert set(Annotation.objects.values_list("uncounted", "consent")) == {("practice", 1), ("test", 1)}


def test_a_wrong_practice_answer_is_logged_and_held_back_until_it_is_right():
    study = study_with_a_way(consent=False, practice=1, questions=0)
    ann = Person(study)
    ann.start()
    ann.client.post(ann.url("instructions_first", study.slug, "generate"), follow=True)
    left_out = {"question": "subjective"}
    assert b"Not yet right." in ann.answer(left_out).content
    assert b"Not yet right." in ann.answer(left_out).content
    assert b"<strong>Right.</strong>" in ann.answer().content
    assert list(Try.objects.values_list("is_right", flat=True)) == [False, False, True]
    sitting = Sitting.objects.get(purpose="practice")
    ann.client.post(ann.url("submit", sitting.pk))
    assert ann.step == Step.WORK  # there is no test


def test_practice_cannot_be_handed_in_before_it_is_right():
    study = study_with_a_way(consent=False, practice=2, questions=0)
    ann = Person(study)
    ann.start()
    ann.client.post(ann.url("instructions_first", study.slug, "generate"), follow=True)
    sitting = Sitting.objects.get(purpose="practice")
    page = ann.client.post(ann.url("submit", sitting.pk), follow=True)
    assert page.redirect_chain[-1][0].endswith(f"/sittings/{sitting.pk}/1/")
    assert Sitting.objects.get(pk=sitting.pk).state == "leased"


def test_a_text_that_was_changed_while_it_was_read_is_not_agreed_to():
    study = study_with_a_way()
    ann = Person(study)
    way_in.set_consent(study, "We publish your answers.", by="user:eva", at=NOON)
    page = ann.agree(1)
    assert (page.status_code, b"The text was changed" in page.content) == (409, True)
    assert b"We publish your answers." in page.content
    assert Enrolment.objects.get().consent is None
    with pytest.raises(ConsentChanged):
        way_in.agree(ann.worker, study, 1, at=NOON)
    ann.agree(2)
    assert Enrolment.objects.get().consent == 2
    assert list(ConsentText.objects.values_list("version", flat=True)) == [1, 2]


@pytest.mark.parametrize("version", ["", "x", "-1", "99", "1; drop"])
def test_a_version_that_is_none_agrees_to_nothing(version):
    ann = Person(study_with_a_way())
    assert ann.agree(version).status_code == 409
    assert Enrolment.objects.get().consent is None


def test_a_new_text_is_asked_of_those_who_work_already_and_of_programs():
    study = study_with_a_way(practice=0, questions=0)
    ann = make_worker(study, "ann")
    with pytest.raises(ConsentNeeded):
        leasing.lease(ann, study, "generate", at=NOON)
    way_in.agree(ann, study, 1, at=NOON)
    assert leasing.lease(ann, study, "generate", at=NOON)[1]


def test_who_failed_may_try_again_only_when_the_team_says_so():
    study = study_with_a_way(consent=False, practice=0, review_tests="off")
    ann = Person(study)
    ann.start()
    ann.client.post(ann.url("instructions_first", study.slug, "generate"))
    ann.start()
    for _ in range(2):
        page = ann.answer({"question": "subjective"})
    assert (b"You have not passed this time" in page.content, ann.step) == (True, Step.FAILED)
    assert b"0 of 2 answers were right; 80% are needed." in ann.client.get(ann.url("home")).content
    way_in.allow_again(Qualification.objects.get(), by="user:eva", at=NOON)
    assert (ann.step, b"another try" in ann.client.get(ann.url("home")).content) == (Step.TEST, True)
    ann.start()
    for _ in range(2):
        ann.answer()
    assert (ann.step, list(Attempt.objects.values_list("number", "state"))) == (
        Step.WORK,
        [(1, "failed"), (2, "passed")],
    )


def test_people_of_an_earlier_study_are_carried_over():
    pilot, study = make_study("pilot"), make_study("main")
    for code in ("ann", "ben", "cat"):
        make_worker(pilot, code, stages=["generate"])
    make_worker(study, "ben", stages=["generate"])
    revocation.revoke(pilot.enrolments.get(worker__code="cat"), why="Guessing.", by="user:eva", at=NOON)
    assert way_in.carry_over(pilot, study, "generate", by="user:eva", at=NOON) == 1
    assert sorted(study.enrolments.values_list("worker__code", flat=True)) == ["ann", "ben"]


# --- The page of one's work -----------------------------------------------------------------------
def test_a_revoked_worker_reads_the_reason_and_answers_once():
    study = study_with_a_way(practice=0, questions=0, consent=False)
    ann = Person(study)
    revocation.revoke(Enrolment.objects.get(), why="Nine of ten answers were copied.", by="user:eva", at=NOON)
    home = ann.client.get(ann.url("home")).content.decode()
    assert "Nine of ten answers were copied." in home
    assert "You can answer once" in home
    assert ann.client.post(ann.url("appeal", study.slug), {"text": "I wrote them."}).status_code == 302
    assert "A person will read it" in ann.client.get(ann.url("home")).content.decode()
    again = ann.client.post(ann.url("appeal", study.slug), {"text": "And another thing."})
    assert (again.status_code, "You have answered already" in again.content.decode()) == (409, True)


def test_nobody_appeals_for_somebody_else_or_in_a_study_they_are_not_in():
    study, other = study_with_a_way(consent=False), make_study("other")
    ann, ben = Person(study), Person(study)
    revocation.revoke(Enrolment.objects.get(worker=ann.worker), why="Guessing.", by="user:eva", at=NOON)
    assert ben.client.post(ben.url("appeal", study.slug), {"text": "Not me."}).status_code == 409
    assert ben.client.post(ben.url("appeal", other.slug), {"text": "Not me."}).status_code == 404
    forged = reverse("annotation:appeal", args=[ann.token[:-3] + "xyz", study.slug])
    assert ben.client.post(forged, {"text": "Me."}).status_code == 403
    assert not Event.objects.filter(what="appealed").exists()


def test_leaving_says_first_what_follows_and_then_does_it():
    study = study_with_a_way(practice=0, questions=0, consent=False)
    ann = Person(study)
    assert b"This cannot be undone" in ann.client.get(ann.url("leave", study.slug)).content
    assert Enrolment.objects.get().state == "active"
    page = ann.client.post(ann.url("leave", study.slug), follow=True)
    assert (b"You have left this study." in page.content, ann.step) == (True, Step.WITHDRAWN)


def test_earnings_are_what_submitted_sittings_pay_with_the_rate_of_active_time():
    study = make_study(items_per_sitting=1, pay_per_sitting=0.5)
    make_items(study, 2)
    ann = Person(study)
    for _ in range(2):
        sitting = leasing.lease(ann.worker, study, "generate", at=timezone.now())[0]
        sitting.assignments.update(active_seconds=90)
        from annotation import submission

        submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=timezone.now())
    home = ann.client.get(ann.url("home")).content.decode()
    assert "1.00 USD" in home
    assert "20.00 USD an hour" in home


def test_the_page_of_ones_work_costs_a_fixed_number_of_queries(django_assert_num_queries):
    ann = Person(study_with_a_way())
    with django_assert_num_queries(10):
        ann.client.get(ann.url("home"))
    for slug in ("b", "c", "d"):
        make_worker(make_study(slug), ann.worker.code)
    with django_assert_num_queries(10):
        ann.client.get(ann.url("home"))


# --- The team's side ------------------------------------------------------------------------------
def reviewed(study):
    """ann has handed in a test with a writing, which waits."""
    ann = Person(study)
    ann.start()
    ann.client.post(ann.url("instructions_first", study.slug, "generate"))
    ann.start()
    false = {
        "question": "usable",
        "response": "informative",
        "wrong": "yes",
        "pairs.0.presupposition": "Power plants store current.",
        "pairs.0.correction": "Current is used as soon as it is made.",
    }
    ann.answer(false)
    assert b"Your test is in" in ann.answer(false).content
    return ann


def test_a_person_reads_the_writings_beside_the_known_ones_and_decides(client):
    study = make_study()
    make_items(study, 2)
    make_items(study, 2, role="qualification", prefix="t", gold=FALSE_ANSWER)
    ann = reviewed(study)
    client.force_login(make_researcher(study))
    assert "Read 1 test" in client.get(reverse("annotation:way_in", args=[study.slug])).content.decode()
    url = reverse("annotation:review", args=[study.slug])
    page = client.get(url).content.decode()
    assert "<strong>W001</strong>" in page
    attempt = Attempt.objects.get()
    refused = client.post(url, {"attempt": attempt.pk, "do": "fail", "why": " "})
    assert (refused.status_code, "Say why" in refused.content.decode()) == (422, True)
    assert client.post(url, {"attempt": attempt.pk, "do": "pass", "why": ""}).status_code == 302
    assert (ann.step, client.post(url, {"attempt": attempt.pk, "do": "fail", "why": "No."}).status_code) == (
        Step.WORK,
        409,
    )
    assert "No test waits" in client.get(url).content.decode()


def test_who_only_looks_changes_no_text_and_decides_nothing(client):
    study = study_with_a_way()
    client.force_login(make_onlooker(study))
    assert client.get(reverse("annotation:way_in", args=[study.slug])).status_code == 200
    assert client.post(reverse("annotation:set_consent", args=[study.slug]), {"text": "Mine."}).status_code == 403
    assert client.get(reverse("annotation:review", args=[study.slug])).status_code == 403
    client.force_login(make_researcher(name="stranger"))
    assert client.get(reverse("annotation:way_in", args=[study.slug])).status_code == 404


def test_a_new_text_becomes_the_next_version(client):
    study = study_with_a_way()
    client.force_login(make_researcher(study))
    url = reverse("annotation:set_consent", args=[study.slug])
    assert client.post(url, {"text": ""}).status_code == 422
    assert client.post(url, {"text": "Shorter."}).status_code == 302
    study.refresh_from_db()
    assert (study.consent_version, study.consent_texts.get(version=2).text) == (2, "Shorter.")


# --- What the page notices -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("posted", "kept"),
    [
        ({"sign-pasted": "12", "sign-typed": "3"}, {"pasted": 12, "typed": 3}),
        ({"sign-pasted": "-1", "sign-typed": "1e3", "sign-left": "²", "sign-other": "1"}, {}),
        ({"sign-away_seconds": "99999999"}, {}),
        ({}, {}),
    ],
)
def test_only_small_whole_numbers_are_read(posted, kept):
    assert signs.read(posted) == kept


def test_signs_only_grow():
    assert signs.merge({"pasted": 5, "left": 1}, {"pasted": 3, "typed": 2}) == {"pasted": 5, "typed": 2, "left": 1}


@pytest.mark.parametrize(("option", "kept"), [("on", {"pasted": 7}), ("off", {})])
def test_signs_come_with_the_draft_unless_the_study_switches_them_off(option, kept):
    study = make_study(signs=option)
    make_items(study, 1)
    ann = Person(study)
    sitting = leasing.lease(ann.worker, study, "generate", at=timezone.now())[0]
    page = ann.client.get(ann.url("work", sitting.pk, 1)).content.decode()
    assert ('name="sign-pasted"' in page) == (option == "on")
    ann.client.post(ann.url("draft", sitting.pk, 1), {"question": "usable", "sign-pasted": "7"})
    assert sitting.assignments.get().signs == kept
