"""What researchers' pages share: who may see them, their frame, regions that refresh themselves."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.timezone import now
from django.views.decorators.cache import never_cache

from annotation import overview, way_in
from annotation.models import Study
from annotation.views.rendering import render_region

if TYPE_CHECKING:
    from django.contrib.auth.models import User

RESEARCHER = "researcher"  # the group whose members may change the studies they are in the team of

View = Callable[..., HttpResponseBase]


def for_user(view: View) -> View:
    """Log-in needed. A region that refreshes itself is told so by 401: a log-in page has no place inside a page."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if request.htmx:  # type: ignore[attr-defined]
            return HttpResponse("You are logged out.", status=401)
        return redirect_to_login(request.get_full_path())

    return wrapped


def for_team(view: View) -> View:
    """Hand the view the study that the address names; for everybody outside its team there is no such page."""

    @for_user
    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        study = get_object_or_404(Study.objects.visible_to(request.user), slug=slug)
        return view(request, study, *args, **kwargs)

    return wrapped


def for_researchers(view: View) -> View:
    """Only who may change things; others in the team look on."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not may_change(request):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapped


def may_change(request: HttpRequest) -> bool:
    """Admins and researchers; which studies, says their team."""
    user = person(request)
    return user.is_superuser or user.groups.filter(name=RESEARCHER).exists()


def person(request: HttpRequest) -> "User":
    """Who is logged in."""
    return cast("User", request.user)


def actor(request: HttpRequest) -> str:
    return f"user:{person(request).get_username()}"


def show(
    request: HttpRequest, study: Study, page: str, context: Mapping[str, Any], *, region: str = "", status: int = 200
) -> HttpResponse:
    """A page of a study, or the region alone for htmx."""
    # The navigation counts what waits to be read; a region has none, and asks nothing.
    frame = {"study": study, "may_change": may_change(request), "tests_waiting": way_in.waiting(study).count}
    everything = {**frame, **context}
    if region:
        return render_region(request, page, region, everything, status)
    return render(request, page, everything, status=status)


def unchanged(request: HttpRequest, study: Study) -> HttpResponse | None:
    """204 for a region that is up to date: htmx then touches nothing. `after` is the stamp the region was made with."""
    after = request.GET.get("after")
    return HttpResponse(status=204) if after and after == stamp(study) else None


def stamp(study: Study) -> str:
    """The state of a study that a region shows: its last event, and the minute.

    The minute, because an event of a slow transaction may come to light after a later one, and a lease ends by itself.
    """
    return f"{overview.serial(study)}.{int(now().timestamp()) // 60}"
