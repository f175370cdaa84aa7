"""A throw-away PostgreSQL and the gunicorns under measurement."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

BIN = Path(sys.executable).parent
WORKERS, THREADS = 2, 4


@contextmanager
def gunicorn(application: str, port: int, **environment: str) -> Iterator[psutil.Process]:
    """Serve `application` and yield its master process once it accepts connections; stopped again at the end."""
    command = [BIN / "gunicorn", application, "--bind", f"127.0.0.1:{port}", "--worker-class", "gthread"]
    command += [
        "--workers",
        str(WORKERS),
        "--threads",
        str(THREADS),
        "--keep-alive",
        "30",
        "--log-level",
        "warning",
        "--no-control-socket",
    ]
    with subprocess.Popen([str(part) for part in command], env={**os.environ, **environment}) as process:
        try:
            wait_for(port)
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(port: int, path: str = "/healthz", seconds: float = 30) -> None:
    """Until the server answers anything at all."""
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return  # it answers, and that is what was asked
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
