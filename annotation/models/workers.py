"""Workers: people (or programs) who annotate, their place in a study, and what they may do there."""

from django.db import models

from annotation.models.studies import Study


class Worker(models.Model):
    """One annotator of this server. A personal link names the worker; raising `link_serial` revokes earlier links."""

    code = models.CharField(max_length=100, unique=True)
    link_serial = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    # Set on requests by DRF's authentication, which asks every user for these two.
    is_authenticated = True
    is_active = True

    def __str__(self) -> str:
        return self.code


class Enrolment(models.Model):
    """A worker in a study. `number` makes the running code that exports show instead of the worker's own."""

    study = models.ForeignKey(Study, models.PROTECT, related_name="enrolments", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="enrolments")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="enrolment_once_per_study"),
            models.UniqueConstraint(fields=["study", "number"], name="enrolment_number_once_per_study"),
        ]

    @property
    def running_code(self) -> str:
        return running_code(self.number)


def running_code(number: int) -> str:
    """The anonymous name of a study's n-th worker, stable inside the study."""
    return f"W{number:03}"


class Qualification(models.Model):
    """Leave to work in one stage of a study.

    `queue_seen_until`: every item queued before it is known to be nothing for this worker, so the next lease starts
    looking there. A hint for speed only: leasing looks at the whole queue before it says there is nothing left.
    """

    class State(models.TextChoices):
        QUALIFIED = "qualified"
        REVOKED = "revoked"

    enrolment = models.ForeignKey(Enrolment, models.PROTECT, related_name="qualifications", db_index=False)
    stage = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State, default=State.QUALIFIED)
    queue_seen_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["enrolment", "stage"], name="qualification_once_per_stage"),
        ]
