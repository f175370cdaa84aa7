"""A worker's pages under a scoped link: one place, in a frame, without a cookie, and nothing proven."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import leasing, links, qualification, submission, way_in
from annotation.models import Annotation, Enrolment, Feedback, Sitting
from tests.factories import NORMAL_ANSWER, make_items, make_study, make_worker

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
NORMAL = {"question": "usable", "response": "informative", "wrong": "no"}
HOST, THEN = "https://work.example", "/go/on/"
HTMX = {"HX-Request": "true"}


class Frame:
    """A browser's frame with a scoped link; it checks of every page that it may be framed, and sets no cookie."""

    def __init__(self, worker, study, sitting=None, until=timedelta(hours=1)):
        self.client, self.sitting = Client(enforce_csrf_checks=True), sitting
        self.token = links.sign_scope(
            worker, study, "generate", sitting=sitting, then=THEN, until=timezone.now() + until
        )

    def url(self, name, *args):
        return reverse(f"annotation:{name}", args=[self.token, *args])

    def get(self, name, *args, **how):
        return self.seen(self.client.get(self.url(name, *args), **how))

    def post(self, name, *args, data=None, **how):
        return self.seen(self.client.post(self.url(name, *args), data or {}, **how))

    def answer(self, number, fields=NORMAL, go="next", **how):
        return self.post("work", self.sitting.pk, number, data={**fields, "go": go}, **how)

    def seen(self, response):
        assert "X-Frame-Options" not in response.headers
        assert f"frame-ancestors {HOST};" in f"{response.headers['Content-Security-Policy']};"
        assert not response.cookies
        return response


@pytest.fixture(autouse=True)
def framing(settings):
    settings.TASK_FRAME_HOSTS = [HOST]


@pytest.fixture
def study():
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    return study


@pytest.fixture
def frame(study):
    ann = make_worker(study, "ann")
    return Frame(ann, study, leasing.lease(ann, study, "generate", at=timezone.now())[0])


def leads_on(response):
    return response.status_code == 302 and response.url == THEN


def test_a_sitting_is_done_in_the_frame_and_is_unconfirmed(frame):
    assert frame.get("work", frame.sitting.pk, 1).status_code == 200
    kept = frame.post("draft", frame.sitting.pk, 1, data=NORMAL)
    assert (kept.status_code, kept.json()["problems"]) == (200, [])
    assert frame.answer(1).url == frame.url("work", frame.sitting.pk, 2)
    assert leads_on(frame.answer(2))
    assert list(Annotation.objects.values_list("uncounted", "answer")) == [("unconfirmed", NORMAL_ANSWER)] * 2


def test_with_scripts_too(frame):
    turned = frame.answer(1, headers=HTMX)
    assert (turned.status_code, turned.headers["HX-Push-Url"]) == (200, frame.url("work", frame.sitting.pk, 2))
    assert "give back" not in turned.content.decode()
    for _ in range(2):  # the second finds the sitting closed
        assert frame.answer(2, headers=HTMX).headers["HX-Redirect"] == THEN


def test_the_same_sitting_through_the_personal_link_is_proven(client, frame):
    token = links.sign(frame.sitting.worker, links.LINK, at=timezone.now())
    for number in (1, 2):
        url = reverse("annotation:work", args=[token, frame.sitting.pk, number])
        response = client.post(url, {**NORMAL, "go": "next"})
    assert response.url.endswith("/done/")
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {""}


def test_the_pages_lead_nowhere_else_and_offer_no_giving_back(frame):
    pk, home = frame.sitting.pk, frame.url("home")
    for page in (frame.get("work", pk, 1), frame.get("instructions", pk)):
        text = page.content.decode()
        assert '<span class="brand">Study crepe-a</span>' in text
        assert f'href="{home}"' not in text
        assert "give back" not in text
        assert "Your work" not in text
    text = frame.get("work", pk, 1).content.decode()
    assert ('id="help"' in text, f'href="{frame.url("instructions", pk)}"' in text) == (True, True)
    own = links.sign(frame.sitting.worker, links.LINK, at=timezone.now())
    whole = Client().get(reverse("annotation:work", args=[own, pk, 1])).content.decode()
    assert ("give back" in whole, f'href="{reverse("annotation:home", args=[own])}"' in whole) == (True, True)


