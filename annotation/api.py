"""The API for annotators who are programs: the pages' own domain functions, in JSON.

Views answer with plain dicts: this is the path that load tests measure. What goes in and out is described, for the
OpenAPI schema only, in `serializers`.
"""

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from django.db.models import prefetch_related_objects
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.request import Request

from annotation import fitting, leasing, serializers, submission
from annotation.authentication import caller
from annotation.errors import Invalid
from annotation.forms import by_field, read_draft
from annotation.models import Annotation, Assignment, Item, Sitting, Study
from annotation.problems import NOT_FOUND, problem
from annotation.protocols import Protocol

NOT_YOURS = "There is no such {}, or it is not yours. Take the ids from the sitting you were given."
NOT_KEPT = "This draft was not kept: it would not come back as it was sent, see `errors`. Correct it and send it again."
HIDDEN = (Annotation.Why.GOLD, Annotation.Why.FILLER)
KINDS: dict[type, str] = {str: "a text", dict: "an object"}


@extend_schema(**serializers.TAKE_SITTING)
@api_view(["POST"])
def sittings(request: Request, slug: str) -> JsonResponse:
    """Take a sitting, or get the open one again."""
    stage = _only(request, "stage", str)
    try:
        study = Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        raise NotFound(f"There is no study “{slug}”. Check the address you were given.") from None
    sitting, is_new = leasing.lease(caller(request), study, stage, at=timezone.now())
    return JsonResponse(_shown(sitting, study), status=201 if is_new else 200)


@extend_schema(**serializers.SHOW_SITTING)
@api_view(["GET"])
def sitting(request: Request, pk: int) -> JsonResponse:
    """Look at a sitting again, open or closed."""
    sitting = _own_sitting(request, pk)
    return JsonResponse(_shown(sitting, sitting.study))


@extend_schema(**serializers.SUBMIT)
@api_view(["POST"])
def submit(request: Request, pk: int) -> JsonResponse:
    """Submit the whole sitting; sent again, the answer is the same and nothing is stored twice."""
    sitting = _own_sitting(request, pk)
    annotations = submission.submit(sitting, _by_assignment(_only(request, "answers", dict)), at=timezone.now())
    prefetch_related_objects(annotations, "item")
    taken = [_taken(annotation, sitting.study.protocol) for annotation in annotations]
    body = {"id": sitting.pk, "state": sitting.state, "submitted_at": sitting.closed_at, "annotations": taken}
    return JsonResponse(body)


@extend_schema(**serializers.GIVE_BACK)
@api_view(["POST"])
def give_back(request: Request, pk: int) -> JsonResponse:
    """Return the sitting without an answer. The worker does not meet these items again."""
    sitting = _own_sitting(request, pk)
    leasing.give_back(sitting, at=timezone.now())
    return JsonResponse({"id": sitting.pk, "state": Sitting.State.RETURNED})


@extend_schema(**serializers.KEEP_DRAFT)
@api_view(["PUT"])
def draft(request: Request, pk: int) -> JsonResponse:
    """Keep an unfinished answer; it also renews the lease."""
    answer = _only(request, "answer", object)
    assignment = _own_assignment(request, pk)
    stage = assignment.sitting.study.protocol.stage(assignment.stage)
    fields, problems = read_draft(fitting.stage_of(stage, assignment), answer)
    if problems:
        return problem(422, Invalid.code, NOT_KEPT, errors={pk: by_field(problems)})
    now = timezone.now()
    submission.save_draft(assignment, fields, active_seconds=0, at=now)
    return JsonResponse({"saved_at": now})


@csrf_exempt
def nowhere(request: HttpRequest) -> JsonResponse:
    """Any other address under /api/, whatever the method."""
    return problem(404, "not_found", NOT_FOUND)


# --- What comes in ------------------------------------------------------------------------------


def _only(request: Request, name: str, kind: type) -> Any:
    """The one member the body must have. Raises ParseError (400)."""
    body = request.data
    if not isinstance(body, dict):
        raise ParseError(f"The body must be an object with “{name}”.", "wrong_body")
    if unknown := sorted(body.keys() - {name}):
        raise ParseError(f"Unknown name {unknown[0]!r}: the body has “{name}” and nothing else.", "wrong_body")
    if name not in body:
        raise ParseError(f"The body lacks “{name}”.", "wrong_body")
    if not isinstance(body[name], kind):
        raise ParseError(f"“{name}” must be {KINDS[kind]}.", "wrong_body")
    return body[name]


def _by_assignment(answers: Mapping[str, object]) -> dict[int, object]:
    """In JSON names are texts. Raises ParseError (400) for one that cannot be an id."""
    for name in answers:
        if not re.fullmatch(r"[1-9][0-9]{0,18}", name):
            raise ParseError(f"{name!r} in “answers” is not the id of an assignment.", "wrong_body")
    return {int(name): answer for name, answer in answers.items()}


def _own_sitting(request: Request, pk: int) -> Sitting:
    worker = caller(request)
    try:
        sitting = Sitting.objects.select_related("study").get(pk=pk, worker=worker)
    except Sitting.DoesNotExist:
        raise NotFound(NOT_YOURS.format("sitting")) from None
    sitting.worker = worker  # known, so nobody needs to fetch it
    return sitting


def _own_assignment(request: Request, pk: int) -> Assignment:
    try:
        return Assignment.objects.select_related("item", "sitting__study").get(pk=pk, worker=caller(request))
    except Assignment.DoesNotExist:
        raise NotFound(NOT_YOURS.format("assignment")) from None


# --- What goes out: never meta, score or gold -----------------------------------------------------


def _shown(sitting: Sitting, study: Study) -> dict[str, Any]:
    protocol = study.protocol
    assignments, stage = sitting.bundle, protocol.stage(sitting.stage)
    asked = fitting.stages_of(stage, assignments)
    shown = []
    for assignment in assignments:
        payload = fitting.seen(stage, assignment)
        seen = {name: payload[name] for name in protocol.shown if name in payload}
        seen |= asked[assignment.pk].shows or {}
        item = {"id": _shown_id(assignment.item, assignment.pk, protocol), "payload": seen}
        shown.append({"id": assignment.pk, "item": item, "draft": assignment.draft})
    if stage.compares:
        _add_judged(assignments, shown)
    return {
        "id": sitting.pk,
        "stage": sitting.stage,
        "state": sitting.state,
        "leased_until": sitting.leased_until,
        "assignments": shown,
    }


def _shown_id(item: Item, assignment: int, protocol: Protocol) -> str:
    """The item's own id where workers may see it; else it might tell what is hidden, and the assignment's stands in."""
    return item.ref if "id" in protocol.shown else str(assignment)


def _add_judged(assignments: list[Assignment], shown: list[dict[str, Any]]) -> None:
    """The answers to judge, blind: who gave them, and when, stays with the researchers."""
    wanted = [pk for assignment in assignments for pk in assignment.judges]
    answers = dict(Annotation.objects.filter(pk__in=wanted).values_list("pk", "answer"))
    for assignment, each in zip(assignments, shown, strict=True):
        each["judges"] = {letter: answers[pk] for letter, pk in zip(ascii_uppercase, assignment.judges, strict=False)}


def _taken(annotation: Annotation, protocol: Protocol) -> dict[str, Any]:
    """Hidden items look like the rest also afterwards."""
    why = "" if annotation.uncounted in HIDDEN else annotation.uncounted
    return {
        "assignment": annotation.assignment_id,
        "item": _shown_id(annotation.item, annotation.assignment_id, protocol),
        "counted": not why,
        "why": why,
    }
