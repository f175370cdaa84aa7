"""Jobs: work for Celery that a person waits for."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.studies import Study


class Job(models.Model):
    """An import or export in the background. The row is the job; a lost message is found again by a sweep.

    `file` is what was uploaded, or what was made. `result` holds counts, `error` one sentence for the person.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    study = models.ForeignKey(Study, models.PROTECT, related_name="jobs")
    kind = models.CharField(max_length=30)
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    file = models.FileField(upload_to="jobs/%Y/%m/", max_length=300, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    result = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="jobs")
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    # Written while running; a running job that has been silent for long was killed and is started again.
    heard_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"]) ^ Q(finished_at__isnull=False),
                name="job_open_until_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_open(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)
