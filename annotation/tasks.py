"""What Celery runs. A task takes ids, calls one domain function, and may run twice."""

from celery import shared_task
from django.utils import timezone

from annotation import jobs, leasing


@shared_task
def run_job(job_id: int) -> None:
    jobs.run(job_id)


@shared_task
def expire_leases() -> int:
    """Every half minute, by beat: give back what is overdue."""
    return leasing.expire(at=timezone.now())


@shared_task
def resume_jobs() -> None:
    """Every minute, by beat: queue again what nobody is at."""
    for job_id in jobs.waiting(at=timezone.now()):
        run_job.delay(job_id)
