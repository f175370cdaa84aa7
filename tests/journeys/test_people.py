"""A person comes in, works, is revoked and answers; an admin looks first, excludes, and others finish the work."""

from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import jobs, links, way_in
from annotation.models import Annotation, Appeal, Enrolment, Item, Job, Qualification
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from tests.people import PASSWORD, answer, make_researcher
from validation import quality

pytestmark = pytest.mark.django_db(transaction=True)
DESK, PHONE = {"viewport": {"width": 1280, "height": 800}}, {"viewport": {"width": 390, "height": 844}}


@pytest.fixture
def study():
    """With consent, one practice item, a test of one writing, and two people at work already, of whom one is bad."""
    made = make_study("plants", title="Power plants", items_per_sitting=2, pay_per_sitting=0.5, revoke_after=1)
    make_items(made, 6)
    make_items(made, 1, role="practice", prefix="p", gold=NORMAL_ANSWER)
    make_items(made, 1, role="qualification", prefix="t", gold=FALSE_ANSWER)
    answer(made, "ann", NORMAL_ANSWER, NORMAL_ANSWER)
    answer(made, "bad", NORMAL_ANSWER, NORMAL_ANSWER)
    way_in.set_consent(made, "We keep what you write.", by="user:maria", at=timezone.now())
    made.enrolment_open = True
    made.save(update_fields=["enrolment_open"])
    make_researcher(made)
    return made


def log_in(page, then):
    page.goto(f"/accounts/login/?next={then}")
    page.get_by_label("Login", exact=True).fill("maria")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def keys(page, *pressed):
    expect(page.locator("#item[data-ready]")).to_be_visible()
    for key in pressed:
        page.keyboard.press(key)


def write_pair(page):
    keys(page, "1", "4", "y")
    page.keyboard.type("Power plants store current.")
    page.keyboard.press("Tab")
    page.keyboard.type("Current is used as soon as it is made.")


def test_from_the_enrolment_link_to_work_revocation_and_appeal(new_page, study, axe, screenshots):
    phone, desk = new_page(**PHONE), new_page(**DESK)
    phone.goto(urlsplit(links.enrolment_link(study)).path)
    phone.get_by_role("button", name="Join the study").click()
    phone.goto(urlsplit(phone.get_by_role("link", name="Begin").get_attribute("href")).path)
    phone.get_by_role("button", name="Start: Find false assumptions").click()
    expect(phone.get_by_text("We keep what you write.")).to_be_visible()
    expect(phone.get_by_role("heading", name="What is noted while you work")).to_be_visible()
    axe(phone)
    phone.screenshot(path=screenshots / "consent-390.png", full_page=True, caret="initial")
    phone.get_by_role("button", name="I have read this and agree").click()
    axe(phone)
    phone.get_by_role("button", name="I have read this: go on").click()

    keys(phone, "2")  # practice, wrong at first
    phone.keyboard.press("Control+Enter")
    expect(phone.get_by_text("Not yet right.")).to_be_visible()
    axe(phone)
    keys(phone, "1", "4", "n")
    phone.keyboard.press("Control+Enter")
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    phone.keyboard.press("Control+Enter")
    expect(phone.get_by_role("heading", name="Practice is done")).to_be_visible()
    phone.get_by_role("button", name="Go on").click()

    expect(phone.get_by_text("This is the test.")).to_be_visible()
    write_pair(phone)
    phone.keyboard.press("Control+Enter")
    expect(phone.get_by_role("heading", name="Your test is in")).to_be_visible()

    log_in(desk, "/studies/plants/way-in/")
    axe(desk)
    desk.get_by_role("link", name="Read 1 test").click()
    expect(desk.get_by_text("Power plants store current.")).to_have_count(2)
    axe(desk)
    desk.screenshot(path=screenshots / "review-1280.png", full_page=True, caret="initial")
    desk.keyboard.press("p")
    expect(desk.get_by_text("No test waits to be read.")).to_be_visible()
    assert Qualification.objects.get(enrolment__number=3).state == "qualified"

    phone.get_by_role("link", name="Your work").click()
    phone.get_by_role("button", name="Start: Find false assumptions").click()
    for number in ("1 of 2", "2 of 2"):
        expect(phone.locator("#item[data-ready] [data-heading]")).to_have_text(number)
        keys(phone, "1", "4", "n")
        phone.keyboard.press("Control+Enter")
    expect(phone.get_by_role("heading", name="Thank you. All 2 answers are in")).to_be_visible()
    phone.get_by_role("link", name="Your work").click()
    expect(phone.get_by_text("0.50 USD").first).to_be_visible()
    axe(phone)
    theirs = Annotation.objects.filter(worker__enrolments__number=3)
    assert set(theirs.values_list("consent", flat=True)) == {1}

    desk.goto("/studies/plants/people/revoke/?w=3")
    desk.get_by_label("Reason").fill("Your answers came too fast.")
    desk.get_by_role("button", name="Show what follows").click()
    desk.get_by_role("button", name="Revoke 1 worker").click()
    expect(desk.get_by_role("heading", name="Workers", exact=True)).to_be_visible()

    phone.reload()
    expect(phone.get_by_text("Your answers came too fast.")).to_be_visible()
    axe(phone)
    phone.screenshot(path=screenshots / "revoked-390.png", full_page=True, caret="initial")
    phone.get_by_label("If you think this is wrong").fill("I know the subject well.")
    phone.get_by_role("button", name="Send your answer").click()
    expect(phone.get_by_text("A person will read it")).to_be_visible()

    desk.goto("/studies/plants/people/appeals/")
    axe(desk)
    desk.get_by_label("Your answer").fill("We see; welcome back.")
    desk.get_by_role("button", name="Grant").click()
    expect(desk.get_by_text("No appeal waits.")).to_be_visible()
    phone.reload()
    expect(phone.get_by_role("button", name="Start: Find false assumptions")).to_be_visible()
    assert Appeal.objects.get().outcome == "granted"


