"""The API for staff: people of a study in numbers, revoking and restoring them, re-collection, the log.

A worker's token sees only its own numbers, at `me`.
"""

from collections.abc import Mapping
from typing import Any, cast

from django.http import JsonResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.request import Request

from annotation import jobs, revocation
from annotation.models import Event, Revocation, Study, Worker
from annotation.staff import BOTH, STRANGE, actor, study_of, user_of
from validation import adjudication, audit, people, quality, recollection, serializers

MOST = 1_000  # events in one answer


@extend_schema(**serializers.LIST_WORKERS)
@api_view(["GET"])
@authentication_classes(BOTH)
def workers(request: Request, slug: str) -> JsonResponse:
    """Everybody in the study with their numbers."""
    study = study_of(request, slug)
    return JsonResponse({"workers": [person.as_dict() for person in people.people_of(study)]})


@extend_schema(**serializers.SHOW_WORKER)
@api_view(["GET"])
@authentication_classes(BOTH)
def worker(request: Request, slug: str, worker: str) -> JsonResponse:
    return JsonResponse(_numbers(study_of(request, slug), worker))


@extend_schema(**serializers.SHOW_ME)
@api_view(["GET"])
def me(request: Request, slug: str) -> JsonResponse:
    """A worker's own numbers; hidden gold and fillers stay hidden."""
    mine = Study.objects.filter(slug=slug, enrolments__worker=cast(Worker, request.user)).first()
    if mine is None:
        raise NotFound(STRANGE.format(slug))
    numbers = _numbers(mine, mine.enrolments.get(worker=cast(Worker, request.user)).running_code)
    shown = ("worker", "stages", "state", "annotations", "median_seconds", "share_of_study")
    return JsonResponse({name: numbers[name] for name in shown})


def _numbers(study: Study, worker: str) -> dict[str, Any]:
    enrolment = people.find(study, worker)
    return next(p.as_dict() for p in people.people_of(study) if p.enrolment == enrolment)


@extend_schema(**serializers.REVOKE)
@api_view(["POST"])
@authentication_classes(BOTH)
def revoke(request: Request, slug: str, worker: str) -> JsonResponse:
    """End a worker's work, and do with what is finished what `work` says; with `dry_run`, say what that would do."""
    study = study_of(request, slug, acts=True)
    given = _body(request, {"reason": str, "work": str}, {"dry_run": bool})
    if given["work"] not in Revocation.Work.values:
        raise ParseError(f"“work” is one of {', '.join(Revocation.Work.values)}.", "wrong_body")
    enrolment = people.find(study, worker)
    planned = recollection.preview(study, [enrolment], given["work"]).as_dict()
    if not given.get("dry_run"):
        now, by = timezone.now(), actor(request)
        done = revocation.revoke(enrolment, why=given["reason"], work=given["work"], by=by, at=now)
        revocation.apply_work(done, by=by, at=now)
    return JsonResponse({"worker": enrolment.running_code, "state": enrolment.state, "effect": planned})


@extend_schema(**serializers.RESTORE)
@api_view(["POST"])
@authentication_classes(BOTH)
def restore(request: Request, slug: str, worker: str) -> JsonResponse:
    study = study_of(request, slug, acts=True)
    given, enrolment = _body(request, {"reason": str}, {}), people.find(study, worker)
    revocation.restore(enrolment, by=actor(request), why=given["reason"], at=timezone.now())
    return JsonResponse({"worker": enrolment.running_code, "state": enrolment.state})


@extend_schema(**serializers.RECOLLECT)
@api_view(["POST"])
@authentication_classes(BOTH)
def recollect(request: Request, slug: str) -> JsonResponse:
    """What a set of rules would exclude; without `dry_run` a job does it, and 202 names that."""
    study = study_of(request, slug, acts=True)
    given = _body(request, {"rules": dict}, {"dry_run": bool, "reason": str})
    rules = recollection.read_rules(given["rules"])
    if not rules:
        raise ParseError("“rules” names at least one rule with its threshold.", "wrong_body")
    now = timezone.now()
    quality.refresh(study, at=now)
    planned = recollection.plan(study, rules).as_dict()
    if given.get("dry_run"):
        return JsonResponse({"effect": planned, "job": None})
    options = {"rules": rules, "why": given.get("reason") or "Excluded by the study's rules."}
    job = jobs.ask(study, "recollect", by=user_of(request), at=now, options=options)
    return JsonResponse({"effect": planned, "job": job.pk}, status=202)


@extend_schema(**serializers.ADJUDICATE)
@api_view(["POST"])
@authentication_classes(BOTH)
def adjudicate(request: Request, slug: str) -> JsonResponse:
    """Decide what people did not agree on; sent again, nothing changes."""
    study = study_of(request, slug, acts=True)
    given = _body(request, {"item": str, "value": str, "reason": str}, {})
    decided = adjudication.adjudicate(
        study, given["item"], given["value"], why=given["reason"], by=actor(request), at=timezone.now()
    )
    return JsonResponse(decided.as_dict())


@extend_schema(**serializers.LIST_EVENTS)
@api_view(["GET"])
@authentication_classes(BOTH)
def events(request: Request, slug: str) -> JsonResponse:
    """The log, oldest first; `after` takes the id that ended the answer before."""
    study = study_of(request, slug)
    asked = request.query_params
    found = audit.search(study, {name: asked.get(name, "") for name in ("worker", "item", "what")}).order_by("pk")
    after = asked.get("after", "0")
    if not (after.isascii() and after.isdecimal() and len(after) < 19):
        raise ParseError("“after” is the id of an event.", "wrong_query")
    part = list(found.filter(pk__gt=int(after)).values_list("pk", flat=True)[:MOST])
    shown = audit.rows(study, Event.objects.filter(pk__in=part).order_by("pk"))
    return JsonResponse({"events": list(shown), "after": part[-1] if part else int(after)})


# --- What comes in ------------------------------------------------------------------------------------


def _body(request: Request, needed: Mapping[str, type], optional: Mapping[str, type]) -> dict[str, Any]:
    """Raises ParseError (400)."""
    given, known = request.data, {**needed, **optional}
    if not isinstance(given, dict) or not needed.keys() <= given.keys() <= known.keys():
        raise ParseError(f"The body is an object with {', '.join(known)}, and nothing else.", "wrong_body")
    for name, value in given.items():
        if not isinstance(value, known[name]) or (isinstance(value, str) and "\x00" in value):
            raise ParseError(f"“{name}” is not of the right kind.", "wrong_body")
    return given
