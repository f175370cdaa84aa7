"""What a study may spend, and what each worker is owed and was paid."""

from decimal import Decimal

from django.db import models
from django.db.models import Q

from annotation.models import Sitting, Study, Worker
from hits.models.batches import Batch, Visit
from hits.models.intents import Intent


class Budget(models.Model):
    """Dollars a study may spend, fees and bonuses included; none means as much as the account holds.

    target_hourly: the wage the team wants people to earn; pictures show it beside what they do earn.
    """

    study = models.OneToOneField(Study, models.PROTECT, related_name="budget", primary_key=True)
    amount = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    target_hourly = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)
    changed_by = models.CharField(max_length=160, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions = [("spend", "May spend the money of the studies they are in the team of")]
        constraints = [
            models.CheckConstraint(condition=Q(amount=None) | Q(amount__gte=0), name="budget_is_not_negative")
        ]

    def __str__(self) -> str:
        return f"budget of {self.study_id}"


class Payment(models.Model):
    """One sum one worker earned. Rows are never deleted; the key says what it is for, so nothing is owed twice.

    visit: the work at a marketplace it is paid through; none for people with personal links.
    intent: the call that pays it. fee: what the marketplace takes on top.
    """

    class Kind(models.TextChoices):
        REWARD = "reward"
        BONUS = "bonus"
        TOPUP = "topup"
        COMPENSATION = "compensation"

    class State(models.TextChoices):
        DUE = "due"  # earned; nobody has decided to pay it yet
        ASKED = "asked"  # decided, and on its way
        PAID = "paid"
        REJECTED = "rejected"
        VOID = "void"
        ATTENTION = "attention"  # it may have been paid: a person looks

    key = models.CharField(max_length=160, unique=True)
    study = models.ForeignKey(Study, models.PROTECT, related_name="payments", db_index=False)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="payments", null=True, blank=True)
    visit = models.ForeignKey(Visit, models.PROTECT, related_name="payments", null=True, blank=True)
    sitting = models.ForeignKey(Sitting, models.PROTECT, related_name="payments", null=True, blank=True)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="payments")
    intent = models.OneToOneField(Intent, models.PROTECT, related_name="payment", null=True, blank=True)
    kind = models.CharField(max_length=12, choices=Kind)
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    fee = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal(0))
    state = models.CharField(max_length=10, choices=State, default=State.DUE)
    reason = models.CharField(max_length=500, blank=True)
    by = models.CharField(max_length=160)
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=0, fee__gte=0), name="payment_is_not_negative"),
            models.CheckConstraint(
                condition=Q(state__in=["paid", "rejected", "void"]) ^ Q(settled_at=None),
                name="payment_settled_at_its_end",
            ),
            models.UniqueConstraint(fields=["visit"], condition=Q(kind="reward"), name="payment_one_reward_per_visit"),
        ]
        indexes = [models.Index(fields=["study", "state"], name="payment_of_study")]

    def __str__(self) -> str:
        return f"{self.kind} ${self.amount} {self.state}"
