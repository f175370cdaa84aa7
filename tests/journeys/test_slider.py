"""A rater drags and keys the slider through practice, screening and a sitting; the researcher sees what came of it."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import intake, jobs, links, qualification, simulation
from annotation.models import Annotation, Assignment, Attempt, Feedback, Job, Try
from annotation.protocols.slider import Scale
from tests.factories import LONG_AGO, make_worker
from tests.people import PASSWORD, make_researcher
from tests.slider import make_slider_study
from validation import labelling

pytestmark = pytest.mark.django_db(transaction=True)
DATA = Path(__file__).parents[2] / "data"
PHONE, DESK = {"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 1280, "height": 800}}


@pytest.fixture
def study():
    """As the demo's, but for small sittings."""
    made = make_slider_study(items_per_sitting=4, fillers_per_sitting=2, max_share=0.5, pay_per_sitting=2.5)
    for role, name in (
        ("work", "pairs"),
        ("filler", "fillers"),
        ("practice", "practice"),
        ("qualification", "prescreener"),
    ):
        with (DATA / f"nope_{name}.jsonl").open("rb") as file:
            intake.import_items(made, file, role=role, by="test", at=LONG_AGO)
    return made


def track(page):
    expect(page.locator("#item[data-ready]")).to_be_visible()
    return page.locator("[data-track]")


def put(page, position):
    """By the mouse, in one drag from the middle."""
    track(page).evaluate("element => element.scrollIntoView({ block: 'center' })")  # the bar lies over the lower edge
    box = track(page).bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * position / 1000, y, steps=4)
    page.mouse.up()


def go_on(page):
    page.locator("#item").evaluate("form => form.removeAttribute('data-ready')")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#item[data-ready]").or_(page.locator("main:not(:has(#item))"))).to_be_visible()


