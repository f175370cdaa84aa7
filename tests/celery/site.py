"""A site of its own for one test: processes that share a database file, a broker and a storage, as in production."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SETUP = """
import sys, django
django.setup()
from django.contrib.auth.models import User
from django.core.files import File
from django.utils import timezone
from annotation import jobs, tasks
from annotation.models import Study
"""
ASK = """
user, _ = User.objects.get_or_create(username="ana")
study = Study.objects.get(slug="crepe-a")
file = File(open(sys.argv[2], "rb"), name="rows.jsonl") if len(sys.argv) > 2 else None
print(jobs.ask(study, sys.argv[1], by=user, at=timezone.now(), file=file).pk)
"""
SWEEP = "tasks.resume_jobs.delay()"


class Site:
    """Everything it writes is under `folder`. `more`: further environment variables."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.database = folder / "db.sqlite3"
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "VIRTUAL_ENV")}
        ours = {"VAR_DIR": str(folder), "DATABASE_URL": f"sqlite:///{self.database}", "SECRET_KEY": "x" * 50}
        self.environment = {**kept, **ours, "DJANGO_SETTINGS_MODULE": "config.settings.base", **more}

    def manage(self, *arguments: str) -> None:
        self._run("manage.py", *arguments)

    def ask(self, kind: str, *file: str) -> int:
        """Ask for a job, in a process of its own; returns its number."""
        return int(self._run("-c", SETUP + ASK, kind, *file))

    def sweep(self) -> None:
        self._run("-c", SETUP + SWEEP)

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What another process would see."""
        with closing(sqlite3.connect(self.database, timeout=20)) as database, database:
            return database.execute(statement, values).fetchall()

    def job(self, number: int) -> tuple[str, str, str]:
        """(state, result, error) of a job."""
        return self.sql("SELECT state, result, error FROM annotation_job WHERE id = ?", number)[0]

    @contextmanager
    def worker(self, pool: str) -> Iterator[subprocess.Popen[bytes]]:
        """A Celery worker with its children, killed at the end at the latest."""
        options = f"-m celery --quiet -A config worker --pool {pool} --concurrency 2 --loglevel warning"
        with subprocess.Popen(
            [sys.executable, *options.split()], cwd=ROOT, env=self.environment, start_new_session=True
        ) as process:
            try:
                yield process
            finally:
                kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9 for the process and all its children."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not happen within {seconds} seconds"
        time.sleep(0.02)
