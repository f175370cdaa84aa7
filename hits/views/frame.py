"""The task in a marketplace's frame: another site's page is around it, and no cookie comes along.

The address says who is here; that is a claim, and stays one until the marketplace confirms it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from annotation import looks, screen
from annotation.errors import Refusal
from annotation.models import Item
from annotation.throttling import PerVisitor
from annotation.views.framing import framed
from annotation.views.work import number_to_do
from hits import visits
from hits.models import Hit, Visit
from hits.visits import Where

View = Callable[..., HttpResponse]


def in_frame(view: View) -> View:
    """May be framed; refusals become a page with a sentence."""

    @csrf_exempt
    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, **kwargs)
        except Refusal as refusal:
            return stop(request, refusal.sentence, refusal.status)

    return wrapped


def stop(request: HttpRequest, said: str, status: int) -> HttpResponse:
    return framed(render(request, "hits/frame/stop.html", {"said": said}, status=status))


@in_frame
@require_GET
def enter(request: HttpRequest, key: str) -> HttpResponse:
    """Where the marketplace's frame begins: a preview, or somebody who accepted."""
    hit = Hit.objects.select_related("batch__study").filter(key=key).first()
    if hit is None:
        raise visits.NotOurs
    asked = request.GET
    if asked.get("assignmentId", visits.PREVIEW) == visits.PREVIEW:
        return _preview(request, hit)
    if not PerVisitor().allow_request(request, None):  # type: ignore[arg-type]  # reads the address alone
        return stop(request, "Too many pages were opened from your network. Please wait a minute, then try again.", 429)
    given = [asked.get(name, "") for name in ("assignmentId", "hitId", "workerId", "turkSubmitTo")]
    visit = visits.arrive(hit, *given, at=timezone.now())
    return framed(redirect("hits:go", visits.token_of(visit)))


def _preview(request: HttpRequest, hit: Hit) -> HttpResponse:
    """The task to look at: no session, no lock, nothing to send."""
    batch, study = hit.batch, hit.batch.study
    if batch.invited_id:
        return framed(render(request, "hits/frame/preview.html", {"study": study, "batch": batch}))
    stage = study.protocol.stage(batch.stage)
    example = study.items.filter(role=Item.Role.PRACTICE).order_by("pk").first()
    payload = stage.arranged(example.payload, example.pk) if example else {}
    context = {
        "study": study,
        "batch": batch,
        "stage": (stage := stage.fitted(payload) if example else stage),
        "example": example,
        "payload": payload,
        "item_template": looks.item_templates(study.protocol_slug),
        "styles": looks.styles(stage),
        "instructions": looks.instructions_templates(study.protocol_slug, batch.stage),
        "steps": screen.steps(stage, {}, []) if not stage.judges else [],
    }
    return framed(render(request, "hits/frame/preview.html", context))


@in_frame
@require_http_methods(["GET", "POST"])
def go(request: HttpRequest, token: str) -> HttpResponse:
    """On to what comes next in this visit."""
    visit = visits.find(token)
    now, study, stage = timezone.now(), visit.hit.batch.study, visit.hit.batch.stage
    onward = visits.go_on(visit, at=now)
    if onward.where == Where.STOP:
        return stop(request, onward.said, 409)
    if onward.where == Where.LEAVE:
        return _leave(request, visit)
    link = visits.scope(visit, onward.sitting, reverse("hits:go", args=[token]))
    if onward.where == Where.CONSENT:
        return framed(redirect("annotation:consent", link, study.slug, stage))
    if onward.where == Where.INSTRUCTIONS:
        return framed(redirect("annotation:instructions_first", link, study.slug, stage))
    assert onward.sitting is not None
    return framed(redirect("annotation:work", link, onward.sitting.pk, number_to_do(onward.sitting)))


def _leave(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The answer is kept here; now the form leaves for the marketplace."""
    visits.leave(visit, at=timezone.now())
    context = {"visit": visit, "action": f"{visit.submit_to.rstrip('/')}/mturk/externalSubmit"}
    parts = urlsplit(visit.submit_to)
    response = render(request, "hits/frame/leave.html", context)
    return framed(response, form_action=[f"{parts.scheme}://{parts.netloc}"])
