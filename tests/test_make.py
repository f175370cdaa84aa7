"""What is promised about the repository as a whole: its commands, locks, licence, and that it names no place."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IGNORED = {".git", ".venv", "var", ".env", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
# A developer's or a machine's own folders, and the hosts of registries: each person has their own.
PLACES = re.compile(
    r"(?<![\w.>}-])/(work/(main|shared|\.library)|root|home/\w+|Users/\w+)/|pypi\.org|pythonhosted\.org|npmjs\."
)


def ours(folder: Path = ROOT) -> Iterator[Path]:
    """Every file of the project, as a fresh clone has them."""
    for path in folder.iterdir():
        if path.name not in IGNORED:
            yield from ours(path) if path.is_dir() else [path]


def test_ci_runs_make_test_and_nothing_else():
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "exec make test"]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_with_hashes_and_nothing_says_where_from(name):
    text = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    pinned = re.compile(r"[\w.-]+(\[[\w,-]+\])?==[\w.+!]+( ; [^\\]+)? \\\n    --hash=sha256:[0-9a-f]{64}")
    assert [entry for entry in entries if not pinned.match(entry)] == []
    assert re.findall(r"--(?:extra-)?index-url|--find-links|://", text) == []


def test_development_installs_the_versions_that_production_runs():
    def versions(name: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+(?:\[.*\])?==\S+)", (ROOT / name).read_text(), re.MULTILINE))

    assert versions("requirements.txt") - versions("requirements-dev.txt") == set()


def test_the_licence_is_gpl_3():
    text = (ROOT / "LICENSE").read_text()
    assert " ".join(text.split()[:9]) == "GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007"
    assert text.rstrip().endswith("<https://www.gnu.org/licenses/why-not-lgpl.html>.")


def test_no_file_names_a_place_of_one_machine():
    named = []
    for path in ours():
        text = path.read_bytes().decode("utf-8", "replace")
        named += [f"{path.relative_to(ROOT)}: {match.group()}" for match in PLACES.finditer(text)]
    assert named == []


def test_make_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    listed = re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE)
    assert set(listed) == set(re.search(r"\.PHONY: (.*)", text)[1].split())
