"""What the API about batches and pay takes and gives. Bodies are read with these; answers are described by them."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DecimalField, DictField, IntegerField

from annotation.serializers import ALWAYS, BODY, Body, refused
from hits import pricing
from hits.models import Batch, Payment
from hits.publishing import MOST_SITTINGS, Terms

DOLLARS = "Dollars and cents, as a text: “1.20”."
KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[\\x21-\\x7e]{1,120}$"},
    OpenApiParameter.HEADER,
    required=True,
    description="Of your choice. The same request under it is answered as the first time; another is refused with 422.",
)
MAY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[\\x21-\\x7e]{1,120}$"},
    OpenApiParameter.HEADER,
    description="As for publishing; here a repetition without it does no harm either.",
)


def _money(most: int, **more: Any) -> DecimalField:
    return DecimalField(
        max_digits=10, decimal_places=2, min_value=Decimal("0.01"), max_value=Decimal(most), help_text=DOLLARS, **more
    )


class NewBatch(Body):
    """As `manage.py publish` takes it."""

    stage = CharField(max_length=20, help_text="A stage of the study, such as generate.")
    sittings = IntegerField(min_value=1, max_value=MOST_SITTINGS, help_text="Paid at most.")
    reward = _money(1000)
    per_hit = IntegerField(min_value=1, max_value=100, default=pricing.SEATS)
    duration_minutes = IntegerField(min_value=1, max_value=525_600, default=Terms.duration_minutes)
    lifetime_hours = IntegerField(min_value=1, max_value=8_760, default=Terms.lifetime_hours)
    auto_approval_hours = IntegerField(min_value=0, max_value=720, default=Terms.auto_approval_hours)
    open_to = ChoiceField(Batch.OpenTo.choices, default=Terms.open_to)
    approval = ChoiceField(Batch.Approval.choices, default=Terms.approval)
    approved_percent = IntegerField(min_value=0, max_value=100, default=0)
    approved_number = IntegerField(min_value=0, max_value=100_000, default=0)
    countries = serializers.ListField(
        child=serializers.RegexField("^[A-Z]{2}$"), max_length=30, default=list, help_text="Two letters each."
    )
    adult = BooleanField(default=False)
    title = CharField(max_length=128, allow_blank=True, default="")
    description = CharField(max_length=2000, allow_blank=True, default="")
    keywords = CharField(max_length=1000, allow_blank=True, default=Terms.keywords)


class Nothing(Body):
    """An empty object, or no body."""


class TopUp(Body):
    sittings = IntegerField(min_value=1, max_value=MOST_SITTINGS)


class Extend(Body):
    hours = IntegerField(min_value=1, max_value=8_760, help_text="From now.")


class Pay(Body):
    batch = IntegerField(min_value=1, max_value=2**31 - 1, required=False, help_text="Only of this one.")


class Decide(Body):
    decision = ChoiceField(
        [("approve", "pay"), ("reject", "do not pay"), ("leave_out", "pay, and leave the answers out of the data")]
    )
    reason = CharField(max_length=400, required=False, help_text="Needed unless it is approved.")


class Bonus(Body):
    worker = CharField(max_length=100, help_text="Running code, or the team's name for them.")
    amount = _money(1000)
    reason = CharField(max_length=400, help_text="The worker reads it.")
    kind = ChoiceField([("bonus", "bonus"), ("compensation", "compensation")], default="bonus")


class Wage(Body):
    target = _money(1000)
    total = DecimalField(
        max_digits=12,
        decimal_places=2,
        min_value=Decimal(0),
        required=False,
        help_text="As a dry run said: if it is another now, nobody is paid (409).",
    )
    dry_run = BooleanField(default=False)


class Planned(serializers.Serializer):
    hits = IntegerField()
    assignments = IntegerField()
    reward_total = CharField()
    fees = CharField()
    total = CharField()
    balance = CharField(allow_null=True)
    budget_left = CharField(allow_null=True)


class ShownBatch(serializers.Serializer):
    batch = IntegerField(help_text="Its number in the study.")
    stage = CharField()
    state = ChoiceField(Batch.State.choices)
    sittings = IntegerField()
    reward = CharField()
    hits = DictField(child=IntegerField(), help_text="How many are in which state.")
    unsold = IntegerField()
    submitted = IntegerField()
    approved = IntegerField()
    rejected = IntegerField()
    waiting = IntegerField(help_text="Submitted, to be decided.")
    paid = CharField(help_text="Fees and bonuses included.")
    quarantined = IntegerField()
    attention = IntegerField()
    created_at = serializers.DateTimeField()


class Money(serializers.Serializer):
    budget = CharField(allow_null=True)
    committed = CharField()
    left = CharField(allow_null=True)
    target_hourly = CharField(allow_null=True)


class Batches(serializers.Serializer):
    money = Money()
    batches = ShownBatch(many=True)


class Approved(serializers.Serializer):
    approved = IntegerField()
    total = CharField()


class Decided(serializers.Serializer):
    payment = IntegerField()
    state = ChoiceField(Payment.State.choices)


class Given(serializers.Serializer):
    worker = CharField()
    amount = CharField()
    total = CharField(help_text="With the marketplace's fee.")


class Lifted(serializers.Serializer):
    worker = CharField()
    amount = CharField()


class Wages(serializers.Serializer):
    people = Lifted(many=True)
    total = CharField()
    paid = BooleanField()


class LedgerRow(serializers.Serializer):
    id = IntegerField()
    kind = ChoiceField(Payment.Kind.choices)
    worker = CharField()
    amount = CharField()
    fee = CharField()
    state = ChoiceField(Payment.State.choices)
    remote_id = CharField(allow_blank=True)
    intent = CharField(allow_blank=True)
    batch = IntegerField(allow_null=True)
    reason = CharField(allow_blank=True)
    at = serializers.DateTimeField()


class Ledger(serializers.Serializer):
    payments = LedgerRow(many=True)


ASKED = {"stage": "generate", "sittings": 18, "reward": "1.20"}
EXAMPLE = [OpenApiExample("eighteen sittings", ASKED, request_only=True)]
ACTS = (*ALWAYS, *BODY, 403, 409, 422)


def _act(
    operation: str, body: type, gives: type, said: str, *, status: int = 200, key: Any = MAY_KEY
) -> dict[str, Any]:
    return {
        "operation_id": operation,
        "parameters": [key],
        "request": body,
        "responses": {status: OpenApiResponse(gives, said), **refused(*ACTS)},
    }


LIST_BATCHES: dict[str, Any] = {
    "operation_id": "list_batches",
    "responses": {200: OpenApiResponse(Batches, "Newest first."), **refused(*ALWAYS, 403)},
}
PUBLISH = _act("publish_batch", NewBatch, ShownBatch, "Committed to.", status=201, key=KEY) | {"examples": EXAMPLE}
PLAN: dict[str, Any] = {
    "operation_id": "plan_batch",
    "request": NewBatch,
    "responses": {200: OpenApiResponse(Planned, "At most."), **refused(*ALWAYS, *BODY, 403, 422)},
    "examples": EXAMPLE,
}
SHOW_BATCH: dict[str, Any] = {
    "operation_id": "show_batch",
    "responses": {200: OpenApiResponse(ShownBatch, "As it is now."), **refused(*ALWAYS, 403)},
}
TOP_UP = _act("top_up_batch", TopUp, ShownBatch, "With more sittings.", key=KEY)
EXTEND = _act("extend_batch", Extend, ShownBatch, "Offered for longer.")
PAUSE = _act("pause_batch", Nothing, ShownBatch, "Paused.")
RESUME = _act("resume_batch", Nothing, ShownBatch, "On offer again.")
END = _act("end_batch", Nothing, ShownBatch, "Ended.")
PAY = _act("pay", Pay, Approved, "On their way.")
DECIDE = _act("decide_payment", Decide, Decided, "Decided.")
BONUS = _act("pay_bonus", Bonus, Given, "On its way.", status=201, key=KEY)
WAGE = _act("top_up_wages", Wage, Wages, "On their way, or what would be.")
LEDGER: dict[str, Any] = {
    "operation_id": "show_ledger",
    "responses": {200: OpenApiResponse(Ledger, "Oldest first."), **refused(*ALWAYS, 403)},
}
