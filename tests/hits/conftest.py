"""A marketplace of our own for every test that asks for one."""

import pytest

from hits import places
from tests.hits import shop
from tests.marketplace import market


@pytest.fixture
def lab(live_server, settings):
    """The account at the marketplace, with $1,000."""
    yield shop.open_shop(settings, live_server.url)
    places.close()
    market.close_all()
