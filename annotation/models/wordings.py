"""Wordings: texts that a study wants once, so that the database itself can refuse the second."""

from django.db import models
from django.db.models import Q

from annotation.models.items import Item
from annotation.models.sittings import Annotation
from annotation.models.studies import Study
from annotation.models.workers import Worker


class Wording(models.Model):
    """One text of an annotation that counts, or may yet: its row goes when the annotation is taken out of the count.

    `field`: where it stands in the answer. `digest`: equal for texts that differ in case, blanks or final punctuation.
    `is_repeat`: a file brought a text that was there before; live work cannot. `label`, `about`: what the protocol
    files it under, as columns of their own, so that a hundred thousand are read at once.
    """

    study = models.ForeignKey(Study, models.PROTECT, related_name="wordings", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="wordings", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, related_name="wordings", db_index=False)
    annotation = models.ForeignKey(Annotation, models.PROTECT, related_name="wordings", db_index=False)
    stage = models.CharField(max_length=20)
    field = models.CharField(max_length=60)
    text = models.TextField()
    label = models.CharField(max_length=60, blank=True)
    about = models.TextField(blank=True)
    digest = models.CharField(max_length=32)
    is_repeat = models.BooleanField(default=False)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "digest"], condition=Q(is_repeat=False), name="wording_once_per_study"
            ),
            models.UniqueConstraint(fields=["annotation", "field"], name="wording_once_per_field"),
        ]
        indexes = [
            models.Index(fields=["study", "worker"], name="wording_by_worker"),
            models.Index(fields=["study", "stage"], name="wording_by_stage"),
        ]

    def __str__(self) -> str:
        return self.text[:60]
