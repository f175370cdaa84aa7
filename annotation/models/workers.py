"""Workers: people (or programs) who annotate, their place in a study, and what they may do there."""

from django.db import models
from django.db.models import Q

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


class ConsentText(models.Model):
    """What people agree to before they work in a study. Texts are never changed: a new wording is a new version."""

    study = models.ForeignKey(Study, models.PROTECT, related_name="consent_texts", db_index=False)
    version = models.PositiveSmallIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["study", "version"]
        constraints = [models.UniqueConstraint(fields=["study", "version"], name="consent_version_once_per_study")]

    def __str__(self) -> str:
        return f"version {self.version}"


class Enrolment(models.Model):
    """A worker in a study. `number` makes the running code that exports show instead of the worker's own.

    taken: seats on work items that the worker holds or has used, in all stages; only `leasing` writes it.
    part: the part of the study that the worker is bound to, or ""; once set it stays. taken_in_part: of the taken
    seats, those in stages that bind.
    consent: the version of the study's text this person agreed to last, or null.
    """

    class State(models.TextChoices):
        ACTIVE = "active"
        REVOKED = "revoked"
        WITHDRAWN = "withdrawn"  # by their own wish, for good

    study = models.ForeignKey(Study, models.PROTECT, related_name="enrolments", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="enrolments")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    taken = models.PositiveIntegerField(default=0)
    part = models.CharField(max_length=40, blank=True, default="", db_default="")
    taken_in_part = models.PositiveIntegerField(default=0, db_default=0)
    consent = models.PositiveSmallIntegerField(null=True, blank=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="enrolment_once_per_study"),
            models.UniqueConstraint(fields=["study", "number"], name="enrolment_number_once_per_study"),
            models.CheckConstraint(
                condition=Q(consent__isnull=True) | Q(consented_at__isnull=False), name="enrolment_consent_has_a_time"
            ),
        ]

    def __str__(self) -> str:
        return self.running_code

    @property
    def running_code(self) -> str:
        return running_code(self.number)


def running_code(number: int) -> str:
    """The anonymous name of a study's n-th worker, stable inside the study."""
    return f"W{number:03}"


class Qualification(models.Model):
    """A worker's way into one stage of a study, and leave to work there at its end.

    `queue_seen_until`: every item queued before it is known to be nothing for this worker, so the next lease starts
    looking there. A hint for speed only: leasing looks at the whole queue before it says there is nothing left.
    """

    class State(models.TextChoices):
        TRAINING = "training"  # instructions, practice and test are still to do, as far as the study has them
        REVIEW = "review"  # the test was passed on its labels; a person reads the writings
        FULL = "full"  # passed, but all places were taken
        FAILED = "failed"
        QUALIFIED = "qualified"

    enrolment = models.ForeignKey(Enrolment, models.PROTECT, related_name="qualifications", db_index=False)
    stage = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State, default=State.QUALIFIED)
    instructed_at = models.DateTimeField(null=True, blank=True)
    # How often the test may be taken; a researcher may allow one more.
    attempts_allowed = models.PositiveSmallIntegerField(default=1)
    changed_at = models.DateTimeField(null=True, blank=True)
    queue_seen_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["enrolment", "stage"], name="qualification_once_per_stage"),
        ]

    def __str__(self) -> str:
        return f"{self.stage}: {self.state}"


class Try(models.Model):
    """One answer to a practice item. Every try is kept; the item is left once one is right."""

    enrolment = models.ForeignKey(Enrolment, models.PROTECT, related_name="tries")
    item = models.ForeignKey("annotation.Item", models.PROTECT, related_name="tries")
    answer = models.JSONField()
    is_right = models.BooleanField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "tries"


class Revocation(models.Model):
    """A worker's work in a study was ended, or a rule proposes it. Rows stay; a restored one is history.

    rule: the name of the rule that asked for it, or "" where a person did. numbers: what it was judged on.
    work: what becomes of finished work: kept, held back from gold for now, or excluded and collected again.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed"
        DISMISSED = "dismissed"
        IN_FORCE = "in force"
        RESTORED = "restored"

    class Work(models.TextChoices):
        KEEP = "keep"
        HOLD = "hold"
        EXCLUDE = "exclude"

    enrolment = models.ForeignKey(Enrolment, models.PROTECT, related_name="revocations")
    state = models.CharField(max_length=10, choices=State)
    rule = models.CharField(max_length=40, blank=True)
    numbers = models.JSONField(default=dict, blank=True)
    why = models.CharField(max_length=500)
    work = models.CharField(max_length=10, choices=Work, default=Work.KEEP)
    by = models.CharField(max_length=160)
    at = models.DateTimeField()
    decided_by = models.CharField(max_length=160, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["enrolment"], condition=Q(state__in=["proposed", "in force"]), name="revocation_one_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.enrolment} {self.state}"


class Appeal(models.Model):
    """What a worker answers to a revocation, once, and what became of it."""

    class Outcome(models.TextChoices):
        OPEN = "open"
        GRANTED = "granted"
        REFUSED = "refused"

    revocation = models.OneToOneField(Revocation, models.PROTECT, related_name="appeal")
    text = models.TextField()
    at = models.DateTimeField()
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.OPEN)
    answer = models.TextField(blank=True)
    decided_by = models.CharField(max_length=160, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="open") ^ Q(decided_at__isnull=False), name="appeal_open_until_decided"
            ),
        ]


class Exposure(models.Model):
    """How many items of a group (all with one entity, or of one pair) a worker has met; only leasing writes."""

    enrolment = models.ForeignKey(Enrolment, models.PROTECT, related_name="exposures", db_index=False)
    group = models.CharField(max_length=250)
    met = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["enrolment", "group"], name="exposure_once_per_group")]
