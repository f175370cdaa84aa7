"""Requesters, who publish and pay, and workers."""

from django.conf import settings
from django.db import models

from marketplace import ids


class Requester(models.Model):
    """An account that publishes. Its secret is derived (see `signing`): raising `key_serial` revokes the old one."""

    name = models.CharField(max_length=100, unique=True)
    account_id = models.CharField(max_length=14, unique=True, default=ids.customer)
    access_key = models.CharField(max_length=20, unique=True, default=ids.access_key)
    key_serial = models.PositiveIntegerField(default=0)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name


class Worker(models.Model):
    """Somebody who works. Country, subdivision, adult and masters answer the system's qualifications.

    submitted, approved, rejected: counts of assignments in all their life; only `work` and `payment` write them.
    """

    worker_id = models.CharField(max_length=14, unique=True, default=ids.customer)
    name = models.CharField(max_length=100, unique=True)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="worker")
    email = models.EmailField(blank=True)
    token_serial = models.PositiveIntegerField(default=0)
    country = models.CharField(max_length=2, blank=True)
    subdivision = models.CharField(max_length=2, blank=True)
    is_adult = models.BooleanField(default=False)
    is_master = models.BooleanField(default=False)
    takes_next = models.BooleanField(default=False)
    submitted = models.PositiveIntegerField(default=0)
    approved = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.worker_id


class Block(models.Model):
    """A requester lets a worker accept nothing of theirs."""

    requester = models.ForeignKey(Requester, models.PROTECT, related_name="blocks")
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="blocks")
    reason = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["requester", "worker"], name="block_once")]


class Address(models.Model):
    """Where somebody worked from: evidence for the operator, where many accounts share one or one has many."""

    worker = models.ForeignKey(Worker, models.PROTECT, related_name="addresses")
    address = models.GenericIPAddressField()
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "addresses"
        constraints = [models.UniqueConstraint(fields=["address", "worker"], name="address_once_per_worker")]
