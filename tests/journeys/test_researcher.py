"""A researcher runs a study in a real browser: sees where it stands, follows an item, imports, exports, adds people."""

import json
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone
from playwright.sync_api import expect

from annotation import jobs
from annotation.models import Annotation, Job
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_study
from tests.people import PASSWORD, answer, make_researcher

pytestmark = pytest.mark.django_db(transaction=True)
DESK, PHONE, NARROW = ({"viewport": {"width": w, "height": 800}} for w in (1280, 390, 320))
TEN_SECONDS = 10_500  # milliseconds, and a little more
ROW = {"id": "new-1", "question": "Where is current stored?", "comment": "It is not stored at all."}
PAGES = [
    "/studies/",
    "/new-study/",
    "/studies/plants/",
    "/studies/plants/agreement/",
    "/studies/plants/items/",
    "/studies/plants/workers/",
    "/studies/plants/workers/1/revoke/",
    "/studies/plants/data/",
    "/studies/plants/settings/",
]


@pytest.fixture
def study():
    """Of six items one is settled, one filtered, one decided by verdicts, one contested, two as imported."""
    made = make_study("plants", title="Power plants", items_per_sitting=4)
    make_items(made, 6)
    answer(made, "ann", FALSE_ANSWER, FILTER_ANSWER, FALSE_ANSWER, NORMAL_ANSWER)
    answer(made, "ben", FALSE_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER, FALSE_ANSWER)
    answer(made, "cat", {"valid": "A"}, {"valid": "B"}, stage="validate")
    Annotation.objects.update(active_seconds=75)
    make_researcher(made)
    return made


def log_in(page, then="/studies/"):
    page.goto(f"/accounts/login/?next={then}")
    page.get_by_label("Login", exact=True).fill("maria")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"**{then}")


def picture(page, path):
    page.screenshot(path=path, full_page=True, caret="initial")  # hiding the caret would be an inline style


def all_there(page):
    """Every region that a page borrows has come."""
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)


