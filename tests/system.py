"""The programs from outside Python that tests need: where they are, and how they come here."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """Something to find under one of its `names`, and the distribution's packages that bring it."""

    packages: tuple[str, ...]
    names: tuple[str, ...]
    folders: str = ""  # a pattern of folders outside PATH

    def __str__(self) -> str:
        return self.packages[0]

    def find(self) -> str | None:
        """The path of the first name that is there; the newest version where a folder holds several."""
        beyond = os.pathsep.join(sorted(map(str, Path("/").glob(self.folders)), reverse=True)) if self.folders else ""
        found = (shutil.which(name, path=path) for name in self.names for path in (None, beyond))
        return next(filter(None, found), None)


POSTGRES = Program(("postgresql",), ("postgres",), folders="usr/lib/postgresql/*/bin")
REDIS = Program(("redis-server",), ("redis-server",))
CHROMIUM = Program(("chromium", "fonts-liberation"), ("chromium", "chromium-browser", "google-chrome"))


def install_missing() -> Iterator[Program]:
    """Let root on Debian or Ubuntu install what is missing; yields what is still missing after that."""
    missing = [program for program in (POSTGRES, REDIS, CHROMIUM) if not program.find()]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        _apt("update")
        for program in missing:  # one by one: a distribution without one of them still gives the others
            print(f"Installing {program} ...", flush=True)
            _apt("install", "--yes", "--no-install-recommends", *program.packages)
    yield from (program for program in missing if not program.find())


def _apt(*arguments: str) -> None:
    """Unattended, waiting for another apt to end, starting none of the services; silent unless it fails."""
    command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        print(run.stdout, run.stderr, flush=True)


def needed(program: Program) -> str:
    """What to tell a person who lacks it."""
    packages = " ".join(program.packages)
    return f"{program} is needed: install it ({packages} on Debian or Ubuntu), or let `make test` do so as root"
