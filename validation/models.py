"""What was judged: vote profiles and resolutions."""

from django.db import models

from annotation.models import Item, Study


class Tally(models.Model):
    """One item's votes on one measure: `profile` counts them per category, comma-separated, in the protocol's order.

    Text, so that `GROUP BY profile` makes a study's histogram. Recounted from the item's answers at every change.
    """

    study = models.ForeignKey(Study, models.PROTECT, related_name="tallies", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="tallies", db_index=False)
    stage = models.CharField(max_length=20)
    measure = models.CharField(max_length=30)
    profile = models.CharField(max_length=100)

    class Meta:
        verbose_name_plural = "tallies"
        constraints = [
            models.UniqueConstraint(fields=["item", "stage", "measure"], name="tally_once_per_item_and_measure"),
        ]
        indexes = [models.Index(fields=["study", "stage", "measure", "profile"], name="tally_histogram")]

    def __str__(self) -> str:
        return f"{self.measure} {self.profile}"


class Resolution(models.Model):
    """What became of an item: settled with gold, dropped, or left unresolved, and why in a sentence.

    An item that is collected again loses its row; the event log keeps the history.
    """

    class Outcome(models.TextChoices):
        SETTLED = "settled"
        DROPPED = "dropped"
        UNRESOLVED = "unresolved"

    item = models.OneToOneField(Item, models.PROTECT, related_name="resolution")
    study = models.ForeignKey(Study, models.PROTECT, related_name="resolutions", db_index=False)
    outcome = models.CharField(max_length=10, choices=Outcome)
    label = models.CharField(max_length=60, blank=True)
    gold = models.JSONField(null=True, blank=True)
    why = models.CharField(max_length=300)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["study", "outcome", "label"], name="resolution_labels")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(outcome="dropped") ^ models.Q(gold__isnull=False),
                name="resolution_has_gold_unless_dropped",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome}: {self.label}"