def no_sideways_scroll(page):
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def examine(page, axe, path):
    """No barrier and no sideways scroll, wide and narrow, light and dark; a picture of both widths."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        picture(page, path.with_name(f"{path.name}-{width}.png"))
        no_sideways_scroll(page)
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            axe(page)


def test_every_page_is_free_of_barriers_wide_and_narrow_light_and_dark(page, study, axe, screenshots):
    page.goto("/accounts/login/")
    examine(page, axe, screenshots / "log-in")
    log_in(page)
    for path in [*PAGES, f"/studies/plants/items/{study.items.get(ref='q3').pk}/"]:
        page.goto(path)
        all_there(page)
        name = path.strip("/").replace("/", "-").replace("studies-plants", "study")
        examine(page, axe, screenshots / name)


def test_the_tables_behind_the_pictures_are_free_of_barriers(page, study, axe, screenshots):
    log_in(page, "/studies/plants/")
    all_there(page)
    for summary in page.locator(".figure summary").all():
        summary.click()
    expect(page.locator(".figure table:visible")).to_have_count(4)
    examine(page, axe, screenshots / "study-tables")


def test_the_pages_that_follow_a_form_are_free_of_barriers(page, study, axe, screenshots):
    log_in(page, "/studies/plants/workers/")
    page.get_by_role("button", name="New link for W001").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A personal link for W001")
    examine(page, axe, screenshots / "study-links")
    bad = f"{json.dumps(ROW)}\n{{not json\n".encode()
    for name, kind, options, said in (
        ("failed", "import_items", {"skip_bad": False}, "Nothing was kept"),
        ("skipped", "import_items", {"skip_bad": True}, "Rows that were skipped"),
        ("done", "export_gold", {}, "Download 1 row"),
    ):
        file = ContentFile(bad, name="pairs.jsonl") if kind == "import_items" else None
        job = jobs.ask(study, kind, by=study.team.get(), at=timezone.now(), options=options, file=file)
        page.goto(f"/studies/plants/data/{job.pk}/")
        expect(page.get_by_text("Waiting for a background worker.")).to_be_visible()
        examine(page, axe, screenshots / "study-job-waiting")
        jobs.run(job.pk)
        expect(page.get_by_text(said)).to_be_visible()
        examine(page, axe, screenshots / f"study-job-{name}")


def test_nothing_scrolls_sideways_on_the_narrowest_screen(new_page, study):
    page = new_page(**NARROW)
    log_in(page)
    for path in PAGES:
        page.goto(path)
        all_there(page)
        no_sideways_scroll(page)


def test_from_the_bar_to_the_evidence_of_an_item(page, study):
    log_in(page)
    page.get_by_role("link", name="Power plants").click()
    expect(page.get_by_role("img", name="Agreement")).to_be_visible()
    page.get_by_role("link", name="settled").click()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="q1", exact=True).click()
    happened = page.get_by_role("list", name="What happened")
    expect(happened.get_by_text("Written (A)")).to_be_visible()
    expect(happened.get_by_text("Settled")).to_be_visible()
    expect(page.get_by_text("Both generators gave the same label.").first).to_be_visible()
    expect(page.locator("pre")).to_contain_text('"false presupposition"')


def test_the_mouse_follows_the_bar_itself(page, study):
    log_in(page, "/studies/plants/")
    page.locator(".bar-track a").first.click()
    page.wait_for_url("**/studies/plants/items/?state=waiting")


def test_a_file_is_imported_and_gold_exported_while_the_person_watches(page, study, tmp_path):
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    log_in(page, "/studies/plants/data/")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Waiting for a background worker.")).to_be_visible()
    jobs.run(Job.objects.get(kind="import_items").pk)
    expect(page.get_by_text("1 created, 0 unchanged, 0 bad")).to_be_visible()
    page.get_by_role("link", name="Back to the data").click()
    page.get_by_role("button", name="Export").click()
    page.wait_for_url("**/data/*/")
    jobs.run(Job.objects.get(kind="export_gold").pk)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download 1 row").click()
    rows = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [(row["id"], row["labels"]) for row in rows] == [("q1", ["false presupposition"])]


def test_what_is_open_stays_open_and_the_focus_stays_while_numbers_change(page, study):
    page.clock.install()
    log_in(page, "/studies/plants/")
    all_there(page)
    summary = page.locator("#days").get_by_text("As a table")
    summary.click()
    expect(page.locator("#days").get_by_role("cell", name="10", exact=True)).to_have_count(0)
    answer(study, "dan", NORMAL_ANSWER, NORMAL_ANSWER)
    page.clock.fast_forward(TEN_SECONDS)
    expect(page.locator("#days").get_by_role("cell", name="10", exact=True)).to_be_visible()
    expect(page.locator("#days-numbers")).to_have_attribute("open", "")
    expect(summary).to_be_focused()
    expect(page.locator("#stand-working .count")).to_have_text("2")


def test_a_page_that_cannot_refresh_says_since_when(browser, live_server, study):
    with browser.new_context(base_url=live_server.url) as context:  # of its own: faults are what it is about
        page = context.new_page()
        page.clock.install()
        log_in(page, "/studies/plants/")
        all_there(page)
        expect(page.get_by_text("Not updated since")).to_be_hidden()
        context.set_offline(True)
        page.clock.fast_forward(TEN_SECONDS)
        expect(page.get_by_text("It tries again by itself.")).to_be_visible()
        context.set_offline(False)
        page.clock.fast_forward(TEN_SECONDS)
        expect(page.get_by_text("Not updated since")).to_be_hidden()
        context.clear_cookies()
        page.clock.fast_forward(TEN_SECONDS)
        expect(page.get_by_text("You are logged out")).to_be_visible()


def test_keys_lead_through_the_console(page, study):
    log_in(page, "/studies/plants/")
    for keys, path in (("gi", "items/"), ("gw", "people/"), ("gd", "data/"), ("gs", "")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"**/studies/plants/{path}")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.wait_for_url("**/items/#id_q")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    page.keyboard.type("gi q2")  # letters are text while a field has the focus
    expect(search).to_have_value("gi q2")
    search.fill("q2")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(search).to_be_focused()
    page.get_by_role("link", name="all items").click()
    page.get_by_role("link", name="q1", exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="q2", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("q2")


def test_people_are_added_and_their_links_work(page, new_page, study):
    log_in(page, "/studies/plants/workers/")
    page.get_by_label("Your name for them").fill("eve")
    page.get_by_role("button", name="Add", exact=True).click()
    link = page.get_by_label("eve").input_value()
    worker = new_page(**PHONE)
    worker.goto(urlsplit(link).path)
    expect(worker.get_by_role("button", name="Start: Find false assumptions")).to_be_visible()
    page.goto("/studies/plants/workers/")
    page.get_by_role("link", name="Revoke the links of W004").click()
    page.get_by_label("Reason").fill("She asked for it.")
    page.get_by_role("button", name="Revoke the links of W004").click()
    page.wait_for_url("**/workers/")
    worker.reload()
    expect(worker.get_by_text("This link has been replaced or withdrawn.")).to_be_visible()


def test_a_refused_form_takes_the_focus_to_what_needs_another_look(page, study):
    log_in(page, "/new-study/")
    page.get_by_label("Title").fill("Second")
    page.get_by_label("Short name").fill("plants")
    page.get_by_role("button", name="Make this study").click()
    expect(page.get_by_label("Short name")).to_be_focused()
    expect(page.get_by_text("There is a study with this short name already.")).to_be_visible()
    page.get_by_label("Short name").fill("second")
    page.get_by_role("button", name="Make this study").click()
    page.wait_for_url("**/studies/second/")


def test_without_script_the_numbers_are_there(new_page, study):
    page = new_page(java_script_enabled=False, **DESK)
    log_in(page, "/studies/plants/")
    expect(page.get_by_role("img", name="Answers per day")).to_be_visible()
    page.get_by_role("link", name="Agreement on a page of its own").click()
    expect(page.get_by_role("img", name="Agreement")).to_be_visible()
    page.get_by_role("link", name="Items").click()
    page.get_by_role("searchbox").fill("q3")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("row")).to_have_count(2)
