"""Who is at the worker site: by a personal link, or by an account of this server."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from marketplace import addresses, clock, faults, work
from marketplace.models import Worker

View = Callable[..., HttpResponse]
KEY = "marketplace_worker"


def worker_at(request: HttpRequest) -> Worker | None:
    """The session's worker: entered by a link, or the account's own."""
    if pk := request.session.get(KEY):
        found = Worker.objects.filter(pk=pk).first()
        if found and request.session.get(f"{KEY}_serial") == found.token_serial:
            return found
    user = request.user
    return Worker.objects.filter(user=user).first() if user.is_authenticated else None


def for_worker(view: View) -> View:
    """Hand the view the worker; everybody else is asked to come in. Refusals become a page with a sentence."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        worker = worker_at(request)
        if worker is None:
            return redirect("marketplace:join")
        clock.catch_up(faults.now())
        addresses.note(request, worker, at=faults.now())
        try:
            return view(request, worker, *args, **kwargs)
        except work.Refused as refused:
            context = {"said": refused.sentence, "worker": worker}
            return render(request, "marketplace/refused.html", context, status=refused.status)

    return wrapped


@never_cache
@require_GET
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """A personal link begins a session, and leaves the address bar."""
    worker = work.worker_of(token)
    if worker is None:
        said = "This link does not work any more. Ask whoever gave it to you for a new one."
        return render(request, "marketplace/refused.html", {"said": said}, status=404)
    request.session.cycle_key()
    request.session[KEY], request.session[f"{KEY}_serial"] = worker.pk, worker.token_serial
    return redirect("marketplace:groups")


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Somebody with an account becomes a worker; everybody else logs in, or signs up where that is open."""
    if worker_at(request):
        return redirect("marketplace:groups")
    user = request.user
    if request.method == "POST" and user.is_authenticated:
        name = user.get_username()
        Worker.objects.get_or_create(
            user=user, defaults={"name": name, "email": user.email, "created_at": faults.now()}
        )
        return redirect("marketplace:groups")
    return render(request, "marketplace/join.html", {"open": settings.MARKETPLACE_SIGNUP})


@for_worker
@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest, worker: Worker) -> HttpResponse:
    """What the system's qualifications read: where somebody lives, and whether they see adult content."""
    said = ""
    if request.method == "POST":
        country, part = (request.POST.get(name, "").strip().upper() for name in ("country", "subdivision"))
        if any(text and not (len(text) == 2 and text.isascii() and text.isalnum()) for text in (country, part)):
            said = "A country and a subdivision are two letters each, such as US and CA."
        else:
            worker.country, worker.subdivision = country, part
            worker.is_adult = "is_adult" in request.POST
            worker.takes_next = "takes_next" in request.POST
            worker.save(update_fields=["country", "subdivision", "is_adult", "takes_next"])
            return redirect("marketplace:profile")
    return render(request, "marketplace/profile.html", {"worker": worker, "said": said}, status=422 if said else 200)
