"""What came in over the wire: every call with its effect, and tokens that must not be used twice."""

from django.db import models

from marketplace.models.people import Requester


class Call(models.Model):
    """One request of a requester and what became of it.

    outcome: "ok", or the error's type. effect: what it changed, by name and id; empty for a call that changed nothing.
    fault: what was done to it on purpose, in tests.
    """

    requester = models.ForeignKey(Requester, models.PROTECT, related_name="calls", db_index=False)
    operation = models.CharField(max_length=40)
    parameters = models.JSONField()
    outcome = models.CharField(max_length=60)
    effect = models.JSONField(default=dict)
    fault = models.CharField(max_length=20, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["requester", "at"], name="call_of_requester")]

    def __str__(self) -> str:
        return f"{self.operation}: {self.outcome}"


class Token(models.Model):
    """A UniqueRequestToken that was used: for a day the same one is an error, naming what was made."""

    requester = models.ForeignKey(Requester, models.PROTECT, related_name="tokens", db_index=False)
    operation = models.CharField(max_length=40)
    token = models.CharField(max_length=64)
    made = models.CharField(max_length=30, blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["requester", "operation", "token"], name="token_once"),
        ]


class Notice(models.Model):
    """An event on its way to a requester's address; sent_at is set once it was taken there, or given up."""

    requester = models.ForeignKey(Requester, models.PROTECT, related_name="notices")
    destination = models.CharField(max_length=500)
    event = models.JSONField()
    at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["at"], condition=models.Q(sent_at=None), name="notice_waiting")]
