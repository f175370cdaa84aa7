"""Workers of a marketplace, and the qualifications that stand there for what the study says of them."""

from django.db import models

from annotation.models import Study, Worker


class MarketWorker(models.Model):
    """Who a marketplace's worker is here. The same id at another marketplace is somebody else."""

    worker = models.OneToOneField(Worker, models.PROTECT, related_name="market")
    place = models.CharField(max_length=200)
    remote_worker = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["place", "remote_worker"], name="market_worker_once_per_place")]

    def __str__(self) -> str:
        return self.remote_worker


class QualificationType(models.Model):
    """A qualification at the marketplace that stands for a stage of a study, for being out of it, or for one person.

    purpose: the stage's name for "may work here", OUT for "may not", or as `qualifications.purpose_of` names a worker.
    type_id: "" until the marketplace has it. checked_at: when its holders were last compared with the study.
    """

    OUT = "out"

    study = models.ForeignKey(Study, models.PROTECT, related_name="qualification_types", db_index=False)
    purpose = models.CharField(max_length=20)
    place = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    type_id = models.CharField(max_length=64, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "purpose", "place"], name="qualification_type_once_per_purpose")
        ]

    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """Whether a worker should hold a qualification at the marketplace, and whether they do.

    changes: how often that was decided; part of the intent's target, so that each change is a decision of its own.
    """

    qualification = models.ForeignKey(QualificationType, models.PROTECT, related_name="grants", db_index=False)
    worker = models.ForeignKey(MarketWorker, models.PROTECT, related_name="grants")
    wanted = models.BooleanField()
    held = models.BooleanField(default=False)
    changes = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["qualification", "worker"], name="grant_once_per_worker")]
