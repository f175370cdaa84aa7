"""What README.md says it takes to add a protocol is true: its diff applies, and what it brings works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import lacking

ROOT = Path(__file__).parents[1]
NEEDED = ("annotation", "config", "hits", "marketplace", "static", "templates", "tests", "validation")


@pytest.fixture
def copy(tmp_path):
    """The project without what it was built from, with the diff of the example applied."""
    for name in NEEDED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (found,) = re.findall(r"```diff\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    git = shutil.which("git") or lacking("needs git to apply a diff")
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    subprocess.run([git, "apply", "-"], cwd=tmp_path, input=found, text=True, check=True, env=outside)
    return tmp_path


def test_the_example_of_a_sixth_protocol_applies_and_passes_its_tests(copy):
    outer = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "VAR_DIR")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/annotation/protocols/test_stance.py",
        "tests/test_imports.py",
        "-q",
    ]
    ran = subprocess.run(command, cwd=copy, capture_output=True, text=True, env={**outer, "VAR_DIR": str(copy / "var")})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout
