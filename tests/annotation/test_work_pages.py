"""A worker's pages: no cookies, no way into anybody else's work, nothing typed is lost."""

import re
from datetime import timedelta

import pytest
from django.core import signing
from django.urls import reverse
from django.utils import timezone

from annotation import leasing, links, qualification, submission
from annotation.models import Annotation, Assignment, Sitting, Worker
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker
from tests.people import answer

pytestmark = pytest.mark.django_db
NORMAL = {"question": "usable", "response": "informative", "wrong": "no"}


def token(worker, at=None):
    return links.sign(worker, links.LINK, at=at or timezone.now())


def address(name, worker, *args):
    return reverse(f"annotation:{name}", args=[token(worker), *args])


@pytest.fixture
def ann():
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    return make_worker(study, "ann")


def open_sitting(worker):
    study = worker.enrolments.get().study
    return leasing.lease(worker, study, "generate", at=timezone.now())[0]


def test_a_worker_starts_answers_and_submits_without_script_and_without_a_cookie(client, ann):
    home = client.get(address("home", ann))
    assert "Find false assumptions" in home.content.decode()
    started = client.post(address("start", ann, "crepe-a", "generate"))
    sitting = Sitting.objects.get()
    assert re.search(rf"/sittings/{sitting.pk}/1/$", started.url)
    first = client.post(address("work", ann, sitting.pk, 1), {**NORMAL, "go": "next"})
    assert re.search(rf"/sittings/{sitting.pk}/2/$", first.url)
    last = client.post(address("work", ann, sitting.pk, 2), {**NORMAL, "go": "next"})
    assert last.url.endswith(f"/sittings/{sitting.pk}/done/")
    done = client.get(last.url)
    assert "All 2 answers are in" in done.content.decode()
    assert [a.answer for a in Annotation.objects.all()] == [NORMAL_ANSWER] * 2
    assert [dict(r.cookies) for r in (home, started, first, last, done)] == [{}] * 5


def test_next_names_what_is_missing_and_keeps_what_was_written(client, ann):
    sitting = open_sitting(ann)
    fields = {"question": "usable", "response": "informative", "wrong": "yes", "pairs.0.presupposition": "Is it so?"}
    page = client.post(address("work", ann, sitting.pk, 1), {**fields, "go": "next"})
    assert page.status_code == 422
    text = page.content.decode()
    assert "Write a statement, not a question: it ends with a question mark." in text
    assert "Write a sentence here." in text
    assert sitting.assignments.first().draft == {**fields}


def test_going_back_or_jumping_saves_and_asks_nothing(client, ann):
    sitting = open_sitting(ann)
    page = client.post(address("work", ann, sitting.pk, 2), {"question": "usable", "go": "back"})
    assert page.url.endswith("/1/")
    assert sitting.assignments.last().draft == {"question": "usable"}


def test_submitting_with_something_missing_goes_to_the_first_such_item(client, ann):
    sitting = open_sitting(ann)
    client.post(address("work", ann, sitting.pk, 1), {"question": "usable", "go": "2"})
    sent = client.post(address("work", ann, sitting.pk, 2), {**NORMAL, "go": "next"})
    assert sent.url.endswith("/1/?check=1")
    assert "1 thing to look at" in client.get(sent.url).content.decode()
    assert not Annotation.objects.exists()


def test_submitting_twice_shows_the_same_page_and_stores_once(client, ann):
    sitting = open_sitting(ann)
    for number in (1, 2):
        client.post(address("work", ann, sitting.pk, number), {**NORMAL, "go": "next"})
    again = client.post(address("submit", ann, sitting.pk))
    assert again.url.endswith("/done/")
    assert client.get(address("work", ann, sitting.pk, 1)).url.endswith("/done/")
    assert Annotation.objects.count() == 2


def test_a_draft_is_kept_and_answered_with_what_there_is_to_say(client, ann):
    sitting = open_sitting(ann)
    fields = {**NORMAL, "wrong": "yes", "pairs.0.presupposition": "They store it."}
    kept = client.post(address("draft", ann, sitting.pk, 1), {**fields, "active_seconds": "7"})
    said = "A sentence starts with “They”. Name the thing, so that the sentence stands alone."
    assert kept.json()["problems"] == [{"field": "pairs.0.presupposition", "text": said, "blocking": False}]
    assert Assignment.objects.first().draft == fields


def test_a_nul_character_is_refused_and_the_earlier_draft_stays(client, ann):
    sitting = open_sitting(ann)
    url = address("draft", ann, sitting.pk, 1)
    client.post(url, {"question": "usable", "pairs.0.correction": "good"})
    refused = client.post(url, {"question": "usable", "pairs.0.correction": "bad\x00"})
    assert (refused.status_code, refused.json()["problems"][0]["field"]) == (422, "pairs.0.correction")
    assert Assignment.objects.first().draft["pairs.0.correction"] == "good"


def test_a_lapsed_sitting_says_so_and_can_still_be_submitted(client, ann):
    sitting = open_sitting(ann)
    leasing.expire(at=timezone.now() + timedelta(hours=2))
    assert "Your time for this sitting ran out" in client.get(address("work", ann, sitting.pk, 1)).content.decode()
    for number in (1, 2):
        page = client.post(address("work", ann, sitting.pk, number), {**NORMAL, "go": "next"})
    assert page.url.endswith("/done/")
    assert Annotation.objects.filter(uncounted="").count() == 2


def test_giving_back_asks_first(client, ann):
    sitting = open_sitting(ann)
    url = address("give_back", ann, sitting.pk)
    assert "Give back 2 items?" in client.get(url).content.decode()
    sitting.refresh_from_db()
    assert sitting.state == "leased"
    assert "Given back" in client.get(client.post(url).url).content.decode()


def test_the_instructions_are_a_page_of_their_own(client, ann):
    page = client.get(address("instructions", ann, open_sitting(ann).pk))
    assert (page.status_code, "Back to the items" in page.content.decode()) == (200, True)


def test_nothing_left_is_a_sentence_on_the_page_of_ones_work(client):
    worker = make_worker(make_study(), "ann")
    page = client.post(address("start", worker, "crepe-a", "generate"))
    assert (page.status_code, "There is nothing left for you to do here" in page.content.decode()) == (409, True)


@pytest.mark.parametrize("name", ["work", "draft", "submit", "give_back", "done", "instructions"])
def test_another_workers_sitting_does_not_exist(client, ann, name):
    sitting = open_sitting(ann)
    other = make_worker(sitting.study, "ben")
    args = (sitting.pk, 1) if name in ("work", "draft") else (sitting.pk,)
    ask = client.post if name in ("draft", "submit") else client.get
    assert ask(address(name, other, *args)).status_code == 404


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda worker: "x" + token(worker), "This link does not work."),
        (lambda worker: token(worker)[:-1], "This link does not work."),
        (lambda worker: signing.dumps({"a": 1}, salt=links.LINK), "This link does not work."),
        (lambda worker: links.sign(worker, links.TOKEN, at=timezone.now()), "This link does not work."),
        (lambda worker: token(worker, timezone.now() - timedelta(days=91)), "This link has expired."),
    ],
)
def test_a_bad_link_is_refused_with_a_sentence(client, ann, spoil, said):
    page = client.get(reverse("annotation:home", args=[spoil(ann)]))
    assert (page.status_code, said in page.content.decode()) == (403, True)


def test_a_revoked_link_is_refused(client, ann):
    url = address("home", ann)
    qualification.revoke_links(ann)
    page = client.get(url)
    assert (page.status_code, "replaced or withdrawn" in page.content.decode()) == (403, True)


def test_the_enrolment_link_makes_a_worker_with_a_link_of_their_own(client):
    study = make_study()
    study.enrolment_open = True
    study.save()
    url = links.enrolment_link(study).removeprefix("http://127.0.0.1:8000")
    assert "Join the study" in client.get(url).content.decode()
    assert Worker.objects.count() == 0
    joined = client.post(url).content.decode()
    link = re.search(r'value="http://127.0.0.1:8000([^"]+)"', joined).group(1)
    assert "Find false assumptions" in client.get(link).content.decode()
    study.enrolment_open = False
    study.save()
    assert client.get(url).status_code == 403


