"""The API for who spends: batches, what they cost, pay, bonuses, the ledger.

What may spend and could be done twice needs the header `Idempotency-Key`: the same request under the same key is
answered as the first time, and another one is refused.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import JsonResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes
from rest_framework.exceptions import NotFound, ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from annotation.errors import Refusal
from annotation.models import Enrolment, Study
from annotation.revocation import enrolment_of
from annotation.staff import BOTH, actor, study_of, user_of
from annotation.views.pages import RESEARCHER
from hits import overview, payments, places, publishing, requirements, serializers, spending, wages
from hits.client import MTurkError
from hits.errors import NotNow
from hits.models import Batch, Payment
from hits.once import once
from hits.publishing import Terms
from hits.wages import Draft

SPEND = "hits.spend"
KEY = re.compile(r"[\x21-\x7e]{1,120}")
KEY_NEEDED = (
    "Send the header Idempotency-Key, up to 120 visible ASCII characters: then a repetition buys nothing twice."
)
CHANGED = "The sum is {} now, and not {} any more. Nobody was paid; look at it again."


@extend_schema(methods=["GET"], **serializers.LIST_BATCHES)
@extend_schema(methods=["POST"], **serializers.PUBLISH)
@api_view(["GET", "POST"])
@authentication_classes(BOTH)
def batches(request: Request, slug: str) -> JsonResponse:
    """The study's money and batches; or commit to a new batch, which is then published in the background."""
    study = study_of(request, slug)
    if request.method == "GET":
        rows = [row.as_dict() for row in overview.batches(study)]
        return JsonResponse({"money": spending.standing(study).as_dict(), "batches": rows})
    _may_spend(request)
    terms = _terms(request)
    publishing.check(study, terms)

    def publish(by: str, at: datetime) -> Mapping[str, Any]:
        batch = publishing.publish(study, terms, by=by, at=at)
        return _shown(study, batch.number)

    return _once(request, study, publish, status=201)


@extend_schema(**serializers.PLAN)
@api_view(["POST"])
@authentication_classes(BOTH)
def plan(request: Request, slug: str) -> JsonResponse:
    """What a batch would cost; nothing is bought. The balance is null where the marketplace does not say."""
    study = study_of(request, slug)
    _may_spend(request)
    terms = _terms(request)
    publishing.check(study, terms)
    return JsonResponse(publishing.plan(study, terms, balance=_balance()).as_dict())


def _balance() -> Decimal | None:
    try:
        return places.client().balance()
    except (Refusal, MTurkError):
        return None


@extend_schema(**serializers.SHOW_BATCH)
@api_view(["GET"])
@authentication_classes(BOTH)
def batch(request: Request, slug: str, number: int) -> JsonResponse:
    study = study_of(request, slug)
    return JsonResponse(_shown(study, _batch(study, number).number))


@extend_schema(**serializers.TOP_UP)
@api_view(["POST"])
@authentication_classes(BOTH)
def top_up(request: Request, slug: str, number: int) -> JsonResponse:
    """So many more sittings on the same terms."""
    study = study_of(request, slug)
    _may_spend(request)
    found, sittings = _batch(study, number), _read(serializers.TopUp, request)["sittings"]

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        publishing.top_up(found, sittings, by=by, at=at)
        return _shown(study, number)

    return _once(request, study, act)


@extend_schema(**serializers.EXTEND)
@api_view(["POST"])
@authentication_classes(BOTH)
def extend(request: Request, slug: str, number: int) -> JsonResponse:
    """Offer the open HITs for so many hours from now."""
    study = study_of(request, slug)
    _may_spend(request)
    found, hours = _batch(study, number), _read(serializers.Extend, request)["hours"]

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        publishing.extend(found, hours, by=by, at=at)
        return _shown(study, number)

    return _once(request, study, act, needs_key=False)


@extend_schema(**serializers.PAUSE)
@api_view(["POST"])
@authentication_classes(BOTH)
def pause(request: Request, slug: str, number: int) -> JsonResponse:
    """Nobody new can take a HIT; work in people's hands goes on."""
    return _move(request, slug, number, publishing.pause, stops=True)


