"""Which marketplace, which account: what is bought at one never mixes with another."""

from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings

from annotation.errors import Refusal
from hits.boto import BotoClient
from hits.intents import note_call

AMAZON = {
    "sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    "production": "https://mturk-requester.us-east-1.amazonaws.com",
}


class NoAccount(Refusal):
    code, status = "no_account", 409
    sentence = (
        "No account at a marketplace is set up: set MTURK_ACCESS_KEY and MTURK_SECRET_KEY "
        "(`manage.py requester NAME` makes them for the own marketplace)."
    )


class NotAllowed(Refusal):
    code, status = "spending_not_allowed", 403
    sentence = "This would spend money at Amazon's production site: set MTURK_ALLOW_SPENDING=1 to allow that."


class OtherPlace(Refusal):
    code, status = "other_place", 409
    sentence = (
        "This was begun at another marketplace, or with another account, than the settings name now. "
        "Set MTURK_MODE, MTURK_ENDPOINT_URL and MTURK_ACCESS_KEY as they were."
    )


def endpoint() -> str:
    """Where calls go: as set, or Amazon's, or the own marketplace."""
    own = f"{settings.SITE_URL}/marketplace/api/"
    return settings.MTURK_ENDPOINT_URL or AMAZON.get(settings.MTURK_MODE, own)


def here() -> str:
    """The place the settings name now: mode, host and account, as batches keep it. Raises NoAccount, or NotAllowed."""
    if not settings.MTURK_ACCESS_KEY or not settings.MTURK_SECRET_KEY:
        raise NoAccount
    if settings.MTURK_MODE == "production" and not settings.MTURK_ALLOW_SPENDING:
        raise NotAllowed
    parts = urlsplit(endpoint())
    return f"{settings.MTURK_MODE} {parts.netloc}{parts.path.rstrip('/')} {settings.MTURK_ACCESS_KEY}"


def check(place: str) -> None:
    """Raises OtherPlace, NoAccount, or NotAllowed."""
    if place != here():
        raise OtherPlace


def client() -> BotoClient:
    """To the place the settings name. Raises NoAccount, or NotAllowed."""
    here()
    secret, timeout, many = settings.MTURK_SECRET_KEY, settings.MTURK_READ_TIMEOUT, settings.MTURK_PARALLEL + 2
    return _client(endpoint(), settings.MTURK_ACCESS_KEY, secret, settings.MTURK_REGION, timeout, many)


def close() -> None:
    """Let go of the connections that are kept, whatever the settings name by now."""
    while _open:
        _open.pop().close()
    _client.cache_clear()


_open: list[BotoClient] = []


@lru_cache(maxsize=1)
def _client(endpoint: str, access_key: str, secret_key: str, region: str, timeout: float, many: int) -> BotoClient:
    """One for all threads: making one reads a service model of megabytes."""
    made = BotoClient(
        endpoint, access_key, secret_key, region, read_timeout=timeout, connections=many, record=note_call
    )
    _open.append(made)
    return made
