"""Work in the background that a person waits for. A job is a row: a lost message or a killed worker only delays it."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from django.core.files import File
from django.db import OperationalError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotation.errors import Refusal
from annotation.intake import import_items
from annotation.models import Item, Job, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SILENT = timedelta(minutes=2)  # a running job that was not heard of for so long was cut off
EVERY = timedelta(seconds=1)
FAULT = "Something went wrong on the server, and its log says what. Please tell whoever runs it, or ask once more."

Progress = Callable[[int, int], None]
# A kind of job: (job, where to write a file if it makes one, progress(done, total)) -> counts for the person who asked.
Runner = Callable[[Job, Path, Progress], Mapping[str, Any]]
KINDS: dict[str, Runner] = {}
SUFFIXES: dict[str, str] = {}  # of the file that a kind of job makes


def kind(name: str, *, suffix: str = ".jsonl") -> Callable[[Runner], Runner]:
    """Register a function as the one that does jobs of this kind."""

    def register(runner: Runner) -> Runner:
        KINDS[name], SUFFIXES[name] = runner, suffix
        return runner

    return register


def ask(
    study: Study,
    kind: str,
    *,
    by: "User",
    at: datetime,
    options: Mapping[str, Any] | None = None,
    file: File | None = None,
) -> Job:
    """Note the job and queue it. `file` is what was uploaded. Without a broker the job waits for the sweep."""
    if kind not in KINDS:
        raise KeyError(f"There is no kind of job {kind!r}. Known: {', '.join(KINDS)}.")
    job = Job(study=study, kind=kind, options=dict(options or {}), asked_by=by, asked_at=at)
    if file is not None:
        job.file.save(Path(file.name or "upload").name, file, save=False)
    with transaction.atomic():
        job.save()
        transaction.on_commit(lambda: _queue(job.pk), robust=True)
    return job


def _queue(job_id: int) -> None:
    from annotation.tasks import run_job  # the tasks call this module

    run_job.delay(job_id)


def run(job_id: int, *, now: Callable[[], datetime] = timezone.now) -> None:
    """Do a job unless it is done, or another worker is at it. May be called any number of times.

    A refusal becomes the job's error, a sentence. So does a fault, which is raised as well, for the log; but when the
    database does not answer, the job is left to the sweep.
    """
    if not _claim(job_id, now()):
        return
    job = Job.objects.select_related("study", "asked_by").get(pk=job_id)
    with tempfile.TemporaryDirectory(prefix="touchstone-job-") as folder:
        try:
            result = _do(job, Path(folder, "made"))
            _finish(job, Job.State.DONE, now(), result=result, file=job.file.name or "")
        except Refusal as refusal:
            _finish(job, Job.State.FAILED, now(), error=refusal.sentence)
        except OperationalError:
            raise
        except Exception:
            _finish(job, Job.State.FAILED, now(), error=FAULT)
            raise


def _do(job: Job, path: Path) -> dict[str, Any]:
    with _heard_of(job) as progress:
        result = KINDS[job.kind](job, path, progress)
        if path.exists():
            with path.open("rb") as file:
                job.file.save(f"{job.study.slug}-{job.kind}-{job.pk}{SUFFIXES[job.kind]}", File(file), save=False)
    return dict(result)


def _claim(job_id: int, at: datetime) -> bool:
    free = Q(state=Job.State.QUEUED) | Q(state=Job.State.RUNNING, heard_at__lt=at - SILENT)
    claimed = Job.objects.filter(free, pk=job_id).update(state=Job.State.RUNNING, started_at=at, heard_at=at, done=0)
    return bool(claimed)


@contextmanager
def _heard_of(job: Job) -> Iterator[Progress]:
    """Note once a second how far the job is, and that somebody is at it.

    A thread does so, because the job's own database connection may be inside a transaction, or busy with an export.
    """
    far, over = (0, 0), Event()

    def tell(done: int, total: int) -> None:
        nonlocal far
        far = done, total

    def note() -> None:
        try:
            while not over.wait(EVERY.total_seconds()):
                done, total = far
                # SQLite has one writer: while an import is in its transaction, nothing is noted, and nobody can claim.
                with suppress(OperationalError):
                    running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
                    running.update(done=done, total=total, heard_at=timezone.now())
        finally:
            connection.close()

    thread = Thread(target=note, name=f"job {job.pk}", daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        over.set()
        thread.join()


def _finish(job: Job, state: str, at: datetime, **fields: Any) -> None:
    """Only what is running can end, and so it ends once."""
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(state=state, finished_at=at, **fields)


def waiting(*, at: datetime) -> list[int]:
    """Jobs nobody is at: queued for longer than a message takes, or running and silent."""
    lost = Q(state=Job.State.QUEUED, asked_at__lt=at - timedelta(seconds=30))
    cut_off = Q(state=Job.State.RUNNING, heard_at__lt=at - SILENT)
    return list(Job.objects.filter(lost | cut_off).order_by("pk").values_list("pk", flat=True))


@kind("import_items")
def _import_items(job: Job, out: Path, progress: Progress) -> Mapping[str, Any]:
    """Options: role, skip_bad. The import and its end are one step, so that a job cut off has done all or nothing."""
    size = job.file.size
    with job.file.open("rb") as file, transaction.atomic():
        counts = import_items(
            job.study,
            file,
            role=job.options.get("role", Item.Role.WORK),
            skip_bad=bool(job.options.get("skip_bad")),
            by=f"user:{job.asked_by.get_username()}",
            at=timezone.now(),
            progress=lambda rows: progress(file.tell(), size),
        )
        result = {**counts.as_dict(), "problems": counts.problems}
        _finish(job, Job.State.DONE, timezone.now(), result=result)
    return result