@extend_schema(**serializers.RESUME)
@api_view(["POST"])
@authentication_classes(BOTH)
def resume(request: Request, slug: str, number: int) -> JsonResponse:
    """Offer what is unsold again."""
    return _move(request, slug, number, publishing.resume)


@extend_schema(**serializers.END)
@api_view(["POST"])
@authentication_classes(BOTH)
def end(request: Request, slug: str, number: int) -> JsonResponse:
    """Sell nothing more, for good. Work in people's hands is taken and paid."""
    return _move(request, slug, number, publishing.end, stops=True)


def _move(
    request: Request, slug: str, number: int, move: Callable[..., object], *, stops: bool = False
) -> JsonResponse:
    study = study_of(request, slug)
    _may_spend(request, or_stop=stops)
    found = _batch(study, number)
    _read(serializers.Nothing, request)

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        move(found, by=by, at=at)
        return _shown(study, number)

    return _once(request, study, act, needs_key=False)


# --- Pay ---------------------------------------------------------------------------------------------------


@extend_schema(**serializers.PAY)
@api_view(["POST"])
@authentication_classes(BOTH)
def pay(request: Request, slug: str) -> JsonResponse:
    """Approve every reward that waits and whose answers are proven; of one batch, if it is named."""
    study = study_of(request, slug)
    _may_spend(request)
    given = _read(serializers.Pay, request)
    waiting = payments.proven(study)
    if "batch" in given:
        waiting = waiting.filter(batch=_batch(study, given["batch"]))

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        _, amount, fee = payments.total(waiting)
        return {"approved": payments.approve_all(waiting, by=by, at=at), "total": f"{amount + fee:.2f}"}

    return _once(request, study, act, needs_key=False)


@extend_schema(**serializers.DECIDE)
@api_view(["POST"])
@authentication_classes(BOTH)
def decide(request: Request, slug: str, pk: int) -> JsonResponse:
    """Approve or reject one reward, or pay it and leave its answers out of the data."""
    study = study_of(request, slug)
    _may_spend(request)
    given = _read(serializers.Decide, request)
    payment = Payment.objects.select_related("visit__hit__batch", "worker", "study").filter(study=study, pk=pk).first()
    if payment is None:
        raise NotFound(f"There is no payment {pk} in this study.")
    decision, reason = given["decision"], given.get("reason", "")

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        if payment.state != Payment.State.DUE:
            raise NotNow(f"This payment is {payment.state}.")
        match decision:
            case "approve":
                payments.approve(payment, by=by, at=at)
            case "reject":
                payments.reject(payment, reason, by=by, at=at)
            case _:
                payments.reject_softly(payment, reason, by=by, at=at)
        payment.refresh_from_db(fields=["state"])
        return {"payment": pk, "state": payment.state}

    return _once(request, study, act, needs_key=False)


@extend_schema(**serializers.BONUS)
@api_view(["POST"])
@authentication_classes(BOTH)
def bonus(request: Request, slug: str) -> JsonResponse:
    """Decide a bonus or a compensation for one worker."""
    study = study_of(request, slug)
    _may_spend(request)
    given = _read(serializers.Bonus, request)
    try:
        enrolment = enrolment_of(study, given["worker"])
    except Enrolment.DoesNotExist:
        raise NotFound(f"There is no worker {given['worker']!r} in this study.") from None
    kind, amount = given["kind"], given["amount"]

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        key = f"{kind} {study.pk} {_key(request)} {by}"[:160]
        drafts = [Draft(enrolment.worker, enrolment.running_code, amount, given["reason"], key, kind)]
        total = wages.cost(drafts)
        wages.decide(study, drafts, by=by, at=at)
        return {"worker": enrolment.running_code, "amount": f"{amount:.2f}", "total": f"{total:.2f}"}

    return _once(request, study, act, status=201)


