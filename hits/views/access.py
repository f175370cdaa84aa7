"""What the pages about batches and pay share: who may spend, refusals as pages, steps taken once."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from annotation.errors import Refusal
from annotation.models import Study
from annotation.views import pages
from annotation.views.pages import View, actor, person
from hits import places
from hits.models import Intent
from hits.once import once

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SPEND = "hits.spend"  # held by the group `spender`; which studies, says their team
KINDS = {  # of intents, in words
    "create": "Publish a HIT",
    "expiry": "Change when a HIT ends",
    "delete": "Delete a HIT",
    "approve": "Approve work",
    "override": "Approve work that was rejected",
    "reject": "Reject work",
    "bonus": "Pay a bonus",
    "qualification": "Make a qualification",
    "grant": "Grant or revoke a qualification",
}


def may_spend(user: "User") -> bool:
    """Whoever holds the permission; an admin always does."""
    return user.has_perm(SPEND)


def for_spenders(view: View) -> View:
    """Only who may spend; others in the team look on."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_spend(person(request)):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapped


def for_stoppers(view: View) -> View:
    """Who may spend, and every researcher of the study: what only saves money should not wait for somebody."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not (may_spend(person(request)) or pages.may_change(request)):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapped


def refusing(view: View) -> View:
    """A refusal becomes a page with its sentence."""

    @wraps(view)
    def wrapped(request: HttpRequest, study: Study, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, study, *args, **kwargs)
        except Refusal as refusal:
            return show(request, study, "hits/refused.html", {"said": refusal.sentence}, status=refusal.status)

    return wrapped


def show(
    request: HttpRequest, study: Study, page: str, context: Mapping[str, Any], *, region: str = "", status: int = 200
) -> HttpResponse:
    everything = {"may_spend": may_spend(person(request)), **context}
    return pages.show(request, study, page, everything, region=region, status=status)


def new_key() -> str:
    """For a form, when it is shown: however often it is then sent, it does its work once."""
    return token_urlsafe(18)


def take_once(
    request: HttpRequest, study: Study, act: Callable[[str, datetime], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Do what a form says, the first time it is sent. `act` gets who and when. Raises what `act` raises."""
    by, now = actor(request), timezone.now()
    asked = {name: request.POST.getlist(name) for name in request.POST if name not in ("csrfmiddlewaretoken", "key")}
    key = request.POST.get("key", "")[:200]
    if not key:
        return act(by, now)
    return once(study, f"form {key}"[:200], [request.path, asked], lambda: act(by, now), by=by, at=now)


def no_account() -> str:
    """Why nothing can be bought now, in a sentence, or ""."""
    try:
        places.here()
    except Refusal as refusal:
        return refusal.sentence
    return ""


def words_of(intent: Intent) -> str:
    return KINDS.get(intent.kind, intent.kind)
