"""What the API takes and gives, for the OpenAPI schema. Nothing is read or written with these: `api` does that."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, DictField, IntegerField, JSONField

from annotation.models.sittings import State
from annotation.problems import CONTENT_TYPE

PAIR = {"presupposition": "Power plants store current.", "correction": "Current is used as soon as it is made."}
FALSE = {"label": "false presupposition", "reason": None, "pairs": [PAIR]}
NORMAL: dict[str, object] = {"label": "normal", "reason": None, "pairs": []}
REFUSED = {
    "type": "about:blank",
    "title": "Conflict",
    "status": 409,
    "code": "nothing_left",
    "detail": "There is nothing left for you to do here right now.",
}
ANSWERS = (
    "By stage. CREPE, generate: `label`, `reason`, `pairs`. CREPE, validate: `valid`, one of A, B, neither. "
    "CREAK, write: `entity`, `true`, `false`, each with `claim`, `explanation`, `certainty`. CREAK, review: `true`, "
    "`false`, each with `decision`, `claim` or `reason`. CREAK, relabel: `label`. CREAK, contrast: `claim` and "
    "`explanation`."
)


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "annotation.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        said = "`Token`, a space, and a worker's token, or a staff token from `manage.py staff_token`."
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": said}


@extend_schema_field({"type": "object", "additionalProperties": {}, "description": ANSWERS})
class AnswerField(JSONField):
    """An answer, complete or not; the stage's own check says what is wrong with it."""


class Body(serializers.Serializer):
    """What a request carries: these members and no other."""


class BodyIsStrict(OpenApiSerializerExtension):
    target_class = Body
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        members = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**members, "additionalProperties": False}


class Lease(Body):
    stage = CharField(help_text="A stage of the study, such as generate or validate.")


class Draft(Body):
    answer = AnswerField()


class Submission(Body):
    answers = DictField(
        child=AnswerField(allow_null=True),
        help_text="The answer of each assignment, by its id. One left out, or null, is answered from its draft.",
    )


class ShownItem(serializers.Serializer):
    id = CharField(
        help_text="The item's own id, as it was imported; the assignment's where that could tell what is hidden."
    )
    payload = DictField(child=JSONField(), help_text="What a worker may see of it.")


class ShownAssignment(serializers.Serializer):
    id = IntegerField()
    item = ShownItem()
    draft = DictField(child=CharField(allow_blank=True), allow_null=True, help_text="The inputs kept so far, or null.")
    judges = DictField(
        child=AnswerField(),
        required=False,
        help_text="In a stage that judges: the answers A and B, A the one submitted first.",
    )


class ShownSitting(serializers.Serializer):
    id = IntegerField()
    stage = CharField()
    state = ChoiceField(State.choices)
    leased_until = DateTimeField()
    assignments = ShownAssignment(many=True)


class KeptDraft(serializers.Serializer):
    saved_at = DateTimeField()


class TakenAnnotation(serializers.Serializer):
    assignment = IntegerField()
    item = CharField()
    counted = serializers.BooleanField()
    why = CharField(allow_blank=True, help_text="Why it is kept without being counted (`late`), or empty.")


class TakenSitting(serializers.Serializer):
    id = IntegerField()
    state = ChoiceField(State.choices)
    submitted_at = DateTimeField()
    annotations = TakenAnnotation(many=True)


class ReturnedSitting(serializers.Serializer):
    id = IntegerField()
    state = ChoiceField(State.choices)


@extend_schema_serializer(examples=[OpenApiExample("refused", REFUSED)])
class Problem(serializers.Serializer):
    """RFC 9457."""

    type = CharField()
    title = CharField()
    status = IntegerField()
    code = CharField(help_text="For programs: not_qualified, revoked, nothing_left, closed, invalid, ...")
    detail = CharField(help_text="For people: what is wrong and what to do.")
    errors = DictField(  # type: ignore[assignment]  # a declared field, not the property of that name
        child=DictField(child=serializers.ListField(child=CharField())),
        required=False,
        help_text="With 422: assignment -> field -> sentences. The empty field means the answer as a whole.",
    )


REASONS = {
    400: "The body is not JSON, or not of the shape described here.",
    401: "No token, or one that is broken, expired or withdrawn (`bad_token`, `token_expired`, `token_revoked`).",
    403: "The worker may not work in this stage: `not_qualified` or `revoked`.",
    404: "There is no such study, stage, sitting or assignment, or it is not yours.",
    406: "Only JSON is to be had here.",
    409: "It cannot be done now: `nothing_left`, or `closed`.",
    413: "The body is larger than this server takes.",
    415: "The body must be JSON.",
    422: "`errors` says, by assignment and field, what has to be corrected. Nothing was stored.",
    429: "Too many requests in this minute; Retry-After says how many seconds to wait.",
    503: "Too much happened at the same moment (`busy`). Nothing was changed; send it again.",
}
ALWAYS = (401, 404, 406, 429, 503)
BODY = (400, 413, 415)


def refused(*statuses: int) -> dict[Any, Any]:
    return {(status, CONTENT_TYPE): OpenApiResponse(Problem, REASONS[status]) for status in sorted(statuses)}


TAKE_SITTING: dict[str, Any] = {
    "operation_id": "take_sitting",
    "request": Lease,
    "responses": {
        200: OpenApiResponse(ShownSitting, "The open one."),
        201: OpenApiResponse(ShownSitting, "A new one."),
        **refused(*ALWAYS, *BODY, 403, 409),
    },
    "examples": [OpenApiExample("generate", {"stage": "generate"}, request_only=True)],
}
SHOW_SITTING: dict[str, Any] = {
    "operation_id": "show_sitting",
    "responses": {
        200: OpenApiResponse(ShownSitting, "As it is now."),
        **refused(*ALWAYS),
    },
}
SUBMIT: dict[str, Any] = {
    "operation_id": "submit_sitting",
    "request": Submission,
    "responses": {
        200: OpenApiResponse(TakenSitting, "Taken, now or before."),
        **refused(*ALWAYS, *BODY, 409, 422),
    },
    "examples": [OpenApiExample("two items", {"answers": {"11": NORMAL, "12": FALSE}}, request_only=True)],
}
GIVE_BACK: dict[str, Any] = {
    "operation_id": "return_sitting",
    "request": None,
    "responses": {
        200: OpenApiResponse(ReturnedSitting, "Given back."),
        **refused(*ALWAYS, 409),
    },
}
KEEP_DRAFT: dict[str, Any] = {
    "operation_id": "keep_draft",
    "request": Draft,
    "responses": {
        200: OpenApiResponse(KeptDraft, "Kept."),
        **refused(*ALWAYS, *BODY, 409, 422),
    },
    "examples": [OpenApiExample("begun", {"answer": {"label": "normal"}}, request_only=True)],
}
