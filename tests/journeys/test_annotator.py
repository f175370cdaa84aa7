"""People annotate in a real browser: by keyboard, on a phone, without script, without a connection."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation import leasing, links, submission
from annotation.models import Annotation, Assignment, Sitting
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
DESK = {"viewport": {"width": 1280, "height": 800}}
ASSUMED, CORRECTED = "Power plants store current.", "Current is used at the moment it is made."


def home(worker):
    return reverse("annotation:home", args=[links.sign(worker, links.LINK, at=timezone.now())])


@pytest.fixture
def ann():
    study = make_study(items_per_sitting=3, title="Power plants")
    make_items(study, 9)
    return make_worker(study, "ann")


def saved(page):
    expect(page.locator("#item:not([data-unsaved])")).to_be_visible()
    expect(page.locator("[data-saved]")).to_contain_text("saved ")


def picture(page, path):
    page.screenshot(path=path, caret="initial")  # hiding the caret would be an inline style, which our policy refuses


def heading(page, text):
    """The item is there, and the keys are listened to."""
    expect(page.locator("#item[data-ready] [data-heading]")).to_have_text(text)


def test_a_whole_sitting_by_keyboard_alone(page, ann, axe, screenshots):
    page.goto(home(ann))
    axe(page)
    page.keyboard.press("Tab")  # the skip link
    page.get_by_role("button", name="Start: Find false assumptions").focus()
    page.keyboard.press("Enter")
    heading(page, "1 of 3")
    for key in ("1", "4", "n"):
        page.keyboard.press(key)
    picture(page, screenshots / "generate-1280.png")
    page.keyboard.press("Control+Enter")
    heading(page, "2 of 3")
    for key in ("1", "4", "y"):
        page.keyboard.press(key)
    page.keyboard.type(ASSUMED)
    page.keyboard.press("Tab")
    page.keyboard.type(CORRECTED)
    saved(page)
    axe(page)
    picture(page, screenshots / "generate-pairs-1280.png")
    page.keyboard.press("Control+Enter")
    heading(page, "3 of 3")
    page.keyboard.press("Alt+ArrowLeft")
    heading(page, "2 of 3")
    expect(page.locator("[name='pairs.0.presupposition']")).to_have_value(ASSUMED)
    page.keyboard.press("Alt+ArrowRight")
    heading(page, "3 of 3")
    page.keyboard.press("2")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. All 3 answers are in")
    axe(page)
    pair = {"presupposition": ASSUMED, "correction": CORRECTED}
    assert [a.answer for a in Annotation.objects.all()] == [
        NORMAL_ANSWER,
        {"label": "false presupposition", "reason": None, "pairs": [pair]},
        {"label": "filter", "reason": "subjective", "pairs": []},
    ]
    page.keyboard.press("Enter")  # the next sitting has the focus
    heading(page, "1 of 3")
    assert Sitting.objects.count() == 2


def begin(page, worker):
    page.goto(home(worker))
    page.get_by_role("button", name="Find false assumptions").click()
    heading(page, "1 of 3")


def write(page):
    for key in ("1", "4", "y"):
        page.keyboard.press(key)
    page.locator("[name='pairs.0.presupposition']").fill("The power plant keeps current in a cellar.")


def test_what_is_written_survives_a_reload_and_another_device(page, new_page, ann):
    begin(page, ann)
    write(page)
    saved(page)
    page.reload()
    expect(page.locator("[name='pairs.0.presupposition']")).to_have_value("The power plant keeps current in a cellar.")
    phone = new_page(**PHONE)
    phone.goto(home(ann))
    phone.get_by_role("button", name="Go on where you left off: Find false assumptions").click()
    expect(phone.locator("[name='pairs.0.presupposition']")).to_have_value("The power plant keeps current in a cellar.")


def test_words_typed_just_before_the_page_goes_away_are_there_again(page, ann):
    begin(page, ann)
    write(page)
    page.locator("[name='pairs.0.correction']").fill("The last words")
    page.reload()
    expect(page.locator("#item[data-ready] [name='pairs.0.correction']")).to_have_value("The last words")


def test_next_says_what_is_wrong_and_takes_the_focus_there(page, ann, axe, screenshots):
    begin(page, ann)
    write(page)
    page.locator("[name='pairs.0.correction']").fill("That is not so")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("1 thing to look at before you go on.")
    expect(page.locator("[name='pairs.0.correction']")).to_be_focused()
    expect(page.locator("[name='pairs.0.correction']")).to_have_value("That is not so")
    axe(page)
    picture(page, screenshots / "generate-blocked-1280.png")


def test_checks_speak_while_one_writes_but_only_about_what_is_written(page, ann):
    begin(page, ann)
    write(page)
    page.locator("[name='pairs.0.presupposition']").fill("Is it stored?")
    said = page.locator("[data-said='pairs.0.presupposition'] li.bad")
    expect(said).to_contain_text("it ends with a question mark")
    expect(page.locator("[data-said='pairs.0.correction'] li")).to_have_count(0)


def test_a_minute_without_connection_loses_nothing(page, ann):
    begin(page, ann)
    for key in ("1", "4", "y"):
        page.keyboard.press(key)
    saved(page)
    page.route("**/draft/", lambda route: route.abort("aborted"))
    page.evaluate("document.querySelector('[data-saved]').textContent = ''")
    page.locator("[name='pairs.0.presupposition']").fill("The power plant keeps current in a cellar.")
    expect(page.locator("[data-saved]")).to_have_text("not saved: will retry")
    page.unroute("**/draft/")
    saved(page)
    assert Assignment.objects.first().draft["pairs.0.presupposition"] == "The power plant keeps current in a cellar."


def test_two_tabs_submit_once(page, new_page, ann):
    begin(page, ann)
    other = new_page(**DESK)
    for number in (1, 2):
        page.keyboard.press("2")
        page.keyboard.press("Control+Enter")
        heading(page, f"{number + 1} of 3")
    page.keyboard.press("2")
    saved(page)
    other.goto(page.url)
    other.get_by_role("button", name="Submit all 3").dblclick()
    expect(other.get_by_role("heading", level=1)).to_contain_text("All 3 answers are in")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("All 3 answers are in")
    assert Annotation.objects.count() == 3


def test_a_whole_sitting_without_script(new_page, ann):
    page = new_page(java_script_enabled=False, **DESK)
    page.goto(home(ann))
    page.get_by_role("button", name="Find false assumptions").click()
    for number in (1, 2, 3):
        page.get_by_text("Yes, usable").click()
        page.get_by_text("Yes, informative").click()
        page.get_by_text("No, it does not").click()
        page.get_by_role("button", name="Submit" if number == 3 else "Next").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("All 3 answers are in")
    assert [a.answer for a in Annotation.objects.all()] == [NORMAL_ANSWER] * 3


def test_the_instructions_are_one_key_away_and_give_the_focus_back(page, ann, axe):
    begin(page, ann)
    page.keyboard.press("1")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.locator(".now h3")).to_have_text("2. Is the response informative?")
    axe(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("4")
    expect(page.locator("[name=response][value=informative]")).to_be_checked()


def test_a_validator_judges_by_key(page, ann, axe, screenshots):
    study = ann.enrolments.get().study
    for code, answer in (("ben", NORMAL_ANSWER), ("cat", FALSE_ANSWER)):
        sitting = make_sitting(study, code, at=timezone.now())
        submission.submit(sitting, {a.pk: answer for a in sitting.assignments.all()}, at=timezone.now())
    page.goto(home(ann))
    page.get_by_role("button", name="Judge two annotations").click()
    for number in (1, 2, 3):
        heading(page, f"{number} of 3")
        wrong = page.locator(".card", has_text="The question assumes something wrong")
        page.keyboard.press(wrong.get_by_role("heading").inner_text().lower())
        if number == 1:
            axe(page)
            picture(page, screenshots / "validate-1280.png")
        page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("All 3 answers are in")
    assert [a.answer for a in Annotation.objects.filter(stage="validate")] == [{"valid": "B"}] * 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["390", "1280"])
def test_every_page_is_accessible_and_fits(new_page, ann, axe, screenshots, scheme, size):
    page = new_page(color_scheme=scheme, **size)
    begin(page, ann)
    for key in ("1", "4", "y"):
        page.keyboard.press(key)
    page.locator("[name='pairs.0.presupposition']").fill("They store it.")
    saved(page)
    axe(page)
    width = size["viewport"]["width"]
    picture(page, screenshots / f"generate-{scheme}-{width}.png")
    here = page.url
    for name, address in (
        ("home", home(ann)),
        ("instructions", here.replace("/1/", "/instructions/")),
        ("give-back", here.replace("/1/", "/return/")),
    ):
        page.goto(address)
        axe(page)
        picture(page, screenshots / f"{name}-{scheme}-{width}.png")


def test_nothing_scrolls_sideways_at_320_pixels(new_page, ann):
    page = new_page(viewport={"width": 320, "height": 640})
    begin(page, ann)
    for key in ("1", "4", "y"):
        page.keyboard.press(key)
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_a_first_page_weighs_less_than_100_kilobytes(page, ann):
    weights = []
    page.on("response", lambda answer: weights.append(len(answer.body())) if answer.status == 200 else None)
    sitting = leasing.lease(ann, ann.enrolments.get().study, "generate", at=timezone.now())[0]
    page.goto(reverse("annotation:work", args=[links.sign(ann, links.LINK, at=timezone.now()), sitting.pk, 1]))
    page.wait_for_load_state("networkidle")
    assert sum(weights) < 100_000
