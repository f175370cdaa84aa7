"""Processes that are kept together end together, however one of them ends."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]
# Three children: one that ends when asked, one that does not listen, and one with a child of its own.
PARENT = """
import subprocess, sys
from annotation import keeper

LINES = {
    "sleeper": "import time; print('up', flush=True); time.sleep(600)",
    "deaf one": "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
    "parent": "import subprocess; subprocess.run(['sh', '-c', 'trap \\"\\" TERM; echo up; sleep 600'])",
}
def start(line):
    child = subprocess.Popen([sys.executable, "-c", line], start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"up\\n"
    return child.pid

children = {name: start(line) for name, line in LINES.items()}
print(*children.values(), flush=True)
keeper.take_over(children, grace=0.1)
"""


@pytest.fixture
def kept(monkeypatch):
    """(the keeper, its three children)"""
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}
    ) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        yield process, [psutil.Process(pid) for pid in pids]
        process.kill()


def everybody(children):
    return [*children, *(grandchild for child in children for grandchild in child.children(recursive=True))]


def ends(process, everyone):
    """(exit code, standard output, standard error) of the keeper, once nobody is left."""
    out, err = process.communicate(timeout=30)
    _, alive = psutil.wait_procs(everyone, timeout=10)
    assert alive == []
    return process.returncode, out, err


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_keeper_that_is_told_to_stop_ends_all_also_who_does_not_listen(kept, told):
    process, children = kept
    everyone = everybody(children)
    assert len(everyone) == 5
    process.send_signal(told)
    assert ends(process, everyone) == (0, "Stopped.\n", "")


def test_when_one_ends_all_end_with_a_sentence(kept):
    process, children = kept
    everyone = everybody(children)
    children[0].kill()
    assert ends(process, everyone) == (
        1,
        "",
        "The sleeper ended by itself (exit code -9), so everything was stopped.\n",
    )


def test_a_child_that_is_killed_does_not_leave_its_own_children_behind(kept):
    process, children = kept
    everyone = everybody(children)
    children[2].kill()
    code, _, said = ends(process, everyone)
    assert (code, said) == (1, "The parent ended by itself (exit code -9), so everything was stopped.\n")
