"""What Celery runs. A task may run twice."""

from celery import shared_task
from django.utils import timezone

from annotation.models import Study
from validation import labelling, quality


@shared_task
def score_workers() -> None:
    """Every quarter of a minute, by beat: score whoever worked since the last time, and hold them to the rules."""
    for study in Study.objects.all():
        at = timezone.now()
        quality.judge(study, quality.refresh(study, at=at), at=at)


@shared_task
def label_ratings() -> None:
    """Every quarter of a minute, by beat: label what was rated, where ratings are labelled by the whole study."""
    for study in Study.objects.all():
        labelling.refresh(study, at=timezone.now(), lazily=True)
