"""Sittings, the assignments in them, and the annotations that come of them."""

from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from annotation.models.items import Item
from annotation.models.studies import Study
from annotation.models.workers import Qualification, Worker


class State(models.TextChoices):
    """Of an assignment, and of the sitting around it."""

    LEASED = "leased"
    SUBMITTED = "submitted"
    RETURNED = "returned"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"  # taken back because the worker may not go on


class Sitting(models.Model):
    """One visit of one worker: a bundle of assignments leased, renewed, submitted and paid as a unit.

    purpose: work, or a step of the way in. Practice and test hold no seats and do not lapse.
    """

    State = State

    class Purpose(models.TextChoices):
        WORK = "work"
        PRACTICE = "practice"
        TEST = "test"

    study = models.ForeignKey(Study, models.PROTECT, related_name="sittings", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="sittings")
    stage = models.CharField(max_length=20)
    purpose = models.CharField(max_length=10, choices=Purpose, default=Purpose.WORK)
    state = models.CharField(max_length=10, choices=State, default=State.LEASED)
    leased_until = models.DateTimeField()
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "study", "stage"], condition=Q(state="leased"), name="sitting_one_open_per_stage"
            ),
            models.CheckConstraint(
                condition=Q(state="leased") ^ Q(closed_at__isnull=False), name="sitting_open_until_closed"
            ),
        ]
        indexes = [
            models.Index(fields=["leased_until"], condition=Q(state="leased"), name="sitting_overdue"),
            # Small however much a worker has done: most sittings end up submitted.
            models.Index(
                fields=["worker", "study", "stage"],
                condition=Q(state__in=["leased", "expired"]),
                name="sitting_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stage} {self.pk}"

    @cached_property
    def bundle(self) -> "list[Assignment]":
        """Its assignments with their items, in the order shown."""
        return list(self.assignments.select_related("item"))


class Assignment(models.Model):
    """One worker holding, or having held, one item in one stage. Rows are never deleted: expiry is a state.

    `seat` is the seat taken at the item's stage, from 0: held while leased, kept while the answer counts or is held
    back, else null. `role` is the item's: only work has seats; gold and fillers look like work, and are scored.
    `attempt`: which taking of a test this belongs to, from 0; work is met once.
    `draft` is what is on the worker's screen (the protocol's fields). `judges`: ids of the annotations shown, A then B.
    There is no index on the worker alone: leasing must look up (item, worker), whatever the statistics say.
    """

    State = State

    sitting = models.ForeignKey(Sitting, models.PROTECT, related_name="assignments")
    item = models.ForeignKey(Item, models.PROTECT, related_name="assignments", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="assignments", db_index=False)
    stage = models.CharField(max_length=20)
    role = models.CharField(max_length=13, choices=Item.Role, default=Item.Role.WORK)
    attempt = models.PositiveSmallIntegerField(default=0)
    seat = models.PositiveSmallIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.LEASED)
    judges = models.JSONField(default=list, blank=True)
    draft = models.JSONField(null=True, blank=True)
    draft_at = models.DateTimeField(null=True, blank=True)
    # Which page sent the draft, and the how many-eth edit it was there: requests of one page may overtake each other.
    draft_page = models.CharField(max_length=16, blank=True)
    draft_edit = models.PositiveIntegerField(default=0)
    first_opened_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.PositiveIntegerField(default=0)
    # What the page noticed while the answer was written (see `annotation.signs`), unless the study switches it off.
    signs = models.JSONField(default=dict, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["item", "worker", "attempt"], name="assignment_once_per_worker"),
            models.CheckConstraint(condition=~Q(role="work") | Q(attempt=0), name="assignment_of_work_has_one_attempt"),
            models.UniqueConstraint(
                fields=["item", "stage", "seat"], condition=Q(seat__isnull=False), name="assignment_seat_held_once"
            ),
            models.CheckConstraint(
                condition=Q(state="leased") ^ Q(closed_at__isnull=False), name="assignment_open_until_closed"
            ),
            models.CheckConstraint(
                condition=~Q(state="leased", role="work") | Q(seat__isnull=False), name="assignment_leased_holds_a_seat"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["leased", "submitted"]) | Q(seat__isnull=True),
                name="assignment_given_up_frees_its_seat",
            ),
            models.CheckConstraint(
                condition=Q(role="work") | Q(seat__isnull=True), name="assignment_only_work_has_seats"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} by {self.worker_id}"


