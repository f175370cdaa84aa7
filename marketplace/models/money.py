"""Double entry: every movement takes from one account what it gives to another."""

from django.db import models
from django.db.models import F, Q

from marketplace.models.people import Requester, Worker
from marketplace.models.work import Assignment


class Account(models.Model):
    """A pot of cents. Only the world outside may be below nothing: deposits come from there, payouts go there.

    key: the kind and whose it is, so that there is one of each.
    """

    class Kind(models.TextChoices):
        OUTSIDE = "outside"
        AVAILABLE = "available"  # a requester's, to spend
        HELD = "held"  # a requester's, for published work
        OWED = "owed"  # to a worker
        FEES = "fees"

    key = models.CharField(max_length=40, unique=True)
    kind = models.CharField(max_length=9, choices=Kind)
    requester = models.ForeignKey(Requester, models.PROTECT, null=True, blank=True, related_name="accounts")
    worker = models.ForeignKey(Worker, models.PROTECT, null=True, blank=True, related_name="accounts")
    balance = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(kind="outside") | Q(balance__gte=0), name="account_is_never_overdrawn"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.requester or self.worker or ''}".strip()


class Transfer(models.Model):
    """One movement; never changed. reference: what it was for, an id of this marketplace."""

    debit = models.ForeignKey(Account, models.PROTECT, related_name="+", db_index=False)
    credit = models.ForeignKey(Account, models.PROTECT, related_name="+", db_index=False)
    cents = models.PositiveBigIntegerField()
    what = models.CharField(max_length=20)
    reference = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="transfer_moves_something"),
            models.CheckConstraint(condition=~Q(debit=F("credit")), name="transfer_goes_elsewhere"),
        ]
        indexes = [
            models.Index(fields=["debit"], name="transfer_from"),
            models.Index(fields=["credit"], name="transfer_to"),
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.cents}"


class Bonus(models.Model):
    """What a requester gave beside the reward."""

    assignment = models.ForeignKey(Assignment, models.PROTECT, related_name="bonuses")
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="bonuses")
    requester = models.ForeignKey(Requester, models.PROTECT, related_name="bonuses")
    cents = models.PositiveIntegerField()
    reason = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "bonuses"
