"""A small study of NOPE's kind for tests: items in two versions, fillers, and ratings as a file has them."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.elsewhere import import_annotations
from annotation.intake import Counts, create_study, import_items
from annotation.models import Study
from annotation.protocols.slider import Scale
from tests.factories import LONG_AGO

SCALE = Scale()
BY = {"by": "test", "at": LONG_AGO}
# Positions: certain, likely, open, impossible.
CERTAIN, LIKELY, OPEN, IMPOSSIBLE = 1000, 900, 500, 0


def make_slider_study(slug: str = "nope", **options: object) -> Study:
    return create_study(slug, "nope", options=options, **BY)  # type: ignore[arg-type]


def pair_rows(
    count: int, *, trigger: str = "clefts", adversarial: bool = False, prefix: str = "p"
) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{prefix}{n}-{version}",
            "item": f"{prefix}{n}",
            "version": version,
            "premise": f"Text {n}, {version}.",
            "hypothesis": f"Statement {n}.",
            "trigger_type": trigger,
            "polarity": "negated" if version == "negated" else "non-negated",
            "adversarial": adversarial,
        }
        for n in range(1, count + 1)
        for version in ("original", "negated")
    ]


def make_pairs(study: Study, count: int, **kinds: Any) -> None:
    import_items(study, pair_rows(count, **kinds), **BY)  # type: ignore[arg-type]


FILLERS = ("entailment", "neutral", "contradiction")


def make_fillers(study: Study, each: int = 2) -> None:
    """f-entailment-1, ...: so many of each class."""
    rows = [
        {"id": f"f-{name}-{n}", "premise": "P.", "hypothesis": "H.", "expected": name}
        for name in FILLERS
        for n in range(1, each + 1)
    ]
    import_items(study, rows, role="filler", **BY)  # type: ignore[arg-type]


def ratings(given: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    """worker -> item -> position; rows as `import_annotations` takes them, with the rating as published."""
    return [
        {"item": item, "worker": worker, "stage": "rate", "answer": {"rating": SCALE.rating(position)}}
        for worker, rated in given.items()
        for item, position in rated.items()
    ]


def rate(study: Study, rows: Iterable[Mapping[str, Any]]) -> Counts:
    return import_annotations(study, rows, **BY)  # type: ignore[arg-type]


CAREFUL = {
    "f-entailment-1": 990,
    "f-entailment-2": 980,
    "f-neutral-1": 600,
    "f-neutral-2": 400,
    "f-contradiction-1": 10,
    "f-contradiction-2": 20,
}
CARELESS = {
    "f-entailment-1": 300,
    "f-entailment-2": 980,
    "f-neutral-1": 600,
    "f-neutral-2": 400,
    "f-contradiction-1": 700,
    "f-contradiction-2": 20,
}
