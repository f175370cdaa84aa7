"""What every test may ask for: the servers from outside, a browser whose pages must stay free of faults."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

import hypothesis
import pytest
import redis
from django.db import connection, transaction
from django.test import TransactionTestCase

from tests import system

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response
    from pytest_django.live_server_helper import LiveServer

ROOT = Path(__file__).parents[1]
CI = bool(os.environ.get("CI"))

hypothesis.settings.register_profile("touchstone", deadline=None, derandomize=CI)
hypothesis.settings.load_profile("touchstone")


# --- Which test needs what ----------------------------------------------------------------------
FOLDER_MARKS = {"concurrency": "postgres", "journeys": "journey"}
DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by folder, and mark as `database` whatever may query it; the rest need not run on a second one."""
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        if folder in FOLDER_MARKS:
            item.add_marker(FOLDER_MARKS[folder])
        if uses_database(item):
            item.add_marker("database")


def uses_database(item: pytest.Item) -> bool:
    """By its mark, its fixtures or its class; pytest-django refuses every query of any other test."""
    in_class = issubclass(getattr(item, "cls", None) or object, TransactionTestCase)
    fixtures = DATABASE_FIXTURES & set(getattr(item, "fixturenames", ()))
    return bool(item.get_closest_marker("django_db") or in_class or fixtures)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for vendor, mark in (("postgresql", "postgres"), ("sqlite", "sqlite")):
        if item.get_closest_marker(mark) and connection.vendor != vendor:
            lacking(f"runs on {vendor} only: `make test` starts one")


def lacking(what: str) -> NoReturn:
    """Skip with the reason; where everything must be there, fail."""
    pytest.fail(what) if CI else pytest.skip(what)


# --- Database and servers ------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """SQLite in a file, as outside tests: in memory, all threads of a live server would share one connection."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session", autouse=True)
def _quick_flush() -> Iterator[None]:
    """After a test with transactions of its own, only the tables that hold something are emptied."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", flush)
        yield


FROM_MIGRATING = {"django_content_type", "auth_permission"}  # Django would empty these too, and fill them again


def flush(case: TransactionTestCase) -> None:
    """Instead of `TransactionTestCase._fixture_teardown`."""
    quote = connection.ops.quote_name
    tables = sorted({*connection.introspection.django_table_names(only_existing=True)} - FROM_MIGRATING)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{t}' WHERE EXISTS (SELECT 1 FROM {quote(t)})" for t in tables))
        for (table,) in cursor.fetchall():
            append_only = connection.vendor == "postgresql" and table == "annotation_event"
            cursor.execute(f"{'TRUNCATE' if append_only else 'DELETE FROM'} {quote(table)}")


@pytest.fixture
def redis_url() -> str:
    """An empty Redis, for a broker or a cache."""
    url = os.environ.get("TEST_REDIS_URL") or lacking("needs a Redis in TEST_REDIS_URL: `make test` starts one")
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return url


# --- Browser ------------------------------------------------------------------------------------
# Without these Chromium looks up its maker's hosts at every start.
QUIET = "--disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
NewPage = Callable[..., "Page"]
UNDER_AXE: list["Page"] = []


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """The distribution's Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    program = system.CHROMIUM.find() or lacking(system.needed(system.CHROMIUM))
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    # Playwright keeps an event loop in this thread until the session ends, under which Django refuses every query.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=[*QUIET.split(), "--disable-gpu", *sandbox])
        yield chromium
        chromium.close()


@pytest.fixture
def new_page(browser: "Browser", live_server: "LiveServer") -> Iterator[NewPage]:
    """Opens pages, each for another person (options as Playwright's `new_context`), and fails on faults in any."""
    contexts, faults = [], []

    def open_page(*, base_url: str = live_server.url, **options: object) -> "Page":
        context = browser.new_context(base_url=base_url, **options)  # type: ignore[arg-type]
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        watch(page, (live_server.url, base_url), faults)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def page(new_page: NewPage) -> "Page":
    """One person's page, 1280 by 800; relative addresses go to the live server."""
    return new_page(viewport={"width": 1280, "height": 800})


def watch(page: "Page", sites: tuple[str, ...], faults: list[str]) -> None:
    """Note what no page may do: log an error, throw, lose a request, miss a static file, break the server.

    A refusal (4xx) of a page is for the test to judge.
    """

    def console(message: "ConsoleMessage") -> None:
        if page in UNDER_AXE:
            return  # axe tries styles on the page, which our content security policy rightly refuses
        if message.type == "error" and not message.text.startswith("Failed to load resource"):  # judged by `response`
            faults.append(f"console: {message.text}")

    def failed(request: "Request") -> None:
        left = request.failure == "net::ERR_ABORTED"  # whoever leaves a page aborts what it asked
        if request.url.startswith(sites) and not left:
            faults.append(f"request: {request.url}: {request.failure}")

    def response(answer: "Response") -> None:
        if answer.status >= 500 or (answer.status >= 400 and urlsplit(answer.url).path.startswith("/static/")):
            faults.append(f"response: {answer.url}: {answer.status}")

    page.on("console", console)
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("requestfailed", failed)
    page.on("response", response)


@pytest.fixture(scope="session")
def axe() -> Callable[["Page"], None]:
    """`axe(page)` asserts that the page as it is shown now breaks no accessibility rule."""
    from axe_playwright_python.base import AXE_SCRIPT, AxeResults

    def check(page: "Page") -> None:
        UNDER_AXE.append(page)
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        # What a page does well is left in the browser: bringing it over takes longer than finding it.
        violations = page.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)")
        UNDER_AXE.remove(page)
        assert not violations, AxeResults({"violations": violations}).generate_report()

    return check


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where journeys leave pictures for people to look at."""
    folder = ROOT / "var" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
