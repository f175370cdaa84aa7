"""A PostgreSQL and a Redis of our own, which vanish with the block that started them.

`python -m tests.services COMMAND ...` runs one command with both of them up.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from tests import system

ALWAYS = ("max_connections=200", "listen_addresses=''")
# What does not outlive the run need not reach the disk.
HASTY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
INITDB = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C")


@contextmanager
def postgres(*, durable: bool = False) -> Iterator[str]:
    """Yields the URL of an empty cluster on a Unix socket, closed to everybody but this user.

    durable: with PostgreSQL's own settings, as in production: for measurements.
    """
    program = system.POSTGRES.find()
    assert program, system.needed(system.POSTGRES)
    programs = Path(program).resolve().parent
    with _folder(owner="postgres") as folder:
        data, log = folder / "data", folder / "log"
        names = (*ALWAYS, *(() if durable else HASTY), f"unix_socket_directories={folder}")
        settings = " ".join(f"-c {name}" for name in names)
        _as_postgres(programs / "initdb", data, "--no-sync", *INITDB)
        _as_postgres(programs / "pg_ctl", "start", "--wait", "--pgdata", data, "--log", log, "--options", settings)
        try:
            yield f"postgres://postgres@/postgres?host={folder}"
        finally:
            _as_postgres(programs / "pg_ctl", "stop", "--mode=immediate", "--pgdata", data)


def restart_postgres(url: str) -> None:
    """Stop it at once, with whatever is under way, and start it again. url: as `postgres` gave it."""
    program = system.POSTGRES.find()
    assert program, system.needed(system.POSTGRES)
    data = Path(url.rpartition("?host=")[2]) / "data"
    _as_postgres(Path(program).resolve().parent / "pg_ctl", "restart", "--wait", "--mode=immediate", "--pgdata", data)


class Redis:
    """An empty one on a free loopback port, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process = self._start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def _start(self) -> subprocess.Popen[bytes]:
        program = system.REDIS.find()
        assert program, system.needed(system.REDIS)
        options = f"--bind 127.0.0.1 --port {self.port} --dir {self.folder} --logfile log --save".split()
        # Its own session: Ctrl-C reaches us, and we stop it when the tests have ended.
        process = subprocess.Popen([program, *options, ""], start_new_session=True)
        try:
            _wait_for_redis(process, self.port)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return process

    def kill(self) -> None:
        """With everything it held."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        self.process = self._start()


@contextmanager
def redis_server() -> Iterator[str]:
    """Yields the URL of an empty Redis on a free loopback port."""
    with mortal_redis() as server:
        yield server.url


@contextmanager
def mortal_redis() -> Iterator[Redis]:
    """One for a test to kill; gone at the end."""
    with _folder() as folder:
        server = Redis(folder)
        try:
            yield server
        finally:
            server.kill()


@contextmanager
def _folder(owner: str = "") -> Iterator[Path]:
    """A folder with a short path (a socket's may have 107 bytes) for one user's eyes."""
    with tempfile.TemporaryDirectory(prefix="touchstone-", dir="/tmp") as name:
        if owner and os.geteuid() == 0:
            subprocess.run(["chown", owner, name], check=True)
        yield Path(name)


def _as_postgres(*command: str | Path) -> None:
    """Run one of PostgreSQL's programs, none of which agrees to be run by root."""
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    # Into a file and not a pipe: the server inherits it and would hold a pipe open.
    with tempfile.TemporaryFile("w+") as said:
        run = subprocess.run([*prefix, *map(str, command)], stdout=said, stderr=said, cwd="/", check=False)
        if run.returncode:
            said.seek(0)
            raise RuntimeError(f"{Path(command[0]).name} failed: {said.read()}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_redis(process: subprocess.Popen[bytes], port: int, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    with redis.Redis(port=port) as client:
        while True:
            try:
                client.ping()
                return
            except redis.ConnectionError:
                if process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.02)


def main(command: Sequence[str]) -> int:
    with ExitStack() as up:
        environment = {"DATABASE_URL": up.enter_context(postgres()), "TEST_REDIS_URL": up.enter_context(redis_server())}
        return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaving the blocks, which stops the servers
    sys.exit(main(sys.argv[1:]))
