"""An item: what people are asked about, and where it stands."""

from typing import Self

from django.db import models
from django.db.models import F, Q

from annotation.models.studies import Study


class ItemQuerySet(models.QuerySet["Item"]):
    def work(self) -> Self:
        """The items the study is about; the others test or train people."""
        return self.filter(role=Item.Role.WORK)


class Item(models.Model):
    """One thing to annotate.

    `stage`, `votes_wanted` and `open_seats` say what the protocol's `next_step` asked for last; only `progress` and
    `leasing` write them. `queued_at` is when the present seats were opened: the queue is in that order, and every
    reopened item goes to its end, so a worker's place in the queue only moves forward.
    `part`: where the protocol has parts, the one it belongs to.
    `half`: of a balanced design, which half of the people gets it first. `recollected`: an answer was taken out of the
    count, and its seat opened again.
    """

    class Role(models.TextChoices):
        WORK = "work"
        GOLD = "gold"
        PRACTICE = "practice"
        QUALIFICATION = "qualification"
        FILLER = "filler"

    class State(models.TextChoices):
        OPEN = "open"
        SETTLED = "settled"
        DROPPED = "dropped"
        UNRESOLVED = "unresolved"

    study = models.ForeignKey(Study, models.PROTECT, related_name="items", db_index=False)
    ref = models.CharField(max_length=200)
    role = models.CharField(max_length=13, choices=Role, default=Role.WORK)
    payload = models.JSONField()
    gold = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    stage = models.CharField(max_length=20, blank=True)
    votes_wanted = models.PositiveSmallIntegerField(default=0)
    open_seats = models.PositiveSmallIntegerField(default=0)
    queued_at = models.DateTimeField()
    part = models.CharField(max_length=40, blank=True, default="", db_default="")
    half = models.PositiveSmallIntegerField(null=True, blank=True)
    recollected = models.BooleanField(default=False, db_default=False)
    # What a person decided where answers differ, or "". Who, when and why is in the event log.
    ruling = models.CharField(max_length=60, blank=True, default="", db_default="")
    created_at = models.DateTimeField()

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "ref"], name="item_ref_once_per_study"),
            models.CheckConstraint(
                condition=Q(open_seats__gte=0) & Q(open_seats__lte=F("votes_wanted")),
                name="item_never_has_more_seats_than_votes_wanted",
            ),
            models.CheckConstraint(
                condition=Q(state="open") | Q(open_seats=0),
                name="item_has_no_seats_once_closed",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "stage", "queued_at"], condition=Q(open_seats__gt=0), name="item_queue"),
            # The queue of those who are bound to a part: they do not walk over the others' items.
            models.Index(
                fields=["study", "stage", "part", "queued_at"],
                condition=Q(open_seats__gt=0) & ~Q(part=""),
                name="item_queue_of_part",
            ),
            # With what the bar counts in it, so that a million items are counted without being read.
            models.Index(
                fields=["study", "role", "state", "stage"], include=["open_seats", "votes_wanted"], name="item_progress"
            ),
        ]

    def __str__(self) -> str:
        return self.ref


class ItemGroup(models.Model):
    """A group that limits speak of, which an item is in: "entity=Paris". Only studies with such limits have rows."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="groups", db_index=False)
    group = models.CharField(max_length=250)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "group"], name="item_in_a_group_once")]

    def __str__(self) -> str:
        return self.group
