"""The servers that tests stand on: up when asked for, gone afterwards, however the run ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest
import redis

from tests import conftest, services, system

ROOT = Path(__file__).parents[1]
WAITING_TEST = """
import os, pathlib, time, pytest

@pytest.mark.database
def test_wait():
    pathlib.Path({told!r}, str(os.getpid())).write_text(os.environ["TEST_REDIS_URL"])
    time.sleep(600)
"""


@pytest.fixture
def programs() -> None:
    for program in (system.POSTGRES, system.REDIS):
        if not program.find():
            conftest.lacking(system.needed(program))


def is_up(redis_url: str) -> bool:
    with redis.Redis.from_url(redis_url) as client:
        try:
            return client.ping()
        except redis.ConnectionError:
            return False


@pytest.mark.usefixtures("programs")
def test_postgres_is_open_to_this_user_alone_and_leaves_nothing_behind():
    with services.postgres() as url:
        folder = Path(parse_qs(urlsplit(url).query)["host"][0])
        with psycopg.connect(url) as connection:
            answer = connection.execute(
                "SELECT current_setting('listen_addresses'), current_setting('fsync')"
            ).fetchone()
        assert (answer, folder.stat().st_mode & 0o777) == (("", "off"), 0o700)
    assert not folder.exists()


@pytest.mark.usefixtures("programs")
def test_redis_is_up_inside_the_block_only():
    with services.redis_server() as url:
        assert is_up(url)
    assert not is_up(url)


@pytest.mark.usefixtures("programs")
def test_a_command_finds_both_servers_and_its_exit_code_is_told():
    script = "import os, sys; sys.exit(7 if {'DATABASE_URL', 'TEST_REDIS_URL'} <= set(os.environ) else 1)"
    assert services.main([sys.executable, "-c", script]) == 7


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("stop", [lambda pid: os.killpg(pid, signal.SIGINT), lambda pid: os.kill(pid, signal.SIGTERM)],
                         ids=["Ctrl-C", "TERM"])  # fmt: skip
def test_a_stopped_run_stops_its_servers(tmp_path, stop):
    (told := tmp_path / "told").mkdir()
    (tmp_path / "test_wait.py").write_text(WAITING_TEST.format(told=str(told)))
    command = [sys.executable, "-m", "tests", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 60
        while len(said := texts(told)) < 2 and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        children = psutil.Process(run.pid).children(recursive=True)
        stop(run.pid)
        output, _ = run.communicate(timeout=60)
    assert (run.returncode, "KeyboardInterrupt" in output) == (130, True)
    assert [is_up(redis_url) for redis_url in said] == [False, False]
    assert [child for child in children if child.is_running()] == []


def texts(folder: Path) -> list[str]:
    """What the tests on both databases have written, as soon as they have."""
    return [text for path in folder.iterdir() if (text := path.read_text())]
