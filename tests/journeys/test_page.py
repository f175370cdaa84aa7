"""The `page` of every journey watches for faults, and `axe` for barriers."""

import pytest

from tests.conftest import watch

SITE = "http://touchstone.example"
PAGES = {"/": (200, "<html lang='en'><title>A page</title><main><h1>A page</h1></main></html>"), "/broken": (500, "")}


@pytest.fixture
def watched(browser):
    """A page of a site that exists in the browser alone, and the faults noted so far."""
    faults = []
    with browser.new_context() as context:
        page = context.new_page()
        watch(page, SITE, faults)
        page.route("**/*", answer)
        page.goto(f"{SITE}/")
        yield page, faults


def answer(route):
    path = route.request.url.removeprefix(SITE)
    if path == "/lost":
        return route.abort()
    status, body = PAGES.get(path, (404, ""))
    return route.fulfill(status=status, body=body, content_type="text/html")


@pytest.mark.parametrize(
    ("does", "faults"),
    [
        ("1", []),
        ("console.warn('only a warning')", []),
        ("fetch('/refused')", []),
        ("console.error('loud')", ["console: loud"]),
        ("setTimeout(() => { throw new Error('thrown') })", ["script: thrown"]),
        ("fetch('/lost').catch(() => 0)", [f"request: {SITE}/lost: net::ERR_FAILED"]),
        ("fetch('/static/gone.css')", [f"response: {SITE}/static/gone.css: 404"]),
        ("fetch('/broken')", [f"response: {SITE}/broken: 500"]),
    ],
)
def test_what_no_page_may_do_is_noted_and_a_refusal_is_not(watched, does, faults):
    page, noted = watched
    page.evaluate(f"async () => {{ await {does} }}")
    page.evaluate("() => new Promise(done => setTimeout(done))")
    assert noted == faults


def test_axe_names_the_barrier_and_lets_a_good_page_pass(watched, axe):
    page, _ = watched
    axe(page)
    page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    with pytest.raises(AssertionError, match="button-name"):
        axe(page)


def test_a_page_opens_the_live_server_at_1280_by_800(page, live_server):
    page.goto("/healthz")
    assert (page.url, page.viewport_size) == (f"{live_server.url}/healthz", {"width": 1280, "height": 800})
