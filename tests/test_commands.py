"""The commands as a person runs them: processes of their own, on a database of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line

from annotation.protocols import CREPE
from tests.factories import make_study

ROOT = Path(__file__).parents[1]
ROW = {"id": "q1", "question": "Why is the sky green?", "comment": "It is blue."}


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code and the lines it wrote."""

    code: int
    out: list[str]
    err: list[str]

    @property
    def json(self) -> object:
        """Its last line."""
        return json.loads(self.out[-1])


Manage = Callable[..., Ended]


def runner(folder: Path) -> Manage:
    """`manage("create_study", ...)` runs a command with everything under `folder`."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "VIRTUAL_ENV")}
    environment = {
        **kept,
        "VAR_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
        "SECRET_KEY": "x" * 50,
    }

    def manage(*arguments: str, stdin: bytes = b"") -> Ended:
        command = [sys.executable, "manage.py", *arguments]
        run = subprocess.run(command, cwd=ROOT, env=environment, input=stdin, capture_output=True, check=False)
        return Ended(run.returncode, run.stdout.decode().splitlines(), run.stderr.decode().splitlines())

    return manage


@pytest.fixture(scope="module")
def manage(tmp_path_factory) -> Manage:
    run = runner(tmp_path_factory.mktemp("commands"))
    assert run("migrate", "-v0") == Ended(0, [], [])
    assert run("create_study", "crepe-a", "--protocol", "crepe", "--set", "items_per_sitting=2").json == {
        "study": "crepe-a",
        "protocol": "crepe",
        "options": CREPE.read_options({"items_per_sitting": 2}),
    }
    return run


COMMANDS = (
    "create_study",
    "import_items",
    "add_worker",
    "export_gold",
    "export_annotations",
    "import_annotations",
    "simulate",
    "agreement",
    "replay",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as end:
        execute_from_command_line(["manage.py", command, "--help"])
    assert end.value.code in (None, 0)
    assert capsys.readouterr().out.startswith(f"usage: manage.py {command}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["create_study"], "Error: the following arguments are required: SLUG, --protocol"),
        (["import_items", "none", "-"], "There is no study 'none'. There are: crepe-a."),
        (["create_study", "crepe-a", "--protocol", "crepe"], "There is a study 'crepe-a' already."),
    ],
)
def test_a_command_that_cannot_ends_with_one_and_one_sentence(manage, arguments, sentence):
    assert manage(*arguments) == Ended(1, [], [sentence])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "create_study x --protocol crepe --set adjudication",
            "A setting is written NAME=VALUE; it was 'adjudication'.",
        ),
        ("import_items none -", "There is no study 'none'. There are: crepe-a."),
        ("import_items crepe-a nowhere.jsonl", "Cannot read nowhere.jsonl: No such file or directory."),
        ("import_items crepe-a .", "Cannot read .: Is a directory."),
        ("add_worker crepe-a ann --stages judge", "This study has no stage 'judge'; it has generate, validate."),
        (f"add_worker crepe-a {'x' * 91}", "A worker's code is a text of 1 to 90 characters."),
        ("add_worker crepe-a ann --count 0", "--count must be at least 1."),
        ("add_worker crepe-a ann --count x", "Error: argument --count: invalid int value: 'x'"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(arguments, sentence):
    make_study("crepe-a")
    with pytest.raises(CommandError) as refusal:
        call_command(*arguments.split())
    assert str(refusal.value) == sentence


def test_a_database_without_tables_is_said_in_a_sentence(tmp_path):
    ended = runner(tmp_path)("add_worker", "crepe-a", "ann")
    assert ended == Ended(
        1, [], ["The database refused: no such table: annotation_study (has `manage.py migrate` been run?)"]
    )


def test_items_come_from_standard_input_and_bad_lines_are_named(manage):
    lines = f"{json.dumps(ROW)}\n{{\n".encode()
    ended = manage("import_items", "crepe-a", "-", stdin=lines)
    assert (ended.code, ended.out, len(ended.err)) == (1, [], 1)
    assert ended.err[0].startswith("Nothing was kept, because of 1 bad line: line 2: is not JSON: ")
    ended = manage("import_items", "crepe-a", "-", "--skip-bad", stdin=lines)
    assert (ended.code, ended.json) == (0, {"created": 1, "unchanged": 0, "bad": 1})
    assert [line.partition(": Exp")[0] for line in ended.err] == ["line 2: is not JSON"]
    assert manage("import_items", "crepe-a", "-", stdin=lines[:-2]).json == {"created": 0, "unchanged": 1, "bad": 0}


def test_workers_are_printed_one_json_line_each_with_token_and_link(manage):
    ended = manage("add_worker", "crepe-a", "team", "--stages", "validate", "--count", "2")
    rows = [json.loads(line) for line in ended.out]
    assert (ended.code, ended.err) == (0, [])
    assert [list(row) for row in rows] == [["worker", "token", "link"]] * 2
    assert [row["worker"] for row in rows] == ["team-1", "team-2"]
    assert all(row["link"].startswith("http://127.0.0.1:8000/w/") for row in rows)
    assert len({row[name] for row in rows for name in ("token", "link")}) == 4
