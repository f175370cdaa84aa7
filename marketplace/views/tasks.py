"""Where task pages of other sites post their answers."""

from csp.constants import SELF
from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from marketplace import clock, faults, forms, questions, work
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
    assignment_id = request.POST.get("assignmentId", "").replace("\x00", "")
    if assignment_id == NOT_ACCEPTED:
        return _page(request, "This was a preview: accept the HIT before you submit it.", 409)
    now = faults.now()
    clock.catch_up(now)
    held = Assignment.objects.select_related("worker", "hit").filter(assignment_id=assignment_id).first()
    # A place given back keeps its id: a page that names its worker must not answer for the next one.
    if held is None or held.worker is None or request.POST.get("workerId") not in ("", None, held.worker.worker_id):
        return _page(request, "This assignment is not yours any more: it was given back, or its time ran out.", 409)
    try:
        work.submit(held.worker, assignment_id, _fields(held, request.POST), at=now)
    except work.Refused as refused:
        return _page(request, refused.sentence, refused.status)
    return _page(request, "", 200)


def _fields(held: Assignment, posted: QueryDict) -> questions.Sent:
    """Of a name that comes again one value survives, as with the service; a QuestionForm's selections all do."""
    asked = questions.read(held.hit.question)
    if asked.kind == "form":
        return forms.as_sent(asked.text, posted)
    return {name: values[-1] for name, values in posted.lists() if values}


def _page(request: HttpRequest, refused: str, status: int) -> HttpResponse:
    return render(request, "marketplace/submitted.html", {"refused": refused}, status=status)
