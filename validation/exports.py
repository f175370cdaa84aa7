"""Datasets as JSONL rows: gold with its provenance, and every annotation as it was given. Constant memory."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from annotation.intake import batched
from annotation.models import Annotation, Enrolment, Item, Study
from annotation.models.workers import running_code
from annotation.submission import UNCOUNTED
from validation.models import Resolution
from validation.releases import EVERYTHING, Wanted, maker, splits

Row = dict[str, Any]

CHUNK = 2_000
parse = json.JSONDecoder().raw_decode  # json.loads takes twice as long over small rows
write = json.JSONEncoder(ensure_ascii=False).encode


def resolutions(study: Study, *, keep_unresolved: bool = False) -> QuerySet[Resolution]:
    """Those whose gold is exported, in import order; bring labels in step before (`labelling.refresh`)."""
    kept = [Resolution.Outcome.SETTLED, *([Resolution.Outcome.UNRESOLVED] if keep_unresolved else [])]
    found = Resolution.objects.filter(study=study, outcome__in=kept).order_by("item_id")
    # Settled since labels were made: the next export has it.
    return found.exclude(outcome=Resolution.Outcome.SETTLED, label="") if study.protocol.labelling else found


def gold_rows(study: Study, *, keep_unresolved: bool = False, wanted: Wanted = EVERYTHING) -> Iterator[Row]:
    """The rows of every item that has gold, with the paper's keys. The database connection is busy until the last.

    wanted: which splits, where the protocol has any. Raises NoSplit, SharedAcrossSplits or WrongPair, before any row.
    """
    parts, rows = splits(study, wanted), maker(study, wanted)
    columns = resolutions(study, keep_unresolved=keep_unresolved).values_list("item", "item__payload", "gold")
    return (
        row
        for part in parts
        for pk, payload, gold in _json_columns(columns)
        for split, row in rows(pk, payload, gold)
        if split == part
    )


def full_gold_rows(study: Study, *, keep_unresolved: bool = False, wanted: Wanted = EVERYTHING) -> Iterator[Row]:
    """As gold_rows, with `provenance`: how each item came to its gold, and under what."""
    parts, rows = splits(study, wanted), maker(study, wanted)
    found = resolutions(study, keep_unresolved=keep_unresolved).select_related("item")
    return (
        row
        for part in parts
        for resolution, provenance in _with_provenance(study, found)
        for split, made in rows(resolution.item_id, resolution.item.payload, resolution.gold or {})
        if split == part
        for row in [{**made, "provenance": provenance}]
    )


def _with_provenance(study: Study, found: QuerySet[Resolution]) -> Iterator[tuple[Resolution, Row]]:
    codes = running_codes(study)
    under = {"protocol": study.protocol_slug, "version": study.protocol_version, "options": study.options}
    under |= {"rules": study.declared_hash, "rules_declared_at": _iso(study.declared_at)}
    for batch in batched(found.iterator(chunk_size=CHUNK), CHUNK):
        given: dict[int, list[Row]] = {resolution.item_id: [] for resolution in batch}
        for item_id, *values in leaving(study).filter(item__in=given).values_list("item_id", *COLUMNS):
            given[item_id].append(_annotation_row(values, codes))
        for resolution in batch:
            item = resolution.item
            how = {
                "state": item.state,
                "label": resolution.label,
                "why": resolution.why,
                "at": resolution.at.isoformat(),
            }
            yield resolution, {**how, **under, "annotations": given[item.pk]}


COLUMNS = (
    "item__ref",
    "worker_id",
    "stage",
    "answer",
    "submitted_at",
    "uncounted",
    "active_seconds",
    "assignment__sitting_id",
    "assignment__sitting__opened_at",
    "pk",
    "assignment__judges",
    "protocol_version",
    "consent",
)


def annotation_rows(study: Study) -> Iterator[Row]:
    """One row per annotation, in the order they were taken, so that importing them takes them in the same order."""
    codes = running_codes(study)
    values = leaving(study).values_list(*COLUMNS)
    rules = {"rules": study.declared_hash}
    return ({**_annotation_row(row, codes), **rules} for row in values.iterator(chunk_size=CHUNK))


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


# What never leaves: words whose writer withdrew, and answers that only test or train people.
KEPT_HERE = [Annotation.Why.WITHDRAWN, *UNCOUNTED.values()]


def leaving(study: Study) -> QuerySet[Annotation]:
    """What may leave the server, in the order taken. Fillers leave with the rest where labels follow from them."""
    kept_here = [why for why in KEPT_HERE if not (why == Annotation.Why.FILLER and study.protocol.labelling)]
    found = Annotation.objects.filter(study=study).exclude(uncounted__in=kept_here)
    # Of hidden items too: no label follows from what is unconfirmed.
    return found.exclude(~Q(item__role=Item.Role.WORK), uncounted=Annotation.Why.UNCONFIRMED).order_by("pk")


def count_annotations(study: Study) -> int:
    return leaving(study).count()


def _annotation_row(values: Iterable[Any], codes: Mapping[int, str]) -> Row:
    """The keys `import_annotations` takes, then what else is known. judges: ids of the annotations judged, A then B."""
    ref, worker, stage, answer, submitted_at, uncounted, seconds, sitting, opened_at, pk, judges, version, consent = (
        values
    )
    return {
        "item": ref,
        "worker": codes[worker],
        "stage": stage,
        "answer": answer,
        "submitted_at": submitted_at.isoformat(),
        "counted": not uncounted,
        "why": uncounted,
        "active_seconds": seconds,
        "sitting": sitting,
        "leased_at": opened_at.isoformat(),
        "id": pk,
        "judges": judges,
        "version": version,
        "consent": consent,
    }


def running_codes(study: Study) -> dict[int, str]:
    """Worker id -> the only name of theirs that leaves the server."""
    numbers = Enrolment.objects.filter(study=study).values_list("worker_id", "number")
    return {worker: running_code(number) for worker, number in numbers}


def write_lines(rows: Iterable[Row], out: Callable[[str], object], progress: Callable[[int], None]) -> int:
    """JSONL in handsome pieces to `out`; returns how many rows."""
    done = 0
    for batch in batched((write(row) + "\n" for row in rows), CHUNK):
        out("".join(batch))
        done += len(batch)
        progress(done)
    return done


def _json_columns(query: QuerySet[Any, tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Rows of JSON columns. PostgreSQL sends them by COPY and works ahead while we do: 1.0 s for 100,000 rows of gold,
    against 1.7 s through a server-side cursor; what is left is reading and writing JSON.
    """
    if connection.vendor != "postgresql":
        yield from query.iterator(chunk_size=CHUNK)
        return
    sql = connection.ops.compose_sql(*query.query.sql_with_params())  # type: ignore[attr-defined]  # PostgreSQL has it
    with connection.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT") as copy:
        copy.set_types(["text"] * len(query.query.values_select))
        for row in copy.rows():
            yield tuple([parse(text, 0)[0] for text in row])
