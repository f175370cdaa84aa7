"""People write claims, review them and flip them in a real browser: by keyboard, on a phone, without script."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation import links
from annotation.models import Annotation, Study
from tests.claims import hand_in, make_claim_study, make_claim_worker, reviewed, take, write, written
from tests.people import PASSWORD, make_researcher
from validation.models import Resolution

pytestmark = pytest.mark.django_db(transaction=True)
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def study():
    return make_claim_study(items_per_sitting=2, contrast_share=1)


def begin(page, worker, stage):
    now = timezone.now()
    page.goto(reverse("annotation:home", args=[links.sign(worker, links.LINK, at=now)]))
    page.get_by_role("button", name=f"Start: {stage}").click()
    heading(page, "1 of 2")


def heading(page, text):
    expect(page.locator("#item[data-ready] [data-heading]")).to_have_text(text)


def saved(page):
    expect(page.locator("#item:not([data-unsaved])")).to_be_visible()
    expect(page.locator("[data-saved]")).to_contain_text("saved ")


def picture(page, path):
    page.screenshot(path=path, full_page=True, caret="initial")


def fits(page, size):
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def type_claims(page, name):
    """From the true claim's field on, with nothing but keys."""
    for text, why, sure in (
        (f"{name} lies on a river.", "It was built there.", "ArrowDown"),
        (f"Snow covers {name} in every month of the year.", "Its summers are warm.", ""),
    ):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
        page.keyboard.type(why)
        page.keyboard.press("Tab")  # the aside for other words
        page.keyboard.press("Tab")  # how sure
        page.keyboard.press("Space")
        if sure:
            page.keyboard.press(sure)
        page.keyboard.press("Tab")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["1280", "390"])
def test_claims_are_written_with_the_keyboard_alone(new_page, study, axe, screenshots, size):
    page = new_page(viewport=size, reduced_motion="reduce")
    begin(page, make_claim_worker(study, "ann"), "Write claims")
    axe(page)
    picture(page, screenshots / f"creak-pick-{size['width']}.png")
    page.keyboard.press("1")
    expect(page.locator("#step-true textarea").first).to_be_focused()
    type_claims(page, "Paris 1")
    saved(page)
    axe(page)
    fits(page, size)
    picture(page, screenshots / f"creak-write-{size['width']}.png")
    page.keyboard.press("Control+Enter")
    heading(page, "2 of 2")
    page.keyboard.press("1")
    type_claims(page, "Paris 2")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. All 2 answers are in")
    first = Annotation.objects.order_by("pk")[0].answer
    assert first == {
        "entity": "Paris 1",
        "true": {
            "claim": "Paris 1 lies on a river.",
            "explanation": "It was built there.",
            "certainty": "maybe",
            "entity_mention_loc": [[0, 7]],
        },
        "false": {
            "claim": "Snow covers Paris 1 in every month of the year.",
            "explanation": "Its summers are warm.",
            "certainty": "definitely",
            "entity_mention_loc": [[12, 19]],
        },
    }


def test_what_is_wrong_with_a_claim_is_said_while_typing(page, study, axe, screenshots):
    write(study, make_claim_worker(study, "ben"), at=timezone.now())
    begin(page, make_claim_worker(study, "ann"), "Write claims")
    page.keyboard.press("2")
    claim = page.locator("#step-true textarea").first
    for text, said in (
        ("We smoke it.", "It begins with “We”"),
        ("It is bad for you.", "It does not name “Marlboro 3”"),
        ("Marlboro 3 is a cigarette.", "This defines “Marlboro 3”"),
        ("paris 1  lies on a river", "This is in the study already, word for word."),
    ):
        claim.fill(text)
        expect(page.locator("[data-said='true.claim']")).to_contain_text(said)
    claim.fill("Smokers know the red box.")
    page.get_by_text("The claim names it in other words").first.click()
    page.locator("[name='true.mention']").fill("the red box")
    expect(page.locator("[data-said='true.claim']")).to_be_empty()
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-blocked]")).to_contain_text("5 things to look at")
    expect(page.locator("[name='true.mention']")).to_have_value("the red box")
    axe(page)
    picture(page, screenshots / "creak-refused-1280.png")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["1280", "390"])
def test_a_reviewer_keeps_edits_and_rejects_by_key(new_page, study, axe, screenshots, size):
    write(study, make_claim_worker(study, "ben"), at=timezone.now())
    page = new_page(viewport=size, reduced_motion="reduce")
    begin(page, make_claim_worker(study, "ann"), "Review claims")
    axe(page)
    page.keyboard.press("2")
    edit = page.locator("[name='true.claim']")
    expect(edit).to_have_value("Paris 1 lies on a river.")
    edit.fill("Paris 1 lies on the river.")
    expect(page.locator("[data-difference='true.claim'] mark")).to_have_text(["a", "the"])
    page.keyboard.press("Escape")
    page.keyboard.press("6")
    page.keyboard.press("f")
    saved(page)
    axe(page)
    fits(page, size)
    picture(page, screenshots / f"creak-review-{size['width']}.png")
    page.keyboard.press("Control+Enter")
    heading(page, "2 of 2")
    page.keyboard.press("1")
    page.keyboard.press("4")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. All 2 answers are in")
    assert [a.answer for a in Annotation.objects.filter(stage="review").order_by("pk")] == [
        {
            "true": {"decision": "edit", "claim": "Paris 1 lies on the river."},
            "false": {"decision": "reject", "reason": "outlandish"},
        },
        reviewed(),
    ]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["1280", "390"])