class Annotation(models.Model):
    """One answer, once per assignment; its words are never changed.

    `uncounted`: why the answer is kept but does not count, or "" (see Why). A counted answer holds its seat.
    is_right: of gold, fillers, practice and tests, whether the answer is the known one. upheld: of work on closed
    items, whether the outcome agrees with it, where the protocol says so; judged: whether others decided that.
    consent: the version of the study's text agreed to when it was written.
    unproven: whoever gave it only claimed to be the worker so far, whatever else keeps it from counting.
    study, item, worker, stage repeat the assignment's, so that the big queries need no join.
    """

    class Why(models.TextChoices):
        LATE = "late"  # the seat had been given to somebody else
        GOLD = "gold"
        FILLER = "filler"
        PRACTICE = "practice"
        TEST = "test"
        HELD = "held"  # set aside until somebody decides; its seat is not given away
        EXCLUDED = "excluded"
        OBSOLETE = "obsolete"  # it judged answers that do not count any more
        WITHDRAWN = "withdrawn"  # the writer withdrew consent: its texts leave the server no more
        UNCONFIRMED = "unconfirmed"  # who gave it is not proven yet; its seat is kept

    study = models.ForeignKey(Study, models.PROTECT, related_name="annotations", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="annotations")
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="annotations", db_index=False)
    assignment = models.OneToOneField(Assignment, models.PROTECT, related_name="annotation")
    stage = models.CharField(max_length=20)
    answer = models.JSONField()
    uncounted = models.CharField(max_length=20, blank=True)
    is_right = models.BooleanField(null=True, blank=True)
    upheld = models.BooleanField(null=True, blank=True)
    judged = models.BooleanField(default=False)
    unproven = models.BooleanField(default=False, db_default=False)
    consent = models.PositiveSmallIntegerField(null=True, blank=True)
    protocol_version = models.PositiveSmallIntegerField()
    active_seconds = models.PositiveIntegerField(null=True, blank=True)
    signs = models.JSONField(default=dict, blank=True)
    submitted_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["study", "stage", "submitted_at"], name="annotation_by_day"),
            models.Index(fields=["worker", "study", "stage"], name="annotation_by_worker"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~Q(uncounted="unconfirmed") | Q(unproven=True), name="annotation_unconfirmed_is_unproven"
            ),
            models.CheckConstraint(
                condition=~Q(uncounted__in=["", "held", "gold", "filler"]) | Q(unproven=False),
                name="annotation_unproven_counts_nowhere",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stage} of {self.item_id}"


class Attempt(models.Model):
    """One taking of a stage's qualification test: its sitting, its score, and who decided.

    right, total: answers that match the known ones, and all; set when it is handed in.
    """

    class State(models.TextChoices):
        OPEN = "open"
        REVIEW = "review"
        PASSED = "passed"
        FAILED = "failed"

    qualification = models.ForeignKey(Qualification, models.PROTECT, related_name="attempts")
    sitting = models.OneToOneField(Sitting, models.PROTECT, related_name="attempt_at_test")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    right = models.PositiveSmallIntegerField(null=True, blank=True)
    total = models.PositiveSmallIntegerField(null=True, blank=True)
    decided_by = models.CharField(max_length=160, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["qualification", "number"], name="attempt_number_once"),
            models.UniqueConstraint(
                fields=["qualification"], condition=Q(state__in=["open", "review"]), name="attempt_one_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.qualification} {self.state}"


class Feedback(models.Model):
    """What somebody said at the end of a sitting, all of it by choice. answers: the exit form's questions by name."""

    sitting = models.OneToOneField(Sitting, models.PROTECT, related_name="feedback")
    study = models.ForeignKey(Study, models.PROTECT, related_name="feedback")
    answers = models.JSONField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "feedback"

    def __str__(self) -> str:
        return f"about {self.sitting_id}"
