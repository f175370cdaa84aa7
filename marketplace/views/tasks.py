"""Where task pages of other sites post their answers."""

from csp.constants import SELF
from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from marketplace import clock, faults, work
from marketplace.models import Assignment
from marketplace.questions import NOT_ACCEPTED


@csrf_exempt
@xframe_options_exempt
@csp_replace({"frame-ancestors": [SELF]})
@require_POST
def external_submit(request: HttpRequest) -> HttpResponse:
    """A form of the task's page, in its frame: no cookie comes along, so the assignment's id says whose it is.

    Nobody but its holder knows that id. Answered with a page for the frame, never with a redirect elsewhere.
    """
    assignment_id = request.POST.get("assignmentId", "")
    if assignment_id == NOT_ACCEPTED:
        return _page(request, "This was a preview: accept the HIT before you submit it.", 409)
    now = faults.now()
    clock.catch_up(now)
    held = Assignment.objects.select_related("worker").filter(assignment_id=assignment_id).first()
    if held is None or held.worker is None:
        return _page(request, "This assignment is not yours any more: it was given back, or its time ran out.", 409)
    try:
        work.submit(held.worker, assignment_id, request.POST.dict(), at=now)
    except work.Refused as refused:
        return _page(request, refused.sentence, refused.status)
    return _page(request, "", 200)


def _page(request: HttpRequest, refused: str, status: int) -> HttpResponse:
    return render(request, "marketplace/submitted.html", {"refused": refused}, status=status)
