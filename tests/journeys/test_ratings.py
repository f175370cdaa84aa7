"""Pairs, answers and outputs are judged from the keyboard alone; the team decides and reads what came of it."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import intake, jobs, links, simulation
from annotation.models import Annotation, Job
from tests.factories import LONG_AGO, make_worker
from tests.people import PASSWORD, make_researcher
from tests.ratings import BY, SYSTEMS, give, make_answers_study, make_outputs_study, make_pairs_study
from validation import exports

pytestmark = pytest.mark.django_db(transaction=True)
DATA = Path(__file__).parents[2] / "data"
STILL = {"reduced_motion": "reduce"}  # nobody measures the contrast of a colour on its way to another
PHONE = {"viewport": {"width": 390, "height": 844}, **STILL}
DESK = {"viewport": {"width": 1280, "height": 800}, **STILL}
SIZES = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])


def look(page, axe, screenshots, name):
    page.wait_for_load_state()
    axe(page)
    width = page.viewport_size["width"]
    page.screenshot(path=screenshots / f"ratings-{name}-{width}.png", full_page=True, caret="initial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def start(page, study):
    """Open the only task of a new worker, by Tab and Enter."""
    stage = study.protocol.stages[0]
    worker = make_worker(study, "ann", stages=(stage.name,))
    page.goto(urlsplit(links.personal_link(worker, at=timezone.now())).path)
    button = page.get_by_role("button", name=f"Start: {stage.title}")
    while not button.evaluate("element => element === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#item[data-ready]")).to_be_visible()


def go_on(page):
    page.locator("#item").evaluate("form => form.removeAttribute('data-ready')")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#item[data-ready]").or_(page.locator("main:not(:has(#item))"))).to_be_visible()


def log_in(page, user, path):
    page.goto(path)
    page.get_by_label("Login", exact=True).fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


@SIZES
def test_a_verifier_judges_pairs_by_digits_and_gives_a_link(new_page, axe, screenshots, size):
    study, page = make_pairs_study(2), new_page(**size)
    start(page, study)
    look(page, axe, screenshots, "pair")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="The verdict")).to_be_visible()
    look(page, axe, screenshots, "pair-help")
    page.keyboard.press("Escape")
    go_on(page)
    expect(page.get_by_text("Choose one of these.")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_label("Where can one see that?")).to_be_focused()
    page.keyboard.type("javascript:alert(1)")
    go_on(page)
    expect(page.get_by_text("A link starts with http:// or https://")).to_be_visible()
    look(page, axe, screenshots, "pair-problem")
    page.keyboard.press("Control+a")
    page.keyboard.type("https://example.org/bob")
    go_on(page)
    page.keyboard.press("1")
    go_on(page)
    expect(page.get_by_text("All 2 answers are in")).to_be_visible()
    given = [a.answer for a in Annotation.objects.order_by("pk")]
    assert given == [{"verdict": "holds", "evidence": "https://example.org/bob"}, {"verdict": "keep"}]


@SIZES
def test_a_rater_accepts_and_rejects_answers_by_letters(new_page, axe, screenshots, size):
    study, page = make_answers_study(2), new_page(**size)
    start(page, study)
    look(page, axe, screenshots, "answer")
    page.keyboard.press("y")
    go_on(page)
    page.keyboard.press("n")
    go_on(page)
    expect(page.get_by_text("All 2 answers are in")).to_be_visible()
    assert [a.answer["acceptable"] for a in Annotation.objects.order_by("assignment")] == [True, False]


@SIZES
def test_a_rater_fills_the_grid_by_arrows_and_digits(new_page, axe, screenshots, size):
    study, page = make_outputs_study(1), new_page(**size)
    start(page, study)
    content = page.content()
    assert [system for system in SYSTEMS if system in content] == []
    look(page, axe, screenshots, "grid")

    def cell(letter, criterion):
        return page.locator(f"[data-cell]:has(input[name='scores.{letter}.{criterion}'])")

    page.keyboard.press("0")  # from anywhere: the first cell, and on to the next
    expect(cell("A", "detail").locator("input").first).to_be_focused()
    page.keyboard.press("9")  # no such value: nothing happens
    page.keyboard.press("2")
    expect(cell("B", "fluency").locator("input").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(cell("C", "fluency").locator("input").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("1")
    page.keyboard.press("ArrowLeft")  # at the end of the grid the focus stays in it
    page.keyboard.press("3")
    go_on(page)
    expect(page.get_by_text("Output B: choose a value for Fluency.")).to_be_visible()
    expect(page.get_by_text("Output B: choose a value for Detail.")).to_be_visible()
    look(page, axe, screenshots, "grid-problem")
    expect(cell("B", "fluency").locator("input").first).to_be_focused()
    page.keyboard.press("3")
    page.keyboard.press("1")
    look(page, axe, screenshots, "grid-done")
    go_on(page)
    expect(page.get_by_text("Your answer is in").or_(page.get_by_text("answers are in"))).to_be_visible()
    stored = Annotation.objects.get()
    order = study.protocol.stage("rate").arranged(study.items.get().payload, stored.assignment_id)["systems"]
    wanted = [(0, 2), (3, 1), (3, 1)]
    assert stored.answer["scores"] == {
        system: {"fluency": fluency, "detail": detail} for system, (fluency, detail) in zip(order, wanted, strict=True)
    }


def test_the_grid_works_without_script(new_page, axe, screenshots):
    study, page = make_outputs_study(1), new_page(**PHONE, java_script_enabled=False)
    worker = make_worker(study, "ann", stages=("rate",))
    page.goto(urlsplit(links.personal_link(worker, at=timezone.now())).path)
    page.get_by_role("button", name="Start: Rate outputs").click()
    for letter in "ABC":
        for criterion, value in (("fluency", 3), ("detail", 2)):
            page.locator(f"label:has(input[name='scores.{letter}.{criterion}'][value='{value}'])").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Your answer is in").or_(page.get_by_text("answers are in"))).to_be_visible()
    assert {tuple(row.values()) for row in Annotation.objects.get().answer["scores"].values()} == {(3, 2)}


@SIZES
def test_the_team_decides_where_raters_differ(new_page, axe, screenshots, size):
    study, page = make_answers_study(2), new_page(**size)
    give(study, "ben", {"acceptable": True}, {"acceptable": True})
    give(study, "cem", {"acceptable": False}, {"acceptable": False})
    log_in(page, make_researcher(study), f"/studies/{study.slug}/items/")
    page.get_by_role("link", name="2 items wait for a decision").click()
    expect(page.get_by_role("heading", level=1, name="To decide")).to_be_visible()
    look(page, axe, screenshots, "decide")
    first = page.get_by_role("region", name="a1")
    first.get_by_label("Reason").focus()
    page.keyboard.type("It says what is wrong.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("To decide: 1")).to_be_visible()
    page.get_by_role("link", name="Decided: 1").click()
    expect(page.get_by_text("Acceptable: It says what is wrong.")).to_be_visible()
    look(page, axe, screenshots, "decided")
    assert [row["adjudicated"] for row in exports.gold_rows(study)] == [True, None]


REPORTS = {
    "synqa2": (make_pairs_study, "synqa2_pairs.jsonl", "Pairs"),
    "acceptability": (make_answers_study, "acceptability_answers.jsonl", "Acceptability"),
    "rubric": (make_outputs_study, "rubric_outputs.jsonl", "Table 7"),
}


@SIZES
@pytest.mark.parametrize("slug", REPORTS)
def test_the_researcher_reads_the_study_and_its_report(new_page, axe, screenshots, settings, tmp_path, size, slug):
    settings.MEDIA_ROOT = tmp_path
    _, name, heading = REPORTS[slug]
    study = intake.create_study(slug, slug, **BY)
    with (DATA / name).open("rb") as file:
        intake.import_items(study, file, by="test", at=LONG_AGO)
    moment = timezone.now() - timedelta(hours=1)
    simulation.simulate(study, workers=4, accuracy=0.8, seed=1, clock=lambda n: moment, limit=40)
    page = new_page(**size)
    log_in(page, make_researcher(study), f"/studies/{slug}/")
    expect(page.get_by_role("heading", name="Labels")).to_be_visible()
    look(page, axe, screenshots, f"{slug}-study")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_text("Waiting for a background worker.")).to_be_visible()
    jobs.run(Job.objects.get(kind="report").pk)
    expect(page.get_by_role("link", name="tables and")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    look(page, axe, screenshots, f"{slug}-report")


def test_an_export_is_downloaded_as_an_archive_with_a_password(new_page, axe, screenshots, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    study, page = make_pairs_study(1), new_page(**PHONE)
    for code in ("ben", "cem"):
        give(study, code, {"verdict": "keep"})
    maria = make_researcher(study)
    made = jobs.ask(study, "export_gold", by=maria, at=timezone.now())
    jobs.run(made.pk)
    log_in(page, maria, f"/studies/{study.slug}/data/{made.pk}/")
    page.get_by_text("Download it as an encrypted archive").click()
    look(page, axe, screenshots, "archive")
    page.get_by_label("Password").fill("a passphrase")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the archive").click()
    assert download.value.suggested_filename == f"synqa2-export_gold-{made.pk}.zip"
