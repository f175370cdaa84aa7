"""Every refusal under /api/ looks the same: `application/problem+json` (RFC 9457) with a code and a sentence."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions
from rest_framework.views import set_rollback

from annotation.errors import Invalid, LostRace, Refusal

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
SENTENCES = {
    exceptions.NotAuthenticated: "Say who you are: send the header “Authorization: Token ...” with your token.",
    exceptions.UnsupportedMediaType: "Send JSON, and say so: Content-Type: application/json.",
    exceptions.NotAcceptable: "This address answers in JSON only. Send Accept: application/json, or leave it out.",
}
NOT_FOUND = "There is nothing at this address. Every address ends in a slash; /api/docs/ lists them all."
NOT_TAKEN = "Nothing was submitted: some answers need another look, see `errors`. Correct them and send all again."
BUSY = "Too much happened here at the same moment. Nothing was changed; please send this again."
FAILED = "Something went wrong on our side. Please send this again; what was answered with 200 before is kept."


def problem(status: int, code: str, detail: str, **more: object) -> JsonResponse:
    """more: members of the problem besides the usual five, such as `errors`."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail, **more}
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)


def as_problem(error: Exception, context: Mapping[str, Any]) -> JsonResponse | None:
    """DRF's exception handler. None for what nobody expected: Django logs it and asks `server_error`."""
    set_rollback()
    match error:
        case Invalid():
            return problem(error.status, error.code, NOT_TAKEN, errors=error.problems)
        case Refusal():
            return problem(error.status, error.code, error.sentence)
        case Http404():
            return problem(404, "not_found", NOT_FOUND)
        case exceptions.APIException():
            return _of_framework(error, context)
        case OperationalError() | LostRace():  # a lock waited for too long, a deadlock, a database that restarts
            logger.error("A request failed that may be sent again", exc_info=error)
            return problem(503, "busy", BUSY)
    return None


def _of_framework(error: exceptions.APIException, context: Mapping[str, Any]) -> JsonResponse:
    response = problem(error.status_code, str(error.get_codes()), _sentence(error, context))
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = f"{wait:.0f}"
    return response


def _sentence(error: exceptions.APIException, context: Mapping[str, Any]) -> str:
    match error:
        case exceptions.MethodNotAllowed():
            use = ", ".join(sorted(set(context["view"].allowed_methods) - {"OPTIONS"}))
            return f"{context['request'].method} is not for this address: use {use}."
        case exceptions.Throttled(wait=seconds):  # type: ignore[misc]  # the stubs lack it
            return f"Too many requests. Wait {seconds:.0f} seconds and send this again."
    return SENTENCES.get(type(error), str(error.detail))


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: a request refused before any view, such as one for an unknown host."""
    if _is_api(request):
        return problem(400, "bad_request", "This request was refused unread. Check its address and headers.")
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500."""
    return problem(500, "error", FAILED) if _is_api(request) else defaults.server_error(request)
