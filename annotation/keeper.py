"""Keep child processes together: when one ends, or we are told to stop, all end.

The standard library only: the demo turns into this module (`take_over`) once its children run, so that keeping them
costs a bare Python. Every child leads a process group of its own.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import FrameType
from typing import NoReturn

GRACE = 10  # seconds to end by themselves
TOLD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Told(KeyboardInterrupt):
    """Somebody wants us to stop."""


def listen() -> None:
    """Raise Told when we are told to stop, also where the shell had us ignore Ctrl-C."""
    for number in TOLD:
        signal.signal(number, _raise)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TOLD)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Told


def stop(pids: Iterable[int], grace: float = GRACE) -> None:
    """End these children, by force after `grace` seconds, and whatever is left of their groups; uninterrupted."""
    for number in TOLD:
        signal.signal(number, signal.SIG_IGN)
    waiting = set(pids)
    for pid in waiting:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    groups, end = set(waiting), time.monotonic() + grace
    while waiting and time.monotonic() < end:
        waiting = {pid for pid in waiting if not _is_over(pid)}
        time.sleep(0.02)
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for pid in waiting:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _is_over(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # waited for before
        return True


def take_over(children: Mapping[str, int], grace: float = GRACE) -> NoReturn:
    """Become `python -m annotation.keeper`, with the children (name -> pid) still ours. To be called in our folder."""
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, TOLD)  # until the keeper listens
    named = [f"{name}={pid}" for name, pid in children.items()]
    os.execv(sys.executable, [sys.executable, "-m", "annotation.keeper", str(grace), *named])


def ended(name: str, code: int) -> str:
    return f"The {name} ended by itself (exit code {code}), so everything was stopped."


def main(grace: str, *children: str) -> int:
    names = {int(pid): name for name, _, pid in (child.rpartition("=") for child in children)}
    try:
        listen()
        pid, status = os.wait()
    except Told:
        stop(names, float(grace))
        print("Stopped.")
        return 0
    stop(names, float(grace))
    print(ended(names[pid], os.waitstatus_to_exitcode(status)), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
