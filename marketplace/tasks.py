"""What Celery runs. A task may run twice."""

from celery import shared_task
from django.utils import timezone

from marketplace import clock, delivery


@shared_task
def keep_time() -> None:
    """Every half minute, by beat: deadlines, auto-approval, and events on their way. Requests do the first two, too."""
    clock.catch_up(timezone.now())
    delivery.deliver(at=timezone.now())
