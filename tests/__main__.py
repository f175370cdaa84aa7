"""Run every check and test: `make test`, or a part of it: `make test ARGS="tests/annotation -k lease"`.

The tests run on SQLite, and beside that the journeys, and those that use the database on PostgreSQL once more, where
the races run too.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from tests import services, system

CI = bool(os.environ.get("CI"))
CHECKS = (
    ("ruff", "check", "--output-format=concise", "."),
    ("ruff", "format", "--check", "--output-format=concise", "."),
    ("mypy",),
)
PYTEST = ("-m", "pytest", "-q", "-ra", "--durations=15", "--durations-min=0.5")
HALF = ("tests/annotation", "tests/validation")  # in time
NOTHING_COLLECTED = 5


def main(arguments: Sequence[str]) -> int:
    """`--only-checks`, or what pytest takes; with a selection the checks are left out. Returns the exit code."""
    if list(arguments) == ["--only-checks"]:
        return report(list(checks()))
    missing = list(system.install_missing())
    for program in missing:
        print(system.needed(program), flush=True)
    if missing and CI:
        return 1
    failed = [] if arguments else list(checks())
    with ExitStack() as up:
        failed += tests(arguments, up, missing)
    return report(failed)


def checks() -> Iterator[str]:
    """The names of the checks that failed."""
    for command in CHECKS:
        if run("-m", *command):
            yield " ".join(command[:2])


def tests(arguments: Sequence[str], up: ExitStack, missing: Sequence[system.Program]) -> Iterator[str]:
    """The names of the runs that failed, which go side by side. `up` keeps the servers up until all have ended."""

    def redis() -> dict[str, str]:
        """One for each run: some tests empty it."""
        return {} if system.REDIS in missing else {"TEST_REDIS_URL": up.enter_context(services.redis_server())}

    os.environ |= redis()
    if system.POSTGRES in missing:
        codes = {"tests on SQLite": run(*PYTEST, *arguments)}
    else:
        postgres, marked = up.enter_context(services.postgres()), "database and not sqlite and not journey"
        beside = {
            "journeys": Beside("-m", "journey", *arguments, **redis()),
            "tests on PostgreSQL": Beside("-m", marked, *arguments, DATABASE_URL=postgres, **redis()),
        }
        usual = ["-m", "not postgres and not journey"]
        if not arguments:
            beside["half the tests on SQLite"] = Beside(*usual, *HALF, **redis())
            usual += [f"--ignore={folder}" for folder in HALF]
        for each in beside.values():
            up.enter_context(each)
        codes = {"tests on SQLite": run(*PYTEST, *usual, *arguments)}
        codes |= {name: each.wait() for name, each in beside.items()}
    for name, code in codes.items():
        if code and not (code == NOTHING_COLLECTED and arguments):
            yield name


class Beside:
    """Tests that run while others do; what they say is kept until they are waited for. Leaving stops them."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.arguments, self.environment = (*PYTEST, *arguments), {**os.environ, **environment}

    def __enter__(self) -> "Beside":
        self.said = tempfile.TemporaryFile("w+")
        command, output = [sys.executable, *self.arguments], {"stdout": self.said, "stderr": self.said}
        # Its own session: Ctrl-C reaches us, and we stop it.
        self.child = subprocess.Popen(command, env=self.environment, start_new_session=True, **output)
        return self

    def wait(self) -> int:
        """Until it has ended; prints what it said, and returns its exit code."""
        print("\n$ python", *self.arguments, flush=True)
        code = self.child.wait()
        self.said.seek(0)
        print(self.said.read(), end="", flush=True)
        return code

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
        self.child.wait()
        self.said.close()


def run(*arguments: str) -> int:
    """Run one Python to its end, and its exit code; a Ctrl-C or a TERM stops it first, and then us.

    A terminal sends Ctrl-C to the child as well, so here it is only noted; a TERM comes to us alone and is passed on.
    """
    print("$ python", *arguments, flush=True)
    with subprocess.Popen([sys.executable, *arguments]) as child:
        stopped: list[int] = []

        def stop(number: int, frame: object) -> None:
            stopped.append(number)
            if number == signal.SIGTERM:
                child.send_signal(signal.SIGINT)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        code = child.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
    if stopped:
        raise KeyboardInterrupt
    return code


def report(failed: Sequence[str]) -> int:
    print("\nFailed: " + ", ".join(failed) if failed else "\nEverything passed.", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # between the runs, as during them
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
