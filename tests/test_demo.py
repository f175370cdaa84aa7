"""`make demo`: everything runs, the printed doors open, and Ctrl-C leaves nothing behind."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from annotation.management.commands.demo import forget

ROOT = Path(__file__).parents[1]

DOORS = {
    "generator": "Find false assumptions",
    "validator": "Judge two annotations",
    "writer": "Write claims",
    "reviewer": "Review claims",
    "judge": "True or false?",
    "editor": "Flip claims",
    "rater": "Rate statements Rate answers Rate outputs",
    "verifier": "Verify pairs of questions",
}


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def demo(folder, port, *more):
    outer = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY")}
    environment = {**outer, "VAR_DIR": str(folder), "DEBUG": "true", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "manage.py", "demo", "--port", str(port), *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.terminate()


def read_until(process, last):
    lines = []
    for line in process.stdout:
        lines.append(line)
        if last in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def page(url):
    """As a browser that keeps cookies, for as long as it takes."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(url, timeout=20) as answer:
        return answer.read().decode()


def test_the_demo_runs_opens_its_doors_keeps_its_data_and_stops(tmp_path, port):
    with demo(tmp_path, port) as process:
        said = read_until(process, "Ctrl-C stops it")
        doors = dict(re.findall(rf"^ +(\S.*?) +(http://127.0.0.1:{port}/w/\S+)", said, re.M))
        assert list(doors) == [*DOORS]
        market = re.search(rf"http://127.0.0.1:{port}/marketplace/enter/\S+", said).group()
        assert "Find work" in page(market)
        for role, tasks in DOORS.items():
            home = page(doors[role])
            assert [task for task in re.findall("[A-Z][^A-Z]+", tasks) if task.strip() not in home] == []
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        _, alive = psutil.wait_procs(children, timeout=10)
        assert alive == []
    with demo(tmp_path, port) as again:
        said_again = read_until(again, "Ctrl-C stops it")
        assert "Loading" not in said_again
        assert re.search("password '.*'", said_again).group() == re.search("password '.*'", said).group()
        assert "Find false assumptions" in page(doors["generator"])
        again.terminate()
        assert again.wait(timeout=30) == 0


def test_starting_afresh_throws_away_what_a_demo_made_and_nothing_else(tmp_path):
    for name in ("touchstone.sqlite3", "touchstone.sqlite3-wal", "secret", "password", "mine.txt"):
        (tmp_path / name).touch()
    for folder in ("broker/queue", "media/jobs", "screenshots"):
        (tmp_path / folder).mkdir(parents=True)
    forget(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt", "screenshots"]


def test_a_busy_port_is_refused_with_a_sentence(tmp_path, port):
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with demo(tmp_path, port) as process:
            said, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"Port {port} cannot be used" in said
