"""Batches, the HITs that sell their seats, and the visits of people who took one."""

import uuid
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import models
from django.db.models import F, Q

from annotation.models import Sitting, Study, Worker


def new_key() -> str:
    return uuid.uuid4().hex


class Batch(models.Model):
    """Sittings of one stage, bought at one price: what a person confirmed.

    place: the marketplace and the account it was confirmed for (see `places`); a batch never leaves it.
    sittings: paid at most; per_hit: seats of one HIT. fee: of one sitting, beside the reward.
    invited: the one person it is for, who is compensated by it (see `inviting`); it has no stage then.
    open_to: everybody whom the requirements let in, or only those whom the study qualified for the stage.
    approval: whether work is approved by itself once the study's checks are passed, or by hand.
    """

    class State(models.TextChoices):
        OPEN = "open"
        PAUSED = "paused"
        CLOSED = "closed"  # nothing is published any more; work in people's hands is still taken and paid

    class OpenTo(models.TextChoices):
        ANYONE = "anyone"
        QUALIFIED = "qualified"

    class Approval(models.TextChoices):
        CHECKED = "checked", "by itself, after the study's checks"
        BY_HAND = "by hand", "by hand"

    study = models.ForeignKey(Study, models.PROTECT, related_name="batches", db_index=False)
    number = models.PositiveIntegerField()
    stage = models.CharField(max_length=20, blank=True)
    place = models.CharField(max_length=200)
    title = models.CharField(max_length=128)
    description = models.CharField(max_length=2000)
    keywords = models.CharField(max_length=1000, blank=True)
    reward = models.DecimalField(max_digits=8, decimal_places=2)
    fee = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal(0))
    sittings = models.PositiveIntegerField()
    per_hit = models.PositiveSmallIntegerField()
    duration_minutes = models.PositiveIntegerField()
    lifetime_hours = models.PositiveIntegerField()
    auto_approval_hours = models.PositiveIntegerField()
    requirements = models.JSONField(default=list, blank=True)
    open_to = models.CharField(max_length=10, choices=OpenTo, default=OpenTo.ANYONE)
    invited = models.ForeignKey(Worker, models.PROTECT, related_name="invitations", null=True, blank=True)
    approval = models.CharField(max_length=10, choices=Approval, default=Approval.CHECKED)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    created_by = models.CharField(max_length=160)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="batch_number_once_per_study"),
            models.CheckConstraint(condition=Q(reward__gte=0, fee__gte=0), name="batch_costs_are_not_negative"),
            models.CheckConstraint(
                condition=Q(stage="") ^ Q(invited=None), name="batch_is_of_a_stage_or_for_one_person"
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.number}"

    @property
    def cost(self) -> Decimal:
        """Of one sitting, with its fee."""
        return self.reward + self.fee


class Hit(models.Model):
    """One HIT: `seats` sittings of its batch's stage. What fills a seat is decided when somebody takes it.

    key: in the address of the task's page, known before the marketplace has named the HIT.
    unsold: seats that may still cost money: free, or in somebody's hands, or submitted and not seen yet.
    look_at: when to compare with the marketplace next.
    """

    class State(models.TextChoices):
        PLANNED = "planned"  # to be published
        OPEN = "open"
        ENDING = "ending"  # nobody new can take it; work in people's hands may still come
        ENDED = "ended"
        DELETED = "deleted"
        FAILED = "failed"  # the marketplace refused it

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="hits", db_index=False)
    number = models.PositiveIntegerField()
    key = models.CharField(max_length=32, unique=True, default=new_key)
    seats = models.PositiveSmallIntegerField()
    unsold = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.PLANNED)
    hit_id = models.CharField(max_length=64, unique=True, null=True, blank=True)
    hit_type_id = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    look_at = models.DateTimeField(null=True, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "number"], name="hit_number_once_per_batch"),
            models.CheckConstraint(condition=Q(unsold__lte=F("seats")), name="hit_sells_no_more_than_its_seats"),
        ]
        indexes = [
            models.Index(fields=["look_at"], condition=Q(look_at__isnull=False), name="hit_to_look_at"),
            models.Index(fields=["batch", "state"], name="hit_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.batch} HIT {self.number}"

    @property
    def over_at(self) -> datetime | None:
        """When nothing can come any more: the last who took it ran out of time."""
        return self.expires_at and self.expires_at + timedelta(minutes=self.batch.duration_minutes)


class Visit(models.Model):
    """Somebody in a HIT's frame, as the frame's address said: an assignment's id is a slot, and not a person.

    remote_worker: the id as claimed; worker: whom it stands for here. sitting: what they work on in this visit.
    state: what is proven. remote: the status at the marketplace, where it was seen there.
    reference: a code that leaves with the form, so that a submission can be told to come from our page.
    seen_at: of a quarantined one, when a person had looked at it and left it so.
    """

    class State(models.TextChoices):
        OPEN = "open"
        LEFT = "left"  # the answer is kept here, and the form has left for the marketplace
        CONFIRMED = "confirmed"  # the marketplace says that this worker submitted it
        QUARANTINED = "quarantined"  # the marketplace says otherwise: see `why`
        UNCLAIMED = "unclaimed"  # an answer is here, and the marketplace never saw it

    hit = models.ForeignKey(Hit, models.PROTECT, related_name="visits")
    assignment_id = models.CharField(max_length=64)
    remote_worker = models.CharField(max_length=64)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="visits", null=True, blank=True)
    sitting = models.OneToOneField(Sitting, models.PROTECT, related_name="visit", null=True, blank=True)
    submit_to = models.CharField(max_length=200, blank=True)
    reference = models.CharField(max_length=16, blank=True)
    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    remote = models.CharField(max_length=10, blank=True)
    why = models.CharField(max_length=300, blank=True)
    opened_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    approves_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["assignment_id", "remote_worker"], name="visit_once_per_slot_and_worker"),
            models.UniqueConstraint(
                fields=["assignment_id"], condition=Q(state="confirmed"), name="visit_confirmed_once_per_slot"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id} {self.state}"