def test_an_admin_looks_first_excludes_and_others_finish_what_is_missing(new_page, study, axe, screenshots):
    quality.refresh(study, at=timezone.now(), everybody=True)
    desk = new_page(**DESK)
    log_in(desk, "/studies/plants/people/")
    axe(desk)
    desk.screenshot(path=screenshots / "people-1280.png", full_page=True, caret="initial")
    desk.get_by_label("Choose W002").check()
    desk.get_by_role("button", name="Revoke those chosen").click()
    desk.get_by_label("exclude it").check()
    desk.get_by_label("Reason").fill("The same answer to everything.")
    desk.get_by_role("button", name="Show what follows").click()
    expect(desk.get_by_text("2 answers excluded; they stay stored and paid.")).to_be_visible()
    axe(desk)
    desk.get_by_role("button", name="Revoke 1 worker, reopen 2 items").click()
    expect(desk.get_by_role("heading", name="Setting work aside")).to_be_visible()
    jobs.run(Job.objects.get().pk)
    expect(desk.get_by_text("2 answers on 2 items; 2 seats opened")).to_be_visible()
    reopened = Item.objects.filter(open_seats=1, role="work")
    assert reopened.count() == 2
    answer_as_new(study)
    assert set(Item.objects.filter(ref__in=["q1", "q2"]).values_list("state", flat=True)) == {"settled"}
    for path in ("people/2/", "people/recollect/", "log/", "people/", "way-in/"):
        for size in (PHONE, DESK):
            page = new_page(**size)
            log_in(page, f"/studies/plants/{path}")
            expect(page.locator("h1")).to_be_visible()
            axe(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= size["viewport"]["width"]
            name = f"{path.strip('/').replace('/', '-')}-{size['viewport']['width']}.png"
            page.screenshot(path=screenshots / name, caret="initial")


def answer_as_new(study):
    """Somebody who has met nothing does all there is."""
    make_worker(study, "new")
    Enrolment.objects.update(consent=1, consented_at=timezone.now())
    for _ in range(3):
        answer(study, "new", NORMAL_ANSWER, NORMAL_ANSWER)
