"""The way in on a phone with the real practice and test; a researcher reads it; every state of one's own page."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import intake, links, qualification, revocation, way_in
from annotation.models import Annotation, Assignment, Qualification, Study
from tests.factories import LONG_AGO, NORMAL_ANSWER, make_items, make_study, make_worker
from tests.people import PASSWORD, answer, make_researcher

pytestmark = pytest.mark.django_db(transaction=True)
DATA = Path(__file__).parents[2] / "data"
PHONE, DESK = {"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 1280, "height": 800}}
TEXT = """The university of this town asks you, for a study of how people read questions.

Your answers are kept under a code, not under your name."""


@pytest.fixture
def study():
    """As the demo's: consent, CREPE's practice items, and three questions of its test."""
    made = make_study("veins", title="Veins", items_per_sitting=2, pay_per_sitting=1.3, max_qualified=3)
    make_items(made, 4)
    for role, name, count in (("practice", "practice", 4), ("qualification", "qualification20", 3)):
        rows = [json.loads(line) for line in (DATA / f"crepe_{name}.jsonl").read_text().splitlines()]
        intake.import_items(made, rows[:count], role=role, by="test", at=LONG_AGO)
    way_in.set_consent(made, TEXT, by="user:maria", at=timezone.now())
    made.enrolment_open = True
    made.save(update_fields=["enrolment_open"])
    make_researcher(made)
    return made


def keys(page, *pressed):
    expect(page.locator("#item[data-ready]")).to_be_visible()
    for key in pressed:
        page.keyboard.press(key)


def write(page, assumption, correction):
    keys(page, "1", "4", "y")
    page.keyboard.type(assumption)
    page.keyboard.press("Tab")
    page.keyboard.type(correction)


def go_on(page):
    """Next, and wait until the item that answers it is there."""
    page.locator("#item").evaluate("form => form.removeAttribute('data-ready')")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#item[data-ready]").or_(page.locator("main:not(:has(#item))"))).to_be_visible()


def look(page, axe, screenshots, name, heading):
    """The page with this heading: no barrier, nothing beyond the edge, and a picture for people."""
    expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    page.wait_for_load_state()
    axe(page)
    width = page.viewport_size["width"]
    # Hiding the caret would be an inline style, which our policy refuses.
    page.screenshot(path=screenshots / f"way-in-{name}-{width}.png", full_page=True, caret="initial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_newcomer_on_a_phone_practises_passes_and_reaches_the_first_item_of_work(new_page, study, axe, screenshots):
    phone, desk = new_page(**PHONE), new_page(**DESK)
    phone.goto(urlsplit(links.enrolment_link(study)).path)
    look(phone, axe, screenshots, "join", "Veins")
    phone.get_by_role("button", name="Join the study").click()
    phone.goto(urlsplit(phone.get_by_role("link", name="Begin").get_attribute("href")).path)
    look(phone, axe, screenshots, "home-new", "Your work")
    start = phone.get_by_role("button", name="Start: Find false assumptions")
    start.click()
    look(phone, axe, screenshots, "consent", "Before you begin")
    way_in.set_consent(study, TEXT + " You can stop at any time.", by="user:maria", at=timezone.now())
    phone.get_by_role("button", name="I have read this and agree").click()
    expect(phone.get_by_text("The text was changed while you read it.")).to_be_visible()
    phone.get_by_role("button", name="I have read this and agree").click()
    look(phone, axe, screenshots, "instructions", "Find false assumptions: how it is done")
    phone.get_by_role("button", name="I have read this: go on").click()

    keys(phone, "2")
    go_on(phone)
    expect(phone.get_by_text("Not yet right.")).to_be_visible()
    look(phone, axe, screenshots, "practice-wrong", "1 of 4")
    keys(phone, "1", "4", "n")
    go_on(phone)
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    look(phone, axe, screenshots, "practice-right", "1 of 4")
    go_on(phone)
    expect(phone.get_by_role("heading", name="2 of 4")).to_be_visible()
    write(phone, "Goldfish remember things for three seconds only.", "Goldfish can remember for months.")
    go_on(phone)
    expect(phone.get_by_text("We would write, for example:")).to_be_in_viewport()
    expect(phone.locator("[data-saved]")).not_to_have_text("saving")
    look(phone, axe, screenshots, "practice-known", "2 of 4")
    phone.get_by_role("button", name="Next").click()  # nothing lies above it, however long the explanation
    expect(phone.get_by_role("heading", name="3 of 4")).to_be_visible()
    keys(phone, "2")
    go_on(phone)
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    go_on(phone)
    expect(phone.get_by_role("heading", name="4 of 4")).to_be_visible()
    write(phone, "People see black with closed eyes.", "What they see is dark grey.")
    go_on(phone)
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    phone.get_by_role("link", name="Veins").click()  # leaves before the last Submit: nothing is lost
    look(phone, axe, screenshots, "home-test", "Your work")
    phone.get_by_role("button", name="Go on where you left off").click()

    expect(phone.get_by_text("This is the test.")).to_be_visible()
    look(phone, axe, screenshots, "test", "1 of 3")
    for n in range(3):
        expect(phone.get_by_role("heading", name=f"{n + 1} of 3")).to_be_visible()
        write(phone, f"Assumption {n} of this question.", f"Correction {n} of it.")
        go_on(phone)
    expect(phone.get_by_role("heading", name="Thank you. Your test is in")).to_be_visible()
    look(phone, axe, screenshots, "test-done", "Thank you. Your test is in")
    phone.get_by_role("link", name="Your work").click()
    expect(phone.get_by_text("within 24 hours")).to_be_visible()
    look(phone, axe, screenshots, "home-review", "Your work")

    desk.goto("/accounts/login/?next=/studies/veins/way-in/")
    desk.get_by_label("Login", exact=True).fill("maria")
    desk.get_by_label("Password").fill(PASSWORD)
    desk.get_by_role("button", name="Log in").click()
    expect(desk.get_by_role("link", name="Way in 1 test waits to be read")).to_be_visible()
    look(desk, axe, screenshots, "console", "Way in")
    desk.get_by_role("link", name="Read 1 test").click()
    look(desk, axe, screenshots, "review", "Read tests")
    desk.set_viewport_size(PHONE["viewport"])
    look(desk, axe, screenshots, "review", "Read tests")
    desk.keyboard.press("f")  # failing needs a reason first
    expect(desk.get_by_text("Say why: the person reads it on their page.")).to_be_visible()
    expect(desk.get_by_label("Reason")).to_be_focused()
    desk.keyboard.press("Escape")
    desk.keyboard.press("p")
    expect(desk.get_by_text("No test waits to be read.")).to_be_visible()
    desk.goto("/studies/veins/way-in/")
    look(desk, axe, screenshots, "console", "Way in")

    phone.reload()
    start.click()
    keys(phone, "1")
    expect(phone.get_by_text("1.30 USD for this sitting")).to_be_visible()
    look(phone, axe, screenshots, "work", "1 of 2")
    assert Assignment.objects.filter(role="work", state="leased").count() == 2


def test_every_state_of_ones_own_page_reads_well(new_page, study, axe, screenshots):
    now = timezone.now()
    ann = qualification.join(study, at=now)
    for slug, state in (("failed", "failed"), ("full", "full"), ("done", "qualified"), ("empty", "qualified")):
        other = make_study(slug, title=f"A study that is {slug}", pay_per_sitting=0.5, max_annotations=1)
        make_items(other, 2 if slug == "done" else 0)
        make_worker(other, ann.code, stages=["generate"])
        Qualification.objects.filter(enrolment__study=other).update(state=state)
    answer(Study.objects.get(slug="done"), ann.code, NORMAL_ANSWER)
    Annotation.objects.update(active_seconds=120, upheld=True)
    for slug, granted in (("revoked", None), ("refused", False), ("granted", True)):
        other = make_study(slug, title=f"A study with a person {slug}")
        make_worker(other, ann.code)
        enrolment = other.enrolments.get()
        revocation.revoke(enrolment, why="Nine of ten answers were copied.", by="user:eva", at=now)
        if granted is not None:
            appeal = revocation.appeal(enrolment, "I wrote them.", at=now)
            revocation.decide_appeal(appeal, granted=granted, answer="We looked again.", by="user:eva", at=now)
    for size in (PHONE, DESK):
        page = new_page(**size)
        page.goto(urlsplit(links.personal_link(ann, at=now)).path)
        expect(page.get_by_text("15.00 USD an hour")).to_be_visible()
        look(page, axe, screenshots, "home-states", "Your work")
        page.get_by_role("link", name="Leave “Veins”").click()
        look(page, axe, screenshots, "leave", "Leave “Veins”")
        page.goto("/accounts/login/?next=/studies/veins/way-in/")
        page.get_by_label("Login", exact=True).fill("maria")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("Which").first.click()
        look(page, axe, screenshots, "console-on-the-way", "Way in")


@pytest.mark.parametrize("signs", ["on", "off"])
def test_what_the_page_notices_is_counts_and_only_where_the_study_says_so(page, signs):
    study = make_study("veins", signs=signs)
    make_items(study, 1)
    page.goto(urlsplit(links.personal_link(make_worker(study), at=timezone.now())).path)
    page.get_by_role("button", name="Start: Find false assumptions").click()
    write(page, "Plants store it.", "")
    page.get_by_label("The assumption, as a sentence").first.press("Control+a")
    page.keyboard.press("Control+c")
    page.get_by_label("The correction, in your own words").first.press("Control+v")
    page.evaluate("dispatchEvent(new Event('blur')); dispatchEvent(new Event('focus'))")
    page.keyboard.type("!")
    expect(page.locator("[name='pairs.0.correction']")).to_have_value("Plants store it.!")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Thank you. Your answer is in")).to_be_visible()
    noticed = Annotation.objects.get().signs
    counted = {"pasted": 16, "typed": 17, "left": 1, "away_seconds": 0}
    assert {name: noticed[name] for name in noticed if name != "composing_seconds"} == (
        counted if signs == "on" else {}
    )
