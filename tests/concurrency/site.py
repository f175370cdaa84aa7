"""Real processes around the tests' own database: the marketplace, Celery workers and a Redis, each of which may die.

The test plays beat, and time: what would wait for minutes waits for nothing.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import redis
from celery import current_app
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from bench.server import wait_for
from hits import intents, places
from hits.models import Hit, Intent, Visit
from marketplace import signing
from marketplace.models import Requester
from tests.marketplace.market import make_requester
from tests.services import free_port, mortal_redis

ROOT = Path(__file__).parents[2]
WORKER = "-m celery --quiet -A config worker --concurrency 2 --without-gossip --without-mingle --without-heartbeat"
SERVER = "--workers 2 --worker-class gthread --threads 6 --keep-alive 30 --log-level critical --no-control-socket"
KEY = "AKIATOUCHSTONETESTS0"


class Process:
    """A program with its children, in a session of its own."""

    def __init__(self, command: str, environment: dict[str, str]) -> None:
        options: dict[str, Any] = {"cwd": ROOT, "env": environment, "start_new_session": True}
        self.program = subprocess.Popen([sys.executable, *command.split()], **options)

    @property
    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.program.pid).children()

    def kill(self) -> None:
        """kill -9, for all of them."""
        if self.program.poll() is None:
            os.killpg(self.program.pid, signal.SIGKILL)
            self.program.wait()


class Site:
    """Everything that a site runs but beat, each program begun when it is first wanted."""

    def __init__(self, up: ExitStack, folder: Path) -> None:
        self.port = free_port()
        self.redis = up.enter_context(mortal_redis())
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "VIRTUAL_ENV")}
        database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
        self.environment = {
            **kept,
            "DJANGO_SETTINGS_MODULE": "config.settings.base",
            "DATABASE_URL": database.geturl(),
            "SECRET_KEY": django_settings.SECRET_KEY,  # the marketplace's secrets follow from it
            "VAR_DIR": str(folder),
            "CELERY_BROKER_URL": self.redis.url,
            "SITE_URL": self.url,
            "MTURK_ACCESS_KEY": KEY,
            "MTURK_SECRET_KEY": signing.secret_of(Requester(access_key=KEY)),
            "MTURK_READ_TIMEOUT": "3",
            "MTURK_CALLS_PER_SECOND": "0",
            "MTURK_PARALLEL": "4",
            "MARKETPLACE_CALLS_PER_SECOND": "0",
            "LOG_LEVEL": "CRITICAL",
        }
        up.callback(self.close)
        self.worker: Process | None = None
        self.market: Process | None = None
        self.faults = ""

    def close(self) -> None:
        """No worker, no server, no message."""
        for process in (self.worker, self.market):
            if process:
                process.kill()
        self.worker = self.market = None
        with redis.Redis.from_url(self.redis.url) as client:
            client.flushall()

    def open(self, settings: Any, faults: str = "") -> Requester:
        """An account with $1,000 at the marketplace, which is up, as a worker is; this process has their settings."""
        requester = make_requester("touchstone", 1_000_00)
        requester.access_key = KEY
        requester.save()
        settings.SITE_URL = settings.PUBLIC_URL = self.url
        settings.TASK_FRAME_HOSTS = [self.url]
        settings.MTURK_ACCESS_KEY, settings.MTURK_SECRET_KEY = KEY, signing.secret_of(requester)
        if self.worker is None:
            self.start_worker()
        self.serve(faults)
        return requester

    def serve(self, faults: str = "") -> None:
        """The marketplace with these faults, as MARKETPLACE_FAULTS takes them."""
        if self.market is None or self.faults != faults:
            self.stop_serving()
            command = f"-m gunicorn config.wsgi:application --bind 127.0.0.1:{self.port} {SERVER}"
            self.market = self._start(command, DEBUG="true", MARKETPLACE_FAULTS=faults)
            self.faults = faults
        wait_for(self.port)

    def stop_serving(self) -> None:
        if self.market:
            self.market.kill()
            self.market = None

    def start_worker(self) -> None:
        self.worker = self._start(f"{WORKER} --loglevel critical")

    def _start(self, command: str, **more: str) -> Process:
        return Process(command, {**self.environment, **more})

    # --- Time goes on --------------------------------------------------------------------------------

    def ask(self, task: str) -> None:
        """As beat does, or whoever decided something; where enough is asked, or no broker is there, nothing."""
        try:
            if self.asked() < 2:
                with current_app.connection_for_write(self.redis.url) as broker:
                    current_app.send_task(f"hits.tasks.{task}", connection=broker, retry=False)
        except (redis.ConnectionError, BrokerError):
            pass

    def asked(self) -> int:
        """Messages that nobody took yet."""
        with redis.Redis.from_url(self.redis.url) as client:
            return int(client.llen("celery"))

    def until(self, condition: Callable[[], object], seconds: float = 200) -> None:
        """Beat and time go on until it is so."""
        end, turn = time.monotonic() + seconds, 0
        while not condition():
            assert time.monotonic() < end, f"it did not happen within {seconds} seconds: {what_is_open()}"
            if turn % 3 == 0:
                hurry()
                self.ask("sweep" if turn % 2 else "send_intents")
            turn += 1
            time.sleep(0.1)

    def rest(self) -> None:
        """Until nobody is at anything, so that the database can be cleared; who does not end is ended."""
        places.close()
        end = time.monotonic() + 20
        while self.asked() or self._is_busy():
            if time.monotonic() > end:
                self.close()
            time.sleep(0.03)

    def _is_busy(self) -> bool:
        with redis.Redis.from_url(self.redis.url) as client, connection.cursor() as cursor:
            cursor.execute("SELECT state FROM pg_stat_activity WHERE datname = current_database()")
            at_work = [state for (state,) in cursor.fetchall() if state not in ("idle", None)]
            return len(at_work) > 1 or bool(client.hlen("unacked"))  # one is this very session

    # --- Death ---------------------------------------------------------------------------------------

    def kill_in_a_call(self, *, whole: bool = False) -> int:
        """kill -9 for one of the worker's processes, or for all of it, which is then started anew, while calls are on
        their way. Returns how many were left behind; their leases run out at once.
        """
        assert self.worker
        self.until(lambda: in_flight() > 1)
        if whole:
            self.worker.kill()
            with redis.Redis.from_url(self.redis.url) as client:
                client.delete("unacked", "unacked_index")  # what it held comes back after an hour only
            self.start_worker()
        else:
            for child in self.worker.children:
                child.kill()
        return Intent.objects.filter(state="in flight").update(leased_until=timezone.now(), not_before=timezone.now())


def hurry() -> None:
    """What waits, waits no longer."""
    now = timezone.now()
    Intent.objects.filter(state="pending", not_before__gt=now).update(not_before=now)
    # A lease runs out after ten seconds: more than a call takes here, unless the machine is very slow.
    begun = now - timedelta(seconds=10)
    Intent.objects.filter(state="in flight", leased_until__lt=begun + intents.LEASE).update(
        leased_until=now, not_before=now
    )
    Hit.objects.filter(look_at__gt=now, visits__state=Visit.State.LEFT).update(look_at=now)
    # Nobody took these, so looking would only take time.
    Hit.objects.filter(look_at__lt=now + timedelta(minutes=1), visits=None).update(look_at=now + timedelta(hours=1))


def in_flight() -> int:
    return Intent.objects.filter(state="in flight").count()


def is_done() -> bool:
    return not Intent.objects.filter(closed_at=None).exists()


def what_is_open() -> list[str]:
    rows = Intent.objects.filter(closed_at=None)
    return [f"{rows.count()} open"] + [f"{row} {row.state} {row.attempts}: {row.error}" for row in rows[:5]]
