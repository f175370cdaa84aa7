"""What Celery runs: any number of times, at once, or not at all for a while. The rows are the queue."""

from celery import shared_task

from hits import sweeping


@shared_task(soft_time_limit=300, time_limit=330)
def send_intents() -> None:
    """Woken by a decision."""
    sweeping.carry_out()


@shared_task(soft_time_limit=300, time_limit=330)
def sweep() -> None:
    """Every ten seconds, by beat: whatever was missed."""
    sweeping.sweep()
