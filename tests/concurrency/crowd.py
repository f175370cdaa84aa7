"""Real threads with their own connections, started at the same moment."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

T = TypeVar("T")
R = TypeVar("R")


def at_once(jobs: Iterable[T], do: Callable[[T], R]) -> list[R | Exception]:
    """Run `do` for every job in a thread of its own, all released together; a raised exception is its result."""
    jobs = list(jobs)
    barrier = Barrier(len(jobs))

    def run(job: T) -> R | Exception:
        try:
            barrier.wait(timeout=30)
            return do(job)
        except Exception as error:  # handed to the test, which compares it
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))
