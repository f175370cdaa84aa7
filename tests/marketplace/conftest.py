"""What every test of the marketplace leaves tidy."""

import pytest

from tests.marketplace import market


@pytest.fixture(autouse=True)
def _closed_clients():
    """A kept connection holds a thread of the live server, and that a session of the database."""
    yield
    market.close_all()
