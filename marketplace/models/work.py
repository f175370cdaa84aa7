"""HIT types, HITs, and the assignments that workers take."""

from django.db import models
from django.db.models import F, Q

from marketplace import ids
from marketplace.models.people import Requester, Worker


class HITType(models.Model):
    """What HITs of one group share. The same properties again are the same type: `fingerprint` says so."""

    type_id = models.CharField(max_length=30, unique=True, default=ids.entity)
    requester = models.ForeignKey(Requester, models.PROTECT, related_name="hit_types", db_index=False)
    fingerprint = models.CharField(max_length=64)
    title = models.CharField(max_length=128)
    description = models.TextField()
    keywords = models.CharField(max_length=1000, blank=True)
    reward = models.PositiveIntegerField()  # in cents
    assignment_seconds = models.PositiveIntegerField()
    auto_approval_seconds = models.PositiveIntegerField()
    requirements = models.JSONField(default=list)
    # Where events go: {"Destination", "Transport", "Version", "EventTypes", "Active"}, or null.
    notification = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["requester", "fingerprint"], name="hit_type_once")]

    def __str__(self) -> str:
        return self.title


class HIT(models.Model):
    """One piece of work for `max_assignments` workers.

    Its status follows from the clock and four counters, which change together with the assignments they count:
    accepted (in somebody's hands), submitted, approved, rejected. made_for: assignments it was created with.
    hold: cents held for one assignment, reward and fee.
    """

    hit_id = models.CharField(max_length=30, unique=True, default=ids.entity)
    requester = models.ForeignKey(Requester, models.PROTECT, related_name="hits", db_index=False)
    hit_type = models.ForeignKey(HITType, models.PROTECT, related_name="hits", db_index=False)
    question = models.TextField()
    annotation = models.CharField(max_length=255, blank=True)
    max_assignments = models.PositiveIntegerField()
    made_for = models.PositiveIntegerField()
    hold = models.PositiveIntegerField()
    accepted = models.PositiveIntegerField(default=0)
    submitted = models.PositiveIntegerField(default=0)
    approved = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    is_reviewing = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    disposed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(max_assignments__gte=F("accepted") + F("submitted") + F("approved") + F("rejected")),
                name="hit_never_has_more_assignments_than_it_may",
            ),
        ]
        indexes = [
            models.Index(fields=["requester", "id"], name="hit_of_requester"),
            models.Index(
                fields=["requester", "hit_type", "id"],
                condition=Q(disposed_at=None, accepted=0),
                name="hit_reviewable",
            ),
            models.Index(fields=["hit_type", "expires_at"], condition=Q(disposed_at=None), name="hit_open"),
        ]

    def __str__(self) -> str:
        return self.hit_id

    @property
    def taken(self) -> int:
        """Assignments in somebody's hands, or done."""
        return self.accepted + self.submitted + self.approved + self.rejected


class Assignment(models.Model):
    """A place in a HIT. Given back or run out, it is free again, and keeps its id for the next worker."""

    class State(models.TextChoices):
        FREE = "Free"
        ACCEPTED = "Accepted"
        SUBMITTED = "Submitted"
        APPROVED = "Approved"
        REJECTED = "Rejected"

    assignment_id = models.CharField(max_length=30, unique=True, default=ids.entity)
    hit = models.ForeignKey(HIT, models.PROTECT, related_name="assignments", db_index=False)
    number = models.PositiveIntegerField()
    worker = models.ForeignKey(Worker, models.PROTECT, null=True, blank=True, related_name="assignments")
    state = models.CharField(max_length=9, choices=State, default=State.ACCEPTED)
    answer = models.TextField(blank=True)
    feedback = models.TextField(blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    approves_at = models.DateTimeField(null=True, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    rejected_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "number"], name="assignment_number_once"),
            models.UniqueConstraint(fields=["hit", "worker"], name="assignment_once_per_hit_and_worker"),
            models.CheckConstraint(condition=Q(state="Free") ^ Q(worker__isnull=False), name="assignment_has_a_worker"),
        ]
        indexes = [
            models.Index(fields=["deadline"], condition=Q(state="Accepted"), name="assignment_due"),
            models.Index(fields=["approves_at"], condition=Q(state="Submitted"), name="assignment_approves_itself"),
        ]

    def __str__(self) -> str:
        return self.assignment_id
