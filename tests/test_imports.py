"""The import map: hits -> validation -> annotation -> annotation.protocols; marketplace stands alone."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("annotation", "annotation.protocols", "config", "hits", "marketplace", "validation")

# Every arrow there is. An app may point down only; a new arrow is drawn here by whoever means it.
MAP = """
annotation            -> annotation.protocols
annotation.protocols  ->
config                -> annotation
hits                  -> annotation, annotation.protocols, validation
marketplace           ->
validation            -> annotation, annotation.protocols
"""
DOWN = {
    "annotation.protocols": set(),
    "annotation": {"annotation.protocols"},
    "validation": {"annotation", "annotation.protocols"},
    "hits": {"annotation", "annotation.protocols", "validation"},
    "marketplace": set(),
    "config": {"annotation", "validation", "hits", "marketplace"},
}
PURE = (
    "annotation/protocols/*.py",
    "validation/agreement.py",
    "validation/calibration.py",
    "validation/ratings.py",
    *(f"validation/scoring/{name}.py" for name in ("assumptions", "bootstrap", "detection", "writing")),
)


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports, anywhere in it, as a dotted name."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports hide where arrows point"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package(module: str) -> str:
    """The innermost of PACKAGES a module is in, or ""."""
    inside = [name for name in PACKAGES if f"{module}.".startswith(f"{name}.")]
    return max(inside, key=len, default="")


def arrows() -> dict[str, dict[str, list[str]]]:
    """package -> package it imports -> the files that do."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in PACKAGES}
    for path in sorted(file for name in PACKAGES if "." not in name for file in (ROOT / name).rglob("*.py")):
        here = path.relative_to(ROOT)
        source = package(".".join(here.with_suffix("").parts))
        for target in {package(module) for module in imports(path)} - {source, ""}:
            found[source].setdefault(target, []).append(str(here))
    return found


def test_every_arrow_is_drawn_on_the_map():
    drawn = "\n".join(f"{source:21} -> {', '.join(sorted(to))}".rstrip() for source, to in arrows().items())
    assert drawn == MAP.strip()


def test_no_arrow_points_up():
    wrong = {
        f"{source} -> {target}": files
        for source, targets in arrows().items()
        for target, files in targets.items()
        if target not in DOWN[source]
    }
    assert wrong == {}


@pytest.mark.parametrize("path", [str(p.relative_to(ROOT)) for pattern in PURE for p in sorted(ROOT.glob(pattern))])
def test_what_a_paper_defines_is_pure_python(path):
    allowed = {"numpy", "sacrebleu"} if path.startswith("validation") else set()
    pure = ("annotation.protocols", "validation.agreement", "validation.scoring.")
    foreign = {m for m in imports(ROOT / path) if not m.startswith(pure)}
    assert {m for m in foreign if m.split(".")[0] not in allowed | sys.stdlib_module_names} == set()
