"""What Celery runs. A task may run twice."""

from celery import shared_task

from marketplace import clock, delivery, faults


@shared_task
def keep_time() -> None:
    """Every half minute, by beat: deadlines, auto-approval, and events on their way. Requests do the first two, too."""
    clock.catch_up(faults.now())
    delivery.deliver(at=faults.now())
