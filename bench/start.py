"""From an empty virtual environment to the first page, and the memory of all processes when idle."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.report import table

ROOT = Path(__file__).parents[1]
PORT = "8773"


def measure() -> None:
    """Clone into an empty folder and run `make demo` there, as a new user would."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "touchstone")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "SECRET_KEY", "VIRTUAL_ENV")}
        began = time.perf_counter()
        demo = subprocess.Popen(
            ["make", "demo"],
            cwd=clone,
            env={**environment, "PORT": PORT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            seconds = _until_ready(demo, began)
            time.sleep(5)  # idle is what is measured, so let start-up settle
            rows = [["from an empty virtual environment to the first page (s)", f"{seconds:.1f}"]]
            rows += [
                [f"idle memory, {kind}, all processes (MB)", f"{_memory(demo, kind):.0f}"] for kind in ("pss", "rss")
            ]
        finally:
            os.killpg(demo.pid, signal.SIGINT)
            demo.wait(timeout=30)
        table("Start", ["what", "value"], rows)


def _until_ready(demo: subprocess.Popen[str], began: float) -> float:
    assert demo.stdout
    for line in demo.stdout:
        if re.search(rf"http://[\w.]+:{PORT}", line):
            return time.perf_counter() - began
    sys.exit("make demo stopped before it printed an address")


def _memory(demo: subprocess.Popen[str], kind: str) -> float:
    processes = [
        p
        for p in psutil.Process(demo.pid).children(recursive=True)
        if "python" in p.name() or "gunicorn" in p.name() or "celery" in p.name()
    ]
    return sum(getattr(p.memory_full_info(), kind) for p in processes) / 1_048_576