def test_html_in_a_text_is_shown_as_text(client, ann):
    sitting = open_sitting(ann)
    item = sitting.assignments.first().item
    item.payload |= {"question": "<script>alert(1)</script>", "comment": "<img src=x onerror=alert(2)>"}
    item.save()
    client.post(address("draft", ann, sitting.pk, 1), {"pairs.0.correction": "</textarea><script>alert(3)</script>"})
    text = client.get(address("work", ann, sitting.pk, 1)).content.decode()
    assert "alert(1)" in text
    assert not re.search(r"<script>|<img|</textarea><script", text)


def test_a_validator_sees_both_annotations_blind_and_the_letter_that_is_stored_is_the_true_one(client):
    study = make_study(items_per_sitting=20)
    make_items(study, 20)
    for code, wrong in (("ann", "no"), ("ben", "yes")):
        sitting = make_sitting(study, code, at=timezone.now())
        pair = {"pairs.0.presupposition": "Power plants store current.", "pairs.0.correction": "None is stored there."}
        for assignment in sitting.assignments.all():
            fields = {**NORMAL, "wrong": wrong, **(pair if wrong == "yes" else {})}
            submission.save_draft(assignment, fields, active_seconds=1, at=timezone.now())
        submission.submit(sitting, {}, at=timezone.now())
    cat = make_worker(study, "cat")
    sitting = leasing.lease(cat, study, "validate", at=timezone.now())[0]
    orders = set()  # drawn for each assignment: of twenty not all are alike
    for number in range(1, 21):
        text = client.get(address("work", cat, sitting.pk, number)).content.decode()
        assert "ann" not in re.sub(r'/w/[^/"]+|annotation|Another|cannot', "", text)
        cards = re.findall(r'id="card-([AB])".*?verdict-label">([^<]+)<', text, re.DOTALL)
        keys = dict(re.findall(r'value="([AB])" data-key="([ab])"', text))
        shown = dict(cards)
        assert shown[keys["A"].upper()] == "The question assumes nothing wrong"
        assert shown[keys["B"].upper()] == "The question assumes something wrong"
        orders.add(keys["A"])
    assert orders == {"a", "b"}


def test_where_both_annotations_have_writings_a_validator_sees_which_words_differ(client):
    """In CREPE validators judge different labels; a protocol may let them judge two texts."""
    study = make_study(items_per_sitting=1)
    make_items(study, 1)
    pair = FALSE_ANSWER["pairs"][0]
    other = {**FALSE_ANSWER, "pairs": [{**pair, "presupposition": "Power plants keep current."}]}
    for code, given in (("ann", NORMAL_ANSWER), ("ben", FALSE_ANSWER)):
        answer(study, code, given)
    cat = make_worker(study, "cat")
    sitting = leasing.lease(cat, study, "validate", at=timezone.now())[0]
    page = client.get(address("work", cat, sitting.pk, 1)).content.decode()
    assert "<mark>" not in page
    Annotation.objects.filter(worker__code="ann").update(answer=other)
    page = client.get(address("work", cat, sitting.pk, 1)).content.decode()
    assert sorted(re.findall(r"<dd>(.*?)</dd>", page)) == [
        *[pair["correction"]] * 2,
        "Power plants <mark>keep</mark> current.",
        "Power plants <mark>store</mark> current.",
    ]
    assert "A differs in the underlined words." in page
    assert "B differs in the underlined words." in page


@pytest.mark.parametrize("size", [1, 10])
def test_the_page_of_an_item_costs_a_fixed_number_of_queries(client, django_assert_num_queries, size):
    study = make_study(items_per_sitting=size)
    make_items(study, 10)
    worker = make_worker(study, "ann")
    sitting = leasing.lease(worker, study, "generate", at=timezone.now())[0]
    with django_assert_num_queries(4):
        client.get(address("work", worker, sitting.pk, 1))
