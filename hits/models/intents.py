"""What was decided to be asked of the marketplace, and what came of every call."""

from django.db import models
from django.db.models import Q

from annotation.models import Study
from hits.models.batches import Batch, Hit, Visit, new_key


class Intent(models.Model):
    """One effect at the marketplace, decided once. The row is committed before the first call, and outlives every
    process; its outcome is recorded once.

    token: the request token of every try, and the mark by which lists find what it made.
    target: what it is about; the same kind and target is never decided twice.
    amount: dollars it commits at most, fees included. params: the rest of what the call says.
    not_before: when it may be tried; while it is in flight, when its lease is over.
    unsure: a try was begun whose outcome is not known. sent_at: of the first of those.
    again_at: when a person let a closed one be tried again. seen_at: when a person left it closed.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        IN_FLIGHT = "in flight"
        DONE = "done"
        FAILED = "failed"  # refused: nothing happened
        PARKED = "parked"  # it may have happened, and asking again could do it twice: a person decides

    token = models.CharField(max_length=64, unique=True, default=new_key)
    kind = models.CharField(max_length=24)
    target = models.CharField(max_length=160)
    study = models.ForeignKey(Study, models.PROTECT, related_name="intents")
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="intents", null=True, blank=True)
    hit = models.ForeignKey(Hit, models.PROTECT, related_name="intents", null=True, blank=True)
    visit = models.ForeignKey(Visit, models.PROTECT, related_name="intents", null=True, blank=True)
    place = models.CharField(max_length=200)
    params = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    unsure = models.BooleanField(default=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField()
    remote_id = models.CharField(max_length=64, blank=True)
    error = models.CharField(max_length=500, blank=True)
    by = models.CharField(max_length=160)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    again_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    was_unsure = False  # before the try that is being made

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "target"], name="intent_decided_once"),
            models.CheckConstraint(
                condition=Q(state__in=["pending", "in flight"]) ^ Q(closed_at__isnull=False),
                name="intent_open_until_closed",
            ),
            models.CheckConstraint(
                condition=~Q(state="in flight") | Q(leased_until__isnull=False), name="intent_in_flight_is_leased"
            ),
        ]
        indexes = [
            models.Index(fields=["not_before"], condition=Q(state__in=["pending", "in flight"]), name="intent_due"),
            models.Index(fields=["study", "kind", "state"], name="intent_of_study"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


class Call(models.Model):
    """One call as it was made: the record by which money is defended. It holds no secret and nobody's words."""

    intent = models.ForeignKey(Intent, models.PROTECT, related_name="calls", null=True, blank=True)
    operation = models.CharField(max_length=60)
    outcome = models.CharField(max_length=12)
    code = models.CharField(max_length=80, blank=True)
    request_id = models.CharField(max_length=80, blank=True)
    milliseconds = models.PositiveIntegerField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.operation} {self.outcome}"


class Pace(models.Model):
    """When the next call may be made to a place, whichever process makes it."""

    place = models.CharField(max_length=200, primary_key=True)
    next_at = models.DateTimeField()
