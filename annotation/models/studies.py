"""A study: one collection under one protocol."""

from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from annotation import protocols
from annotation.protocols import Protocol

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser, AnonymousUser

SLUG = RegexValidator(r"^[a-z0-9][a-z0-9-]{0,49}\Z", "Use lower-case letters, digits and hyphens, at most 50.")


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, user: "AbstractUser | AnonymousUser") -> Self:
        """Admins see every study, researchers those they are in the team of."""
        if not user.is_active or user.is_anonymous:
            return self.none()
        return self if user.is_superuser else self.filter(team=user)


class Study(models.Model):
    """One collection. Protocol, version, options and snapshot are what the annotations were collected under."""

    slug = models.CharField(max_length=50, unique=True, validators=[SLUG])
    title = models.CharField(max_length=200)
    protocol_slug = models.CharField(max_length=30)
    protocol_version = models.PositiveSmallIntegerField()
    snapshot = models.JSONField()
    options = models.JSONField()
    team = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="studies", blank=True)
    enrolment_open = models.BooleanField(default=False)
    # Part of the signed enrolment link: adding one makes every earlier link invalid.
    enrolment_serial = models.PositiveIntegerField(default=0)
    # The rules of exclusion as they stood when the first worker began, and their SHA-256: exports name it.
    declared = models.JSONField(null=True, blank=True)
    declared_hash = models.CharField(max_length=64, blank=True)
    declared_at = models.DateTimeField(null=True, blank=True)
    # The version of the text that people must have agreed to; 0 where there is none.
    consent_version = models.PositiveSmallIntegerField(default=0)
    # Shares of a study are shares of its work items; importing counts them.
    work_items = models.PositiveIntegerField(default=0)
    # Of these, by their part, where the protocol has parts.
    part_items = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()

    objects = StudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def protocol(self) -> Protocol:
        return protocols.get(self.protocol_slug, self.protocol_version).fitted(self.options)
