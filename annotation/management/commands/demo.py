"""A running example: `make demo`."""

import io
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation import console, demo, jobs, keeper, links, qualification
from annotation.models import Job, Study

Children = dict[str, subprocess.Popen[bytes]]

PATIENCE = 60  # seconds in which the server and the worker must answer
MADE = (
    "touchstone.sqlite3",
    "touchstone.sqlite3-wal",
    "touchstone.sqlite3-shm",
    "broker",
    "media",
    "secret",
    "password",
)
# Studies, one of each protocol, with a report and a door for every role.
OPEN = ("crepe", "nope", "creak", *demo.RATED)


class Command(console.Command):
    help = "Run a complete example on this machine: database, data, a crowd, the web server and a Celery worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="where the web server listens (default 8000)")
        parser.add_argument(
            "--reset", action="store_true", help="throw away what an earlier demo left, and start afresh"
        )

    def handle(self, *, port: int, reset: bool, **_: Any) -> None:
        keeper.listen()
        _refuse_busy(port)
        if reset:
            forget(settings.VAR_DIR)
        settings.VAR_DIR.mkdir(exist_ok=True, parents=True)
        for folder in ("queue", "control"):
            (settings.VAR_DIR / "broker" / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        settings.SECRET_KEY = _secret(settings.VAR_DIR / "secret")
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        self._say("Preparing the database")
        call_command("migrate", verbosity=0)
        deposit = "0" if (settings.VAR_DIR / "password").exists() else "100.00"
        demo.load(settings.VAR_DIR / "password", at=timezone.now(), progress=self._say)
        call_command("requester", "demo", deposit=deposit, stdout=io.StringIO())
        _open_account("200.00" if deposit != "0" else "0", port)
        self._say("Starting the web server and the Celery worker")
        children: Children = {}
        try:
            for name, command in _commands(port).items():
                children[name] = _start(command)
            _wait(children, "web server", lambda: _answers(f"{settings.SITE_URL}/healthz"))
            probe = jobs.ask(Study.objects.get(slug="crepe"), "export_gold", by=_researcher(), at=timezone.now())
            _wait(children, "Celery worker", lambda: Job.objects.get(pk=probe.pk).state == Job.State.DONE)
            for study in Study.objects.filter(slug__in=OPEN).exclude(jobs__kind="report"):
                jobs.ask(study, "report", by=_researcher(), at=timezone.now())
            if not _told_all("batches", "crepe"):
                self._say("Publishing ten sittings on the marketplace")
                _told("publish", "crepe", "--stage=generate", "--sittings=10", "--reward=0.80", "--per-hit=1", "--yes")
            self._print_doors()
            os.chdir(settings.BASE_DIR)
            keeper.take_over({name: child.pid for name, child in children.items()})
        except BaseException:
            keeper.stop(child.pid for child in children.values())
            raise

    def _say(self, what: str) -> None:
        self.stdout.write(f"{what} ...")

    def _print_doors(self) -> None:
        now, doors = timezone.now(), {}
        for study in Study.objects.filter(slug__in=OPEN).order_by("pk"):
            for stage in study.protocol.stages:
                worker = qualification.add_worker(study, f"demo-{stage.role}", [stage.name], by=demo.BY, at=now)
                doors[stage.role] = links.personal_link(worker, at=now)  # one person, in every study with this role
        password = (settings.VAR_DIR / "password").read_text()
        self.stdout.write(f"\nTouchstone is running at {settings.SITE_URL}\n")
        self.stdout.write(f"  {'researcher':<12} log in as {demo.NAME!r} with password {password!r}")
        for role, link in doors.items():
            self.stdout.write(f"  {role:<12} {link}")
        self._print_marketplace()
        self.stdout.write("\nCtrl-C stops it; the data stay in var/ until `make demo RESET=1`.")
        self.stdout.flush()

    def _print_marketplace(self) -> None:
        """Its commands, and not its modules: the marketplace stands alone."""
        keys, person = (_told(*command) for command in (("requester", "demo"), ("marketplace_worker", "demo")))
        self.stdout.write(f"\n  {'marketplace':<12} a worker's page: {person['link']}")
        self.stdout.write(f"{'':<14} boto3 at {keys['endpoint']} with {keys['access_key']} / {keys['secret_key']}")


def _told_all(*command: str) -> list[dict[str, Any]]:
    """What a command prints as JSON lines."""
    said = io.StringIO()
    call_command(*command, stdout=said, stderr=io.StringIO())
    return [json.loads(line) for line in said.getvalue().splitlines()]


def _told(*command: str) -> dict[str, Any]:
    return _told_all(*command)[0]


def _open_account(deposit: str, port: int) -> None:
    """Touchstone's own account at the marketplace. Tasks are on another host name than the site that frames them."""
    keys = _told("requester", "touchstone", f"--deposit={deposit}")
    settings.MTURK_ACCESS_KEY, settings.MTURK_SECRET_KEY = keys["access_key"], keys["secret_key"]
    settings.PUBLIC_URL, settings.TASK_FRAME_HOSTS = f"http://localhost:{port}", [settings.SITE_URL]


def _researcher() -> User:
    return User.objects.get(username=demo.NAME)


def _refuse_busy(port: int) -> None:
    """Raises CommandError when somebody else listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used ({error.strerror}); choose another: make demo PORT=8001"
            ) from error


def forget(folder: Path) -> None:
    """Throw away what demos have made, and only that."""
    for name in MADE:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _secret(path: Path) -> str:
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path.read_text()


def _commands(port: int) -> dict[str, str]:
    """The web server, and a worker with beat: name -> what Python is to run."""
    web = f"gunicorn config.wsgi --bind 127.0.0.1:{port} --worker-class gthread --threads 4 --no-control-socket"
    # Threads share one process: the whole demo stays small, and one writer at a time is all SQLite takes.
    worker = "celery --quiet -A config worker --beat --pool threads -c 2"
    worker += " --without-gossip --without-mingle --without-heartbeat"  # for workers among others; this one is alone
    return {"web server": f"{web} --log-level warning", "Celery worker": f"{worker} --loglevel warning"}


def _start(command: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "SECRET_KEY": settings.SECRET_KEY,
        "SITE_URL": settings.SITE_URL,
        "PUBLIC_URL": settings.PUBLIC_URL,
        "TASK_FRAME_HOSTS": ",".join(settings.TASK_FRAME_HOSTS),
        "MTURK_ACCESS_KEY": settings.MTURK_ACCESS_KEY,
        "MTURK_SECRET_KEY": settings.MTURK_SECRET_KEY,
        "DEBUG": "false",
        "LOG_LEVEL": "WARNING",
    }
    line = [sys.executable, "-m", *command.split()]
    return subprocess.Popen(line, cwd=settings.BASE_DIR, env=environment, start_new_session=True)


def _wait(children: Children, name: str, answers: Callable[[], bool]) -> None:
    """Until the one called `name` answers. Raises CommandError when it takes too long or any has ended."""
    end = time.monotonic() + PATIENCE
    while not answers():
        for other, child in children.items():
            if child.poll() is not None:
                raise CommandError(keeper.ended(other, child.returncode))
        if time.monotonic() > end:
            raise CommandError(f"Gave up: the {name} did not answer within {PATIENCE} seconds.")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False
