"""Qualification types, who asked for them, and who has them."""

from django.db import models
from django.db.models import Q

from marketplace import ids
from marketplace.models.people import Requester, Worker


class QualificationType(models.Model):
    """Something a requester can ask of workers, perhaps with a test."""

    qualification_type_id = models.CharField(max_length=30, unique=True, default=ids.entity)
    requester = models.ForeignKey(Requester, models.PROTECT, related_name="qualification_types")
    name = models.CharField(max_length=200)
    keywords = models.CharField(max_length=1000, blank=True)
    description = models.TextField()
    is_active = models.BooleanField(default=True)
    retry_seconds = models.BigIntegerField(null=True, blank=True)
    test = models.TextField(blank=True)
    answer_key = models.TextField(blank=True)
    test_seconds = models.BigIntegerField(null=True, blank=True)
    auto_granted = models.BooleanField(default=False)
    auto_value = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "name"], condition=Q(deleted_at=None), name="qualification_type_name_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class QualificationRequest(models.Model):
    """A worker asks for a qualification, with the answers of its test where it has one."""

    class State(models.TextChoices):
        PENDING = "pending"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    request_id = models.CharField(max_length=30, unique=True, default=ids.entity)
    qualification_type = models.ForeignKey(QualificationType, models.PROTECT, related_name="requests")
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="requests")
    answer = models.TextField(blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    reason = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["qualification_type", "worker"],
                condition=Q(state="pending"),
                name="qualification_request_one_at_a_time",
            ),
        ]


class Grant(models.Model):
    """A worker has a qualification, or had it."""

    qualification_type = models.ForeignKey(QualificationType, models.PROTECT, related_name="grants", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="grants")
    value = models.IntegerField(default=1)
    is_revoked = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["qualification_type", "worker"], name="grant_once")]