def look(page, axe, screenshots, name):
    page.wait_for_load_state()
    axe(page)
    width = page.viewport_size["width"]
    page.screenshot(path=screenshots / f"slider-{name}-{width}.png", full_page=True, caret="initial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def open_first(page, worker):
    page.goto(urlsplit(links.personal_link(worker, at=timezone.now())).path)
    page.get_by_role("button", name="Start: Rate statements").click()


def test_through_practice_screening_and_a_sitting(new_page, study, axe, screenshots):
    phone, scale = new_page(**PHONE), Scale()
    open_first(phone, qualification.join(study, at=LONG_AGO))
    look(phone, axe, screenshots, "instructions")
    phone.get_by_role("button", name="I have read this: go on").click()

    # Practice 1 by dragging: first without touching, then too low, then right.
    expect(phone.locator("[data-reading]")).to_have_text("--")
    expect(phone.locator("[data-handle]")).to_be_hidden()
    look(phone, axe, screenshots, "untouched")
    go_on(phone)
    expect(phone.get_by_text("Please adjust the slider to indicate your response.")).to_be_visible()
    put(phone, 700)
    expect(phone.locator("[data-reading]")).to_have_text("78.09 %")
    go_on(phone)
    expect(phone.get_by_text("the statement is certain. Give it 99 % or more.")).to_be_visible()
    look(phone, axe, screenshots, "practice-wrong")
    track(phone).focus()
    phone.keyboard.press("End")
    expect(phone.locator("[data-reading]")).to_have_text("100.00 %")
    expect(track(phone)).to_have_attribute("aria-valuetext", "100.00 %, certain")
    go_on(phone)
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    go_on(phone)
    # Practice 2 by keys: exactly 0 is wrong, a step beside it right.
    track(phone).focus()
    phone.keyboard.press("Home")
    go_on(phone)
    expect(phone.get_by_text("Give it a very low rating that is not 0.")).to_be_visible()
    track(phone).focus()
    for _ in range(3):
        phone.keyboard.press("ArrowRight")
    expect(phone.locator("[data-reading]")).to_have_text("0.02 %")
    go_on(phone)
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    go_on(phone)
    put(phone, 500)
    go_on(phone)
    expect(phone.get_by_text("Right.", exact=True)).to_be_visible()
    go_on(phone)
    tries = Try.objects.order_by("pk").values_list("item__ref", "answer__rating", "is_right")
    assert [(ref, right) for ref, _, right in tries] == [
        ("practice-1", False),
        ("practice-1", True),
        ("practice-2", False),
        ("practice-2", True),
        ("practice-3", True),
    ]

    # The pre-screener, each at the middle of its range.
    phone.get_by_role("button", name="Go on").click()
    expect(phone.get_by_text("This is the test.")).to_be_visible()
    known = dict(study.items.filter(role="qualification").values_list("payload__hypothesis", "gold"))
    for n in range(1, 11):
        expect(phone.get_by_role("heading", name=f"{n} of 10")).to_be_visible()
        gold = known[phone.locator(".question").inner_text()]
        put(phone, scale.nearest_position((gold["low"] + gold["high"]) / 2))
        go_on(phone)
    expect(phone.get_by_role("heading", name="You have passed")).to_be_visible()
    assert Attempt.objects.get().right >= 9  # a phone has fewer pixels than the slider has positions

    # A sitting, from the keyboard alone.
    phone.get_by_role("button", name="Go on").press("Enter")
    expect(phone.get_by_role("heading", name="1 of 6")).to_be_visible()
    expect(phone.locator("#item[data-ready]")).to_be_visible()
    phone.keyboard.press("ArrowRight")  # from anywhere on the page
    expect(track(phone)).to_be_focused()
    expect(phone.locator("[data-reading]")).to_have_text("50.15 %")
    phone.keyboard.press("PageUp")
    expect(phone.locator("[data-reading]")).to_have_text(f"{scale.rating(551):.2f} %")
    phone.keyboard.press("c")
    phone.keyboard.type("odd")
    go_on(phone)
    expect(phone.get_by_text("more than three characters")).to_be_visible()
    phone.keyboard.type(" words here")
    look(phone, axe, screenshots, "confusing")
    phone.keyboard.press("Escape")
    go_on(phone)
    for n in range(2, 7):
        expect(phone.get_by_role("heading", name=f"{n} of 6")).to_be_visible()
        track(phone).focus()
        phone.keyboard.press("End" if n % 2 else "Home")
        go_on(phone)
    expect(phone.get_by_role("heading", name="Thank you. All 6 answers are in")).to_be_visible()
    look(phone, axe, screenshots, "exit")
    phone.get_by_text("Too low", exact=True).click()
    phone.get_by_label("Anything else you want to tell the team?").fill("Nice slider.")
    phone.get_by_role("button", name="Send").click()
    expect(phone.get_by_text("Was the pay fair?")).to_be_hidden()
    assert Feedback.objects.get().answers == {"fair_pay": "too low", "comment": "Nice slider."}

    first = Annotation.objects.exclude(uncounted__in=["practice", "test"]).order_by("pk").first()
    assert (first.answer["position"], first.answer["confusing"]) == (551, True)
    assert first.answer["confusing_reason"] == "odd words here"
    assert first.signs["moves"] == 2
    assert first.signs["first_touch_ms"] > 0


def test_a_reload_finds_the_slider_where_it_was(page, study):
    worker = make_worker(study, "ann", stages=["rate"])
    open_first(page, worker)
    put(page, 900)
    shown = page.locator("[data-reading]").inner_text()
    expect(page.locator("[data-saved]")).to_contain_text("saved")
    page.reload()
    expect(page.locator("#item[data-ready]")).to_be_visible()
    expect(page.locator("[data-reading]")).to_have_text(shown)
    expect(page.locator("[data-handle]")).to_be_visible()
    assert Assignment.objects.filter(worker=worker).exclude(draft=None).count() == 1


def test_without_connection_the_position_is_kept_in_the_browser(page, study):
    open_first(page, make_worker(study, "ann", stages=["rate"]))
    expect(page.locator("#item[data-ready]")).to_be_visible()
    page.route("**/draft/", lambda route: route.abort("aborted"))
    put(page, 250)
    shown = page.locator("[data-reading]").inner_text()
    expect(page.locator("[data-saved]")).to_contain_text("will retry")
    page.unroute("**/draft/")
    page.reload()
    expect(page.locator("[data-reading]")).to_have_text(shown)


def test_touching_the_track_sets_it(new_page, study):
    phone = new_page(**PHONE, has_touch=True, is_mobile=True)
    open_first(phone, make_worker(study, "ann", stages=["rate"]))
    box = track(phone).bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    expect(phone.locator("[data-handle]")).to_be_visible()
    assert float(phone.locator("[data-reading]").inner_text().removesuffix(" %")) == pytest.approx(96.43, abs=0.3)


def test_the_browser_and_the_server_rate_every_position_alike(page, study):
    open_first(page, make_worker(study, "ann", stages=["rate"]))
    expect(page.locator("#item[data-ready]")).to_be_visible()
    shown = page.evaluate(
        """async () => {
            const url = [...document.scripts].find((s) => s.src.includes("slider")).src;
            const { rating } = await import(url);
            return [...Array(1001).keys()].map((position) => rating(position, 1.5));
        }"""
    )
    assert shown == [f"{Scale().rating(position):.2f}" for position in range(1001)]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_researcher_sees_thresholds_and_the_report(new_page, study, axe, screenshots, settings, tmp_path, size):
    settings.MEDIA_ROOT = tmp_path
    made = make_researcher(study)
    simulation.simulate(
        study, workers=10, accuracy=0.95, seed=1, clock=lambda n: timezone.now() - timedelta(hours=1), limit=300
    )
    labelling.refresh(study, at=timezone.now())
    page = new_page(**size)
    page.goto("/studies/nope/")
    page.get_by_label("Login", exact=True).fill(made.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Thresholds from fillers")).to_be_visible()
    look(page, axe, screenshots, "study")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", level=1, name="Report")).to_be_visible()
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_text("Waiting for a background worker.")).to_be_visible()
    jobs.run(Job.objects.get(kind="report").pk)
    expect(page.get_by_role("link", name="Download 6 tables and 4 figures")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Table 3")).to_be_visible()
    look(page, axe, screenshots, "report")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download everything").click()
    assert download.value.suggested_filename.endswith(".zip")
