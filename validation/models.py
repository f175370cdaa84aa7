"""What was judged: vote profiles, resolutions, thresholds, and what workers are worth."""

from django.db import models

from annotation.models import Annotation, Enrolment, Item, Study


class Tally(models.Model):
    """One item's votes on one measure: `profile` counts them per category, comma-separated, in the protocol's order; of
    a measure in numbers it has the count, sum and sum of squares of each thing rated.

    Text, so that `GROUP BY profile` makes a study's histogram. Recounted from the item's answers at every change.
    """

    study = models.ForeignKey(Study, models.PROTECT, related_name="tallies", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="tallies", db_index=False)
    stage = models.CharField(max_length=20)
    measure = models.CharField(max_length=30)
    profile = models.CharField(max_length=300)

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


class Score(models.Model):
    """What one worker's work in one stage is worth, counted anew by `quality.refresh`; everything follows from facts.

    annotations: answers to work, counted or not. decided: those whose item's outcome upholds them or not; invalid: not.
    judged: of the decided, those that others judged because answers differed. copies: writings much like one
    about another item, of their own or of somebody else; copied: mean share of a writing that is one run of the text
    it is about. pasted: share of what was written that was pasted. labels: category of the stage's first measure ->
    answers. seconds: the nine deciles of active seconds.
    """

    enrolment = models.ForeignKey(Enrolment, models.PROTECT, related_name="scores", db_index=False)
    study = models.ForeignKey(Study, models.PROTECT, related_name="scores")
    stage = models.CharField(max_length=20)
    annotations = models.PositiveIntegerField(default=0)
    counted = models.PositiveIntegerField(default=0)
    gold = models.PositiveIntegerField(default=0)
    gold_right = models.PositiveIntegerField(default=0)
    fillers = models.PositiveIntegerField(default=0)
    fillers_right = models.PositiveIntegerField(default=0)
    decided = models.PositiveIntegerField(default=0)
    invalid = models.PositiveIntegerField(default=0)
    judged = models.PositiveIntegerField(default=0)
    judged_invalid = models.PositiveIntegerField(default=0)
    copies_own = models.PositiveIntegerField(default=0)
    copies_others = models.PositiveIntegerField(default=0)
    copied = models.FloatField(null=True, blank=True)
    pasted = models.FloatField(null=True, blank=True)
    median_seconds = models.FloatField(null=True, blank=True)
    seconds = models.JSONField(default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    scored_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["enrolment", "stage"], name="score_once_per_stage")]

    def __str__(self) -> str:
        return f"{self.enrolment} in {self.stage}"

    @property
    def gold_accuracy(self) -> float | None:
        return _share(self.gold_right, self.gold)

    @property
    def filler_accuracy(self) -> float | None:
        return _share(self.fillers_right, self.fillers)

    @property
    def invalid_share(self) -> float | None:
        """Of all decided answers; of agreed items both are valid (PROTOCOLS.md 1.5)."""
        return _share(self.invalid, self.decided)

    @property
    def invalid_share_of_judged(self) -> float | None:
        """Of the answers that others judged."""
        return _share(self.judged_invalid, self.judged)


def _share(count: int, total: int) -> float | None:
    return count / total if total else None


class Writing(models.Model):
    """One text that somebody composed: `position` is its place in the answer's writings.

    copied: the share of it that is one run of the text it is about, 0 to 1. copy_of: an earlier annotation of another
    item with much the same text, or null.
    """

    study = models.ForeignKey(Study, models.PROTECT, related_name="writings", db_index=False)
    annotation = models.ForeignKey(Annotation, models.PROTECT, related_name="writings", db_index=False)
    position = models.PositiveSmallIntegerField()
    copied = models.FloatField()
    copy_of = models.ForeignKey(Annotation, models.PROTECT, null=True, blank=True, related_name="copies")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["annotation", "position"], name="writing_once")]
        indexes = [models.Index(fields=["study", "annotation"], name="writing_by_study")]

    def __str__(self) -> str:
        return f"{self.annotation_id}.{self.position}"


class WritingKey(models.Model):
    """A key under which writings that are much alike meet (see `duplicates`)."""

    study = models.ForeignKey(Study, models.PROTECT, related_name="writing_keys", db_index=False)
    key = models.BigIntegerField()
    writing = models.ForeignKey(Writing, models.PROTECT, related_name="keys")

    class Meta:
        indexes = [models.Index(fields=["study", "key"], name="writing_key")]

    def __str__(self) -> str:
        return str(self.key)


class Threshold(models.Model):
    """Where one worker's ratings are cut: at most `contradiction` is contradiction, above `entailment` is entailment.

    Both are as learnt from fillers, whatever the study fixes for everybody. fillers: that they rated; scored: those
    with an answer that is right or wrong; right. how: for each of the two its accuracy, own ratings, ties, interval
    (low, high) and reason, as `calibration.Threshold` has them.
    """

    enrolment = models.OneToOneField(Enrolment, models.PROTECT, related_name="threshold")
    study = models.ForeignKey(Study, models.PROTECT, related_name="thresholds")
    contradiction = models.FloatField()
    entailment = models.FloatField()
    fillers = models.PositiveIntegerField()
    scored = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    how = models.JSONField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(contradiction__lt=50, entailment__gt=50), name="threshold_is_on_its_side"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.contradiction:g} and {self.entailment:g}"

    @property
    def accuracy(self) -> float | None:
        return _share(self.right, self.scored)


class Labelled(models.Model):
    """When a study's ratings were last labelled, on what state of it, and how long that took."""

    study = models.OneToOneField(Study, models.PROTECT, related_name="labelled")
    state = models.CharField(max_length=100)
    at = models.DateTimeField()
    seconds = models.FloatField()

    def __str__(self) -> str:
        return f"{self.study} at {self.at}"