@pytest.mark.parametrize("name", ["home", "start", "leave", "appeal", "done", "feedback", "give_back"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_whatever_is_no_part_of_the_task_leads_on_and_does_nothing(frame, name, method):
    places = {"home": [], "start": ["crepe-a", "generate"], "leave": ["crepe-a"], "appeal": ["crepe-a"]}
    asked = getattr(frame, method)(name, *places.get(name, [frame.sitting.pk]))
    assert leads_on(asked)
    assert (Sitting.objects.get().state, Enrolment.objects.get().state) == ("leased", "active")
    assert not Feedback.objects.exists()


def test_another_sitting_of_the_same_worker_is_not_opened(frame, study):
    ann = frame.sitting.worker
    submission.submit(frame.sitting, {a.pk: NORMAL_ANSWER for a in frame.sitting.bundle}, at=timezone.now())
    other = leasing.lease(ann, study, "generate", at=timezone.now())[0]
    nowhere = Frame(ann, study)
    for each in (frame, nowhere):
        for name in ("done", "feedback", "instructions", "give_back"):
            assert each.get(name, other.pk).status_code == 404
        for name in ("work", "draft"):
            assert each.post(name, other.pk, 1, data=NORMAL).status_code == 404
        assert each.post("submit", other.pk).status_code == 404
    assert nowhere.get("work", frame.sitting.pk, 1).status_code == 404
    assert other.assignments.filter(draft__isnull=True).count() == 2


def test_another_study_or_stage_is_not_opened(frame, study):
    make_worker(make_study("crepe-b"), "ann")
    for name in ("consent", "instructions_first", "start"):
        for place in (("crepe-b", "generate"), ("crepe-a", "validate")):
            assert frame.post(name, *place).status_code == 404
    assert frame.post("leave", "crepe-b").status_code == 404
    assert set(Enrolment.objects.values_list("state", flat=True)) == {"active"}


@pytest.mark.parametrize("state", ["submitted", "returned", "withdrawn"])
def test_once_the_sitting_is_closed_every_page_of_it_leads_on(frame, state):
    now = timezone.now()
    if state == "submitted":
        submission.submit(frame.sitting, {a.pk: NORMAL_ANSWER for a in frame.sitting.bundle}, at=now)
    else:
        leasing.release([frame.sitting], state, by="test", at=now)
    pk = frame.sitting.pk
    assert leads_on(frame.get("work", pk, 1))
    assert leads_on(frame.answer(1))
    assert leads_on(frame.post("submit", pk))
    assert leads_on(frame.get("instructions", pk))


def test_a_click_beside_the_one_that_hands_the_sitting_in_leads_on(frame, monkeypatch):
    """The second request read the sitting before the first one closed it."""
    from annotation.views import work

    read = work._open

    def then_closed(worker, pk):
        found = read(worker, pk)
        mine = Sitting.objects.select_related("study", "worker").get(pk=pk)
        submission.submit(mine, {a.pk: NORMAL_ANSWER for a in mine.bundle}, at=timezone.now())
        return found

    monkeypatch.setattr(work, "_open", then_closed)
    assert leads_on(frame.answer(2))
    assert frame.post("draft", frame.sitting.pk, 1, data=NORMAL).status_code == 409  # said to the script


def test_a_sitting_taken_back_while_it_is_handed_in_leads_on(frame, monkeypatch):
    from annotation.views import work

    read = work._open

    def then_taken_back(worker, pk):
        found = read(worker, pk)
        leasing.release([Sitting.objects.select_related("study").get(pk=pk)], "withdrawn", by="test", at=timezone.now())
        return found

    monkeypatch.setattr(work, "_open", then_taken_back)
    assert leads_on(frame.post("submit", frame.sitting.pk))


def test_a_lapsed_sitting_can_still_be_done(frame):
    leasing.expire(at=timezone.now() + timedelta(hours=2))
    assert "Your time for this sitting ran out" in frame.get("work", frame.sitting.pk, 1).content.decode()
    frame.answer(1)
    assert leads_on(frame.answer(2))


def test_what_is_missing_is_said_before_anything_is_handed_in(frame):
    assert frame.answer(1, {}).status_code == 422
    assert frame.post("submit", frame.sitting.pk).url.endswith("/1/?check=1")
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("end", ["expired", "revoked"])
def test_a_scope_that_is_over_says_so_in_the_frame(study, end):
    ann = make_worker(study, "ann")
    over = Frame(ann, study, until=timedelta(seconds=-5) if end == "expired" else timedelta(hours=1))
    if end == "revoked":
        qualification.revoke_links(ann)
    page, said = over.get("home"), {"expired": "has expired", "revoked": "replaced or withdrawn"}[end]
    assert (page.status_code, said in page.content.decode()) == (403, True)


# --- The way in -----------------------------------------------------------------------------------


@pytest.fixture
def newcomer(study):
    make_items(study, 1, role="practice", prefix="p", gold=NORMAL_ANSWER)
    way_in.set_consent(study, "We keep your answers.", by="user:eva", at=timezone.now())
    worker = make_worker(study, "new", stages=[])
    qualification.enrol(worker, study, "generate", by="test", at=timezone.now())
    return worker


def test_consent_and_instructions_lead_on_where_they_would_start(study, newcomer):
    frame, here = Frame(newcomer, study), ("crepe-a", "generate")
    text = frame.get("consent", *here).content.decode()
    assert ("We keep your answers." in text, "Not now" in text, "Your work" in text) == (True, False, False)
    assert frame.post("consent", *here, data={"version": "9"}).status_code == 409
    assert leads_on(frame.post("consent", *here, data={"version": "1"}))
    assert "how it is done" in frame.get("instructions_first", *here).content.decode()
    assert leads_on(frame.post("instructions_first", *here))
    assert way_in.step_of(newcomer, study, "generate") == "practice"


def test_where_nothing_has_to_be_agreed_to_consent_leads_on(frame):
    assert leads_on(frame.get("consent", "crepe-a", "generate"))


def test_practice_in_the_frame_counts_as_ever(study, newcomer):
    way_in.agree(newcomer, study, 1, at=timezone.now())
    way_in.read_instructions(newcomer, study, "generate", at=timezone.now())
    sitting = way_in.open_sitting(newcomer, study, "generate", way_in.Step.PRACTICE, at=timezone.now())
    frame = Frame(newcomer, study, sitting)
    assert "Right." in frame.answer(1).content.decode()
    assert leads_on(frame.answer(1))
    assert list(Annotation.objects.values_list("uncounted", flat=True)) == ["practice"]
    assert way_in.step_of(newcomer, study, "generate") == "work"


# --- Everything else ------------------------------------------------------------------------------


def test_pages_of_personal_links_are_never_framed(client, study):
    ann = make_worker(study, "ann")
    token = links.sign(ann, links.LINK, at=timezone.now())
    for address in (reverse("annotation:home", args=[token]), "/w/nonsense/", "/accounts/login/"):
        headers = client.get(address).headers
        assert headers["X-Frame-Options"] == "DENY", address
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], address
