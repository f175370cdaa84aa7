"""The requester API on the wire: AWS JSON 1.1 in and out, every call signed, checked, done and recorded."""

import json
import logging
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from marketplace import clock, faults, shapes, signing
from marketplace.errors import RequestError, SerializationException, Throttled, UnknownOperation, WireError
from marketplace.models import Call, Requester
from marketplace.operations import OPERATIONS, Asked
from marketplace.throttle import allows

log = logging.getLogger(__name__)
TARGET = "MTurkRequesterServiceV20170117."
CONTENT_TYPE = "application/x-amz-json-1.1"
MOST_KEPT = 500  # characters of a parameter in the record of calls


@csrf_exempt
@require_POST
def api(request: HttpRequest) -> HttpResponse:
    """One call. Nothing ambient authenticates here: the signature does."""
    at, fault = faults.now(), ""
    try:
        requester = signing.requester_of(request, at=timezone.now())
        name = request.headers.get("X-Amz-Target", "").removeprefix(TARGET)
        fault = faults.plan().draw(name)
        return faults.after(fault, request, _answer(200, _call(request, requester, name, fault, at)))
    except WireError as error:
        return faults.after(fault, request, _answer(error.status, _stamped(error, at)))
    except Exception:  # what boto3 can read, whatever went wrong; the log has the rest
        log.exception("The requester API failed")
        return _answer(500, _stamped(WireError("The service failed; its log says how. Please try again."), at))


def _call(request: HttpRequest, requester: Requester, name: str, fault: str, at: datetime) -> dict[str, Any]:
    """Do what was asked, and record it with what it changed; what was refused, throttled or lost is recorded, too."""
    model = shapes.operation(name)
    if model is None or name not in OPERATIONS:
        raise UnknownOperation(f"There is no operation {name[:60]!r}.")
    call = Call(requester=requester, operation=name, parameters={}, outcome="ok", fault=fault, at=at)
    try:
        if not allows(requester, at):
            raise Throttled("Rate exceeded")
        params = shapes.read(model, _body(request))
        call.parameters = _kept(params)
        faults.before(fault, request)
        clock.catch_up(at)
        return faults.lagging(_done(call, Asked(requester, name, params, at)), at)
    except Exception as error:
        kind = error.kind if isinstance(error, WireError) else WireError.kind
        call.outcome = getattr(error, "code", kind)
        call.save(force_insert=True)
        raise


@transaction.atomic
def _done(call: Call, asked: Asked) -> dict[str, Any]:
    """The effect and its record are one step."""
    result = OPERATIONS[asked.operation](asked)
    call.effect = asked.effect
    call.save(force_insert=True)
    return result


def _body(request: HttpRequest) -> object:
    try:
        return json.loads(request.body or b"{}")
    except (ValueError, RecursionError):
        raise SerializationException("The request body is not JSON.") from None


def _kept(params: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON; long texts are cut, for this is a record of calls and not of questions."""
    text = json.dumps(params, default=lambda value: value.isoformat())
    return dict(json.loads(text, object_hook=lambda found: {k: _cut(v) for k, v in found.items()}))


def _cut(value: Any) -> Any:
    return value[:MOST_KEPT] + "..." if isinstance(value, str) and len(value) > MOST_KEPT else value


def _stamped(error: WireError, at: datetime) -> dict[str, Any]:
    """Messages of business refusals end in the moment, as the service's did: nobody may compare them for equality."""
    body = error.body()
    if isinstance(error, RequestError):
        body["Message"] = body["message"] = f"{error.message} ({int(at.timestamp() * 1000)} s)"
    return body


def _answer(status: int, body: Mapping[str, Any]) -> HttpResponse:
    response = HttpResponse(json.dumps(body), content_type=CONTENT_TYPE, status=status)
    response["x-amzn-RequestId"] = f"{time.time_ns():032x}"
    return response
