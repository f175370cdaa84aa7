"""The worker's actions as JSON, with the worker's token: for crowds that are programs."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from marketplace import addresses, cents, clock, faults, requirements, work
from marketplace.models import HIT, Assignment, Worker
from marketplace.requirements import Judged
from marketplace.status import available

View = Callable[..., HttpResponse]
ROWS = 100


def for_worker(view: View) -> View:
    """Hand the view the worker whose token the request carries; refusals become problems in JSON."""

    @csrf_exempt
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        worker = work.worker_of(token) if scheme == "Token" else None
        if worker is None:
            return _problem(401, "The token is missing, or does not work any more.")
        clock.catch_up(faults.now())
        addresses.note(request, worker, at=faults.now())
        try:
            return view(request, worker, *args, **kwargs)
        except work.Refused as refused:
            return _problem(refused.status, refused.sentence)

    return wrapped


def _problem(status: int, sentence: str) -> JsonResponse:
    return JsonResponse({"status": status, "detail": sentence}, status=status, content_type="application/problem+json")


@for_worker
@require_GET
def hits(request: HttpRequest, worker: Worker) -> JsonResponse:
    """HITs with something free that this worker may discover, newest first; `?after=` goes on behind one."""
    found = work.open_to(worker, at=faults.now())
    if after := request.GET.get("after", "").replace("\x00", ""):
        found = found.filter(pk__lt=work.find(after).pk)
    rows = list(found.select_related("hit_type", "requester").order_by("-pk")[:ROWS])
    judged = requirements.judge_all(worker, [hit.hit_type.requirements for hit in rows])
    shown = [
        _hit(hit, needed)
        for hit, needed in zip(rows, judged, strict=True)
        if requirements.allow(needed, "DiscoverPreviewAndAccept")
    ]
    return JsonResponse({"hits": shown, "next": rows[-1].hit_id if len(rows) == ROWS else None})


def _hit(hit: HIT, needed: Sequence[Judged]) -> dict[str, Any]:
    shared = hit.hit_type
    return {
        "hit_id": hit.hit_id,
        "hit_type_id": shared.type_id,
        "requester": hit.requester.name,
        "title": shared.title,
        "description": shared.description,
        "keywords": shared.keywords,
        "reward": cents.to_text(shared.reward),
        "available": available(hit, faults.now()),
        "assignment_seconds": shared.assignment_seconds,
        "qualified": requirements.allow(needed, "Accept"),
    }


@for_worker
@require_POST
def accept(request: HttpRequest, worker: Worker, hit_id: str) -> JsonResponse:
    assignment = work.accept(worker, hit_id, at=faults.now())
    return JsonResponse(work.shown(assignment, worker))


@for_worker
@require_POST
def give_back(request: HttpRequest, worker: Worker, assignment_id: str) -> JsonResponse:
    work.give_back(worker, assignment_id, at=faults.now())
    return JsonResponse({})


@for_worker
@require_GET
def assignments(request: HttpRequest, worker: Worker) -> JsonResponse:
    """All of this worker's, the newest first, with what was earned."""
    rows = Assignment.objects.filter(worker=worker).select_related("hit__hit_type", "hit__requester").order_by("-pk")
    return JsonResponse({"assignments": [_assignment(row, worker) for row in rows[:ROWS]]})


def _assignment(row: Assignment, worker: Worker) -> dict[str, Any]:
    return {
        **work.shown(row, worker),
        "status": str(row.state),
        "reward": cents.to_text(row.hit.hit_type.reward),
        "feedback": row.feedback,
        "answer": row.answer,
        "submitted_at": row.submitted_at.isoformat() if row.submitted_at else None,
    }
