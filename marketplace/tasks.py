"""What Celery runs. A task may run twice."""

from celery import shared_task

from marketplace import clock, delivery, events, faults


@shared_task
def keep_time() -> None:
    """Every half minute, by beat: deadlines, auto-approval, and events on their way. Requests do the first two, too."""
    clock.catch_up(faults.now())
    events.tell_what_ran_out(at=faults.now())
    delivery.deliver(at=faults.now())
