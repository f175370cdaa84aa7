"""Two sites on one machine: to a browser 127.0.0.1 and localhost are strangers, each with cookies of its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.conftest import NewPage
from tests.marketplace import market

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.fixtures import Settings
    from pytest_django.live_server_helper import LiveServer


@pytest.fixture(autouse=True)
def _left_server() -> Iterator[None]:
    """Set up first, so that the pages are closed by now: the server's threads have nobody left to wait for."""
    yield
    market.close_all()


@pytest.fixture
def worker_site(live_server: "LiveServer", settings: "Settings") -> str:
    """The live server as http://127.0.0.1. Under `live_server.url`, on localhost, it is another site to a browser."""
    settings.SITE_URL = f"http://127.0.0.1:{urlsplit(live_server.url).port}"
    return settings.SITE_URL


@pytest.fixture
def new_worker_page(new_page: NewPage, worker_site: str) -> NewPage:
    """As `new_page`, at the worker site, for people whose browser blocks third-party cookies."""

    def open_page(**options: object) -> "Page":
        page = new_page(base_url=worker_site, **options)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Network.enable")
        devtools.send("Network.setCookieControls", {"enableThirdPartyCookieRestriction": True})
        return page

    return open_page