@extend_schema(**serializers.WAGE)
@api_view(["POST"])
@authentication_classes(BOTH)
def topup(request: Request, slug: str) -> JsonResponse:
    """Lift everybody to a wage for an hour of active time; with `dry_run`, say who would get how much."""
    study = study_of(request, slug)
    _may_spend(request)
    given = _read(serializers.Wage, request)
    target, expected = given["target"], given.get("total")

    def act(by: str, at: datetime) -> Mapping[str, Any]:
        drafts = wages.topups(study, target)
        total = wages.cost(drafts)
        if expected is not None and total != expected:
            raise NotNow(CHANGED.format(f"${total:.2f}", f"${expected:.2f}"))
        if not given["dry_run"]:
            wages.decide(study, drafts, by=by, at=at)
        people = [{"worker": draft.code, "amount": f"{draft.amount:.2f}"} for draft in drafts]
        return {"people": people, "total": f"{total:.2f}", "paid": not given["dry_run"]}

    if given["dry_run"]:
        return JsonResponse(act(actor(request), timezone.now()))
    return _once(request, study, act, needs_key=False)


@extend_schema(**serializers.LEDGER)
@api_view(["GET"])
@authentication_classes(BOTH)
def ledger(request: Request, slug: str) -> JsonResponse:
    """Every sum earned, oldest first. It names ids of the marketplace, so it is for who may spend."""
    study = study_of(request, slug)
    _may_spend(request)
    return JsonResponse({"payments": list(payments.ledger(study))})


# --- Who asks, and for what -----------------------------------------------------------------------------------


def _may_spend(request: Request, *, or_stop: bool = False) -> None:
    """Raises PermissionDenied. or_stop: any researcher may do what only saves money."""
    user = user_of(request)
    may_stop = or_stop and user.groups.filter(name=RESEARCHER).exists()
    if not (user.has_perm(SPEND) or may_stop):
        raise PermissionDenied("You may look at this study, but not spend its money.", "for_spenders")


def _batch(study: Study, number: int) -> Batch:
    found = Batch.objects.select_related("study").filter(study=study, number=number).first()
    if found is None:
        raise NotFound(f"This study has no batch {number}.")
    return found


def _shown(study: Study, number: int) -> dict[str, Any]:
    return overview.batches(study, number)[0].as_dict()


def _read(kind: type[Serializer], request: Request) -> dict[str, Any]:
    """The body. Raises ParseError (400), in a sentence about the first thing that is wrong."""
    body = request.data
    read = kind(data=body)
    if not isinstance(body, dict):
        raise ParseError("The body must be an object.", "wrong_body")
    if unknown := sorted(set(body) - set(read.fields)):
        known = ", ".join(read.fields) or "nothing"
        raise ParseError(f"Unknown name {unknown[0]!r}: the body has {known}, and nothing else.", "wrong_body")
    if not read.is_valid():
        name, errors = next(iter(read.errors.items()))
        raise ParseError(f"“{name}”: {_first(errors)}", "wrong_body")
    return dict(read.validated_data)


def _first(errors: Any) -> str:
    """The first sentence, however deep it is."""
    while not isinstance(errors, str):
        errors = next(iter(errors.values())) if isinstance(errors, dict) else errors[0]
    return str(errors)


def _terms(request: Request) -> Terms:
    given = _read(serializers.NewBatch, request)
    asked = requirements.asked(
        percent=given.pop("approved_percent"),
        number=given.pop("approved_number"),
        countries=given.pop("countries"),
        adult=given.pop("adult"),
    )
    return Terms(**given, requirements=asked)


def _key(request: Request) -> str:
    """Raises ParseError for one that is no key; "" without one."""
    key = request.headers.get("Idempotency-Key", "")
    if key and not KEY.fullmatch(key):
        raise ParseError(KEY_NEEDED, "wrong_key")
    return key


def _once(
    request: Request,
    study: Study,
    act: Callable[[str, datetime], Mapping[str, Any]],
    *,
    status: int = 200,
    needs_key: bool = True,
) -> JsonResponse:
    """Do it, or, under a key that was used, answer as then. Raises ParseError, KeyUsed, and what `act` raises."""
    by, now, key = actor(request), timezone.now(), _key(request)
    if not key and needs_key:
        raise ParseError(KEY_NEEDED, "key_needed")
    if not key:
        return JsonResponse(act(by, now), status=status)
    asked = [request.path, request.data]
    return JsonResponse(once(study, f"api {key}", asked, lambda: act(by, now), by=by, at=now), status=status)
