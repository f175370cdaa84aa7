"""What was asked for under a key that is used once."""

from django.db import models

from annotation.models import Study


class Once(models.Model):
    """A step that was taken, and what was answered: asked for again under the same key, it is not taken again.

    key: made by a form when it is shown, or by a program. digest: of what was asked for. by: whose key it is.
    """

    study = models.ForeignKey(Study, models.PROTECT, related_name="+", db_index=False)
    by = models.CharField(max_length=160)
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    answer = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "by", "key"], name="once_per_key")]

    def __str__(self) -> str:
        return self.key
