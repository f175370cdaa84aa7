"""What the API for staff takes and gives, for the OpenAPI schema only."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, FloatField, IntegerField

from annotation.models import Enrolment, Revocation
from annotation.serializers import ALWAYS, BODY, Body, TokenScheme, refused


class StaffScheme(TokenScheme):
    """The same header; another token in it."""

    target_class = "annotation.staff.StaffAuthentication"
    name = "staff"


class Own(serializers.Serializer):
    """Of one worker; shares from 0 to 1."""

    worker = CharField(help_text="Running code, such as W001.")
    stages = serializers.ListField(child=CharField())
    state = ChoiceField(Enrolment.State.choices)
    annotations = IntegerField()
    median_seconds = FloatField(allow_null=True)
    share_of_study = FloatField()


class Numbers(Own):
    gold_accuracy = FloatField(allow_null=True)
    filler_accuracy = FloatField(allow_null=True)
    invalid_share = FloatField(allow_null=True)
    invalid_share_of_judged = FloatField(allow_null=True)


class Everybody(serializers.Serializer):
    workers = Numbers(many=True)


class Effect(serializers.Serializer):
    workers = IntegerField()
    annotations = IntegerField()
    items_below = IntegerField()
    seats = IntegerField()
    cost = FloatField()
    sittings = IntegerField(required=False)
    changed = IntegerField(required=False)


class Revoke(Body):
    reason = CharField(help_text="The worker reads it.")
    work = ChoiceField(Revocation.Work.choices)
    dry_run = BooleanField(required=False)


class Adjudicate(Body):
    item = CharField(help_text="The item's own id, as it was imported.")
    value = CharField(help_text="One of the protocol's values; empty takes an earlier decision back.")
    reason = CharField(help_text="A sentence; it stays in the log.")


class Adjudicated(serializers.Serializer):
    item = CharField()
    value = CharField(allow_blank=True)
    before = CharField(allow_blank=True, help_text="What had been decided before, or empty.")
    state = CharField()
    label = CharField(allow_blank=True)  # type: ignore[assignment]  # a declared field


class Restore(Body):
    reason = CharField()


class Recollect(Body):
    rules = DictField(child=FloatField(min_value=0, max_value=1), help_text="Thresholds by the names of rules.")
    reason = CharField(required=False)
    dry_run = BooleanField(required=False)


class Stands(serializers.Serializer):
    worker = CharField()
    state = ChoiceField(Enrolment.State.choices)


class Revoked(Stands):
    effect = Effect()


class Recollected(serializers.Serializer):
    effect = Effect()
    job = IntegerField(allow_null=True)


class Happened(serializers.Serializer):
    at = serializers.DateTimeField()
    actor = CharField()
    what = CharField()
    why = CharField(allow_blank=True)
    item = CharField(allow_null=True)
    worker = CharField(allow_null=True)
    details = DictField(child=serializers.JSONField())


class Events(serializers.Serializer):
    events = Happened(many=True)
    after = IntegerField(help_text="Ask for what comes after this one.")


def _query(name: str, said: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.QUERY, description=said)


LIST_WORKERS: dict[str, Any] = {
    "operation_id": "list_workers",
    "responses": {200: OpenApiResponse(Everybody, "Everybody."), **refused(*ALWAYS, 403)},
}
SHOW_WORKER: dict[str, Any] = {
    "operation_id": "show_worker",
    "responses": {200: OpenApiResponse(Numbers, "Their numbers."), **refused(*ALWAYS, 403)},
}
SHOW_ME: dict[str, Any] = {
    "operation_id": "show_me",
    "responses": {200: OpenApiResponse(Own, "Your numbers."), **refused(*ALWAYS, 403)},
}
REVOKE: dict[str, Any] = {
    "operation_id": "revoke_worker",
    "request": Revoke,
    "responses": {
        200: OpenApiResponse(Revoked, "Done, or what it would do."),
        **refused(*ALWAYS, *BODY, 403, 409, 422),
    },
}
RESTORE: dict[str, Any] = {
    "operation_id": "restore_worker",
    "request": Restore,
    "responses": {200: OpenApiResponse(Stands, "They may go on."), **refused(*ALWAYS, *BODY, 403, 409, 422)},
}
ADJUDICATE: dict[str, Any] = {
    "operation_id": "adjudicate_item",
    "request": Adjudicate,
    "responses": {
        200: OpenApiResponse(Adjudicated, "Decided, now or before."),
        **refused(*ALWAYS, *BODY, 403, 409, 422),
    },
}
RECOLLECT: dict[str, Any] = {
    "operation_id": "recollect",
    "request": Recollect,
    "responses": {
        200: OpenApiResponse(Recollected, "What it would do."),
        202: OpenApiResponse(Recollected, "A job does it."),
        **refused(*ALWAYS, *BODY, 403, 422),
    },
}
LIST_EVENTS: dict[str, Any] = {
    "operation_id": "list_events",
    "parameters": [
        _query("worker", "Only about this worker, by running code."),
        _query("item", "Only about this item, by its id."),
        _query("what", "Only what happened, such as `revoked`."),
        _query("after", "The id that ended the answer before."),
    ],
    "responses": {200: OpenApiResponse(Events, "At most 1,000, oldest first."), **refused(*ALWAYS, 400, 403)},
}
