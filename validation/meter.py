"""The artefact meter of a study whose people write sentences under labels: read from columns, drawn as two pictures."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

from annotation import charts
from annotation.charts import Cell, Chart
from annotation.models import Study, Wording
from annotation.protocols import Protocol
from annotation.protocols.base import Stage
from validation import artefacts, figures

SHOWN, REPEATED = 12, 8  # words, and openings; things written about


class Claims(NamedTuple):
    """What was written, in the order it came: texts, their labels, and what each is about."""

    texts: Sequence[str]
    labels: Sequence[str]
    about: Sequence[str]


def stage_of(protocol: Protocol) -> Stage | None:
    """The stage where sentences are written; None where a study collects none."""
    return next((stage for stage in protocol.stages if stage.sentences), None)


def claims_of(study: Study) -> Claims:
    """Those that count, or may yet. One query, of columns alone."""
    stage = stage_of(study.protocol)
    if stage is None:
        return Claims((), (), ())
    query = Wording.objects.filter(study=study, stage=stage.name).order_by("pk")
    rows = _fetched(query.values_list("text", "label", "about"))
    return Claims(*zip(*rows, strict=True)) if rows else Claims((), (), ())


def _fetched(query: QuerySet[Any, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """All rows as the driver gives them: none of these columns needs converting."""
    sql, parameters = query.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def meter(study: Study) -> Chart:
    """Words and openings that give labels away, each with the share of its claims that carry the label."""
    claims = claims_of(study)
    found = artefacts.measure(artefacts.read(claims.texts), claims.labels)
    return chart_of(found, repeated_in(claims))


def repeated_in(claims: Claims) -> list[tuple[str, int]]:
    """What is written about more than once under one label, the most frequent first."""
    most: dict[str, int] = {}
    for (about, _), count in Counter(zip(claims.about, claims.labels, strict=True)).items():
        most[about] = max(count, most.get(about, 0))
    ordered = sorted(most.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(about, count) for about, count in ordered[:REPEATED] if about and count > 1]


def chart_of(found: artefacts.Meter, repeated: Sequence[tuple[str, int]]) -> Chart:
    groups = {"Words": found.words[:SHOWN], "Openings": found.openings[:SHOWN]}
    notes = [
        f"{sum(found.claims.values()):,} claims as written: "
        + (", ".join(f"{n:,} {label}" for label, n in sorted(found.claims.items())) or "none yet")
        + ".",
        f"Shown is what at least {artefacts.FEWEST} claims have and what points to a label with z above "
        f"{found.bound:.2f}: by chance that happens to one of a hundred studies.",
        "Lift is the label’s share among these claims, divided by its share among all.",
    ]
    if repeated:
        notes.append("Most often written about: " + ", ".join(f"{name} ({n:,})" for name, n in repeated) + ".")
    return figures.leads("artefacts", "What gives labels away", groups, tuple(notes))


def diversity(study: Study) -> Chart:
    """How new what is written still is, from the first claim to the last."""
    found = artefacts.diversity(artefacts.read(claims_of(study).texts))
    spans = [f"claims {s.first:,} to {s.first + s.claims - 1:,}" for s in found]
    new = [round(100 * s.new_openings / s.claims) for s in found]
    words = [round(s.words) for s in found]
    rows: list[tuple[Cell, ...]] = [
        (s.first, s.first + s.claims - 1, s.new_openings, n, w) for s, n, w in zip(found, new, words, strict=True)
    ]
    header = ("from claim", "to claim", "new openings", "new openings %", "distinct words per 1,000")
    series = {
        "New openings": ("% of claims", new),
        "Distinct words": ("among 1,000", words),
    }
    return charts.series("diversity", "Diversity while claims arrive", series, spans, header, rows)
