"""Finding the programs from outside, and what happens without them."""

from collections.abc import Iterator

import pytest

from tests import __main__ as runner
from tests import system
from tests.system import Program

NOTHING = Program(("nothing", "fonts-nothing"), ("no-such-program",))


def executable(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).touch(mode=0o755)
    return str(folder / name)


def test_a_program_is_found_on_the_path_before_its_own_folders_and_newest_first(tmp_path, monkeypatch):
    program = Program(("server",), ("serverd",), folders=f"{str(tmp_path)[1:]}/lib/*/bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = [program.find()]
    executable(tmp_path / "lib/15/bin", "serverd")
    newest = executable(tmp_path / "lib/17/bin", "serverd")
    found.append(program.find())
    on_path = executable(tmp_path / "bin", "serverd")
    found.append(program.find())
    assert found == [None, newest, on_path]


def test_what_is_needed_says_what_to_install():
    assert system.needed(NOTHING) == (
        "nothing is needed: install it (nothing fonts-nothing on Debian or Ubuntu), or let `make test` do so as root"
    )


@pytest.fixture
def runs(monkeypatch) -> Iterator[list[tuple[str, ...]]]:
    """What the runner would have run on a machine that lacks PostgreSQL and Redis."""
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(system, "install_missing", lambda: [system.POSTGRES, system.REDIS])
    monkeypatch.setattr(runner, "run", lambda *arguments: seen.append(arguments) or 0)
    return seen


def test_in_ci_a_missing_server_is_a_failure_before_anything_runs(runs, monkeypatch):
    monkeypatch.setattr(runner, "CI", True)
    assert (runner.main(["tests/annotation"]), runs) == (1, [])


def test_elsewhere_the_tests_run_once_and_skip_what_needs_it(runs, monkeypatch):
    monkeypatch.setattr(runner, "CI", False)
    options = ("-m", "pytest", "-q", "-ra", "--durations=15", "--durations-min=0.5", "tests/annotation")
    assert (runner.main(["tests/annotation"]), runs) == (0, [options])


def test_every_run_is_made_and_the_failed_ones_are_named(runs, monkeypatch, capsys):
    monkeypatch.setattr(runner, "CI", False)
    monkeypatch.setattr(runner, "run", lambda *arguments: runs.append(arguments) or 1)
    assert runner.main([]) == 1
    assert [arguments[1] for arguments in runs] == ["ruff", "ruff", "mypy", "pytest"]
    assert capsys.readouterr().out.endswith("\nFailed: ruff check, ruff format, mypy, tests on SQLite\n")
