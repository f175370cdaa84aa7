"""Events: who did what, when and why. Append-only, also for the database (migration 0002_events_append_only)."""

from django.db import models

from annotation.models.items import Item
from annotation.models.studies import Study
from annotation.models.workers import Worker


class Event(models.Model):
    """One change of state. `actor`: "worker:CODE", "user:NAME" or "system". `why` is a sentence or empty."""

    study = models.ForeignKey(Study, models.PROTECT, related_name="events", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, null=True, blank=True, related_name="events")
    worker = models.ForeignKey(Worker, models.PROTECT, null=True, blank=True, related_name="events")
    actor = models.CharField(max_length=160)
    what = models.CharField(max_length=40)
    why = models.CharField(max_length=500, blank=True)
    details = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["study", "at"], name="event_by_time")]

    def __str__(self) -> str:
        return f"{self.what} by {self.actor}"