def test_a_claim_is_flipped_with_its_difference_in_sight(new_page, study, axe, screenshots, size):
    write(study, make_claim_worker(study, "ben"), at=timezone.now())
    hand_in(take(study, make_claim_worker(study, "eve"), "review"), reviewed(), reviewed(), at=timezone.now())
    page = new_page(viewport=size, reduced_motion="reduce")
    begin(page, make_claim_worker(study, "ann"), "Flip claims")
    text = page.locator("[name='claim']")
    before = text.input_value()
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-said='claim']")).to_contain_text("This says what is there already.")
    text.fill(before.replace(".", " no more."))
    expect(page.locator("[data-difference='claim'] mark")).to_have_text(["no more"])
    page.locator("[name='explanation']").fill("It was moved.")
    saved(page)
    axe(page)
    fits(page, size)
    picture(page, screenshots / f"creak-contrast-{size['width']}.png")
    page.keyboard.press("Control+Enter")
    heading(page, "2 of 2")


def test_a_blind_judge_sees_the_claim_and_nothing_of_what_its_writer_says(page, axe, screenshots):
    study = make_claim_study(items_per_sitting=2, relabel_share=1, reviewed_splits="")
    write(study, make_claim_worker(study, "ben"), at=timezone.now())
    begin(page, make_claim_worker(study, "ann"), "True or false?")
    expect(page.locator("#item")).not_to_contain_text("Because of this")
    axe(page)
    picture(page, screenshots / "creak-relabel-1280.png")
    page.keyboard.press("t")
    page.keyboard.press("Control+Enter")
    heading(page, "2 of 2")
    page.keyboard.press("f")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. All 2 answers are in")
    assert [a.answer for a in Annotation.objects.filter(stage="relabel").order_by("pk")] == [
        {"label": "true"},
        {"label": "false"},
    ]


def test_claims_are_written_and_reviewed_without_script(new_page):
    study = make_claim_study()
    page = new_page(java_script_enabled=False)
    for code, stage in (("ann", "Write claims"), ("ben", "Review claims")):
        worker = make_claim_worker(study, code)
        page.goto(reverse("annotation:home", args=[links.sign(worker, links.LINK, at=timezone.now())]))
        page.get_by_role("button", name=f"Start: {stage}").click()
        if code == "ann":
            page.get_by_role("button", name="Submit").click()
            expect(page.locator("[data-blocked]")).to_contain_text("7 things to look at")
            page.get_by_text("Paris 1").check()
            for label, text in (("true", "Paris 1 lies on a river."), ("false", "Paris 1 can be eaten.")):
                page.locator(f"[name='{label}.claim']").fill(text)
                page.locator(f"[name='{label}.explanation']").fill("So it is.")
                page.get_by_text(f"Definitely {label}").check()
        else:
            page.get_by_text("Keep it").first.check()
            page.get_by_text("Keep it").last.check()
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. Your answer is in")
    assert Resolution.objects.get(study=Study.objects.get()).label == "both"


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["1280", "390"])
def test_a_researcher_watches_what_gives_labels_away_and_exports_a_split(new_page, axe, screenshots, size):
    study = make_claim_study(items_per_sitting=6, reviewed_splits="")
    ann = make_claim_worker(study, "ann")
    sitting = take(study, ann)
    hand_in(sitting, *(written(n, false=f"Nobody ever sees Paris {n} again, {n} times.") for n in range(1, 7)))
    make_researcher(study)
    page = new_page(viewport=size, reduced_motion="reduce")
    page.goto("/accounts/login/?next=/studies/creak/")
    page.get_by_label("Login", exact=True).fill("maria")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#artefacts svg")).to_be_visible()
    expect(page.locator("#diversity svg")).to_be_visible()
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)
    page.locator("#artefacts-why-summary").click()
    expect(page.locator("#artefacts")).to_contain_text("12 claims as written: 6 false, 6 true.")
    axe(page)
    fits(page, size)
    picture(page, screenshots / f"creak-study-{size['width']}.png")
    page.goto("/studies/creak/data/")
    page.get_by_label("Split").select_option("train")
    axe(page)
    fits(page, size)
    page.get_by_role("button", name="Export").click()
    page.wait_for_url("**/data/*/")
    assert study.jobs.get().options["split"] == "train"
