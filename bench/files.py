"""Rows in and rows out, beside PostgreSQL's own COPY of the same rows, with the memory each step takes."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from django.db import connection

from bench.report import table

ITEMS, ANNOTATIONS = 100_000, 20_000


def measure() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        items, out = Path(folder, "items.jsonl"), Path(folder, "out.jsonl")
        _write_items(items)
        manage("create_study", "files", "--protocol", "crepe")
        rows.append(_row(f"import {ITEMS:,} items", lambda: manage("import_items", "files", str(items)), _copy_in(out)))
        _settle_all("files")
        gold = _copy_out("SELECT gold FROM validation_resolution", out)
        rows.append(
            _row(f"export {ITEMS:,} gold rows", lambda: manage("export_gold", "files", "--out", str(out)), gold)
        )
        answers = _copy_out("SELECT answer FROM annotation_annotation", out)
        export = ["export_annotations", "files", "--out", str(out)]
        rows.append(_row(f"export {ANNOTATIONS:,} annotations", lambda: manage(*export), answers))
    empty = _seconds(lambda: manage("check"))[0]
    rows.append(["a command that does nothing (start of Python and Django)", f"{empty:.2f}", "", "", ""])
    heads = ["step (a whole `manage.py` command)", "seconds", "peak memory MB", "COPY seconds", "ratio"]
    table("Files", heads, rows)


def manage(*arguments: str) -> float:
    """Run a command in a process of its own; returns its peak memory in MB."""
    process = subprocess.Popen([sys.executable, "manage.py", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, arguments
    return usage.ru_maxrss / 1024


def _seconds(do: Callable[[], float]) -> tuple[float, float]:
    began = time.perf_counter()
    memory = do()
    return time.perf_counter() - began, memory


def _row(name: str, do: Callable[[], float], copy_seconds: float) -> list[str]:
    seconds, memory = _seconds(do)
    return [name, f"{seconds:.2f}", f"{memory:.0f}", f"{copy_seconds:.2f}", f"{seconds / copy_seconds:.1f}"]


def _write_items(path: Path) -> None:
    with path.open("w") as file:
        for n in range(ITEMS):
            comment = f"It is not blue at all. What number {n} shows is red, as everybody can see in daylight."
            row = {
                "id": f"q{n}",
                "question": f"Why is number {n} blue?",
                "comment": comment,
                "score": n,
                "tag": "bench",
            }
            file.write(json.dumps(row) + "\n")


def _copy_in(path: Path) -> float:
    """Seconds for COPY of the same payloads into a bare table with one unique index."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS copy_in; CREATE TABLE copy_in (ref text PRIMARY KEY, payload jsonb)")
        rows = [
            (f"q{n}", json.dumps({"id": f"q{n}", "question": "Why?" * 5, "comment": "x" * 90})) for n in range(ITEMS)
        ]
        began = time.perf_counter()
        with cursor.copy("COPY copy_in (ref, payload) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return time.perf_counter() - began


def _copy_out(query: str, path: Path) -> float:
    began = time.perf_counter()
    with connection.cursor() as cursor, path.open("wb") as file, cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
        for data in copy:
            file.write(data)
    return time.perf_counter() - began


def _settle_all(slug: str) -> None:
    """Give every item two agreeing annotations (20,000 of them as rows) and its gold, without going through the crowd."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM annotation_study WHERE slug = %s", [slug])
        (study,) = cursor.fetchone()
        cursor.execute(SETTLE, {"study": study, "annotations": ANNOTATIONS})
        cursor.execute("ANALYZE")


SETTLE = """
UPDATE annotation_item SET state = 'settled', stage = '', votes_wanted = 0, open_seats = 0 WHERE study_id = %(study)s;
INSERT INTO validation_resolution (item_id, study_id, outcome, label, gold, why, at)
SELECT id, study_id, 'settled', 'false presupposition',
  '{"labels": ["false presupposition"], "presuppositions": ["Number is blue.", "The number is blue."],
    "corrections": ["Number is red.", "The number is red."], "raw_labels": ["false presupposition", "false presupposition"],
    "raw_presuppositions": ["Number is blue.", "The number is blue."],
    "raw_corrections": ["Number is red.", "The number is red."]}', 'Both generators gave the same label.', now()
FROM annotation_item WHERE study_id = %(study)s;
INSERT INTO annotation_worker (code, link_serial, created_at) VALUES ('files-1', 0, now()), ('files-2', 0, now());
INSERT INTO annotation_enrolment (study_id, worker_id, number, state, taken, note, created_at)
SELECT %(study)s, id, row_number() OVER (ORDER BY id), 'active', 0, '', now() FROM annotation_worker WHERE code IN ('files-1', 'files-2');
INSERT INTO annotation_sitting (study_id, worker_id, stage, purpose, state, leased_until, opened_at, closed_at)
SELECT %(study)s, id, 'generate', 'work', 'submitted', now(), now(), now() FROM annotation_worker WHERE code IN ('files-1', 'files-2');
WITH i AS (SELECT id FROM annotation_item WHERE study_id = %(study)s ORDER BY id LIMIT %(annotations)s / 2),
     s AS (SELECT id, worker_id, row_number() OVER (ORDER BY id) - 1 AS seat FROM annotation_sitting WHERE study_id = %(study)s),
     a AS (INSERT INTO annotation_assignment
             (sitting_id, item_id, worker_id, stage, role, attempt, seat, state, judges, active_seconds, draft_page, draft_edit,
              signs, closed_at)
           SELECT s.id, i.id, s.worker_id, 'generate', 'work', 0, s.seat, 'submitted', '[]', 30, '', 0, '{}', now() FROM i CROSS JOIN s
           RETURNING id, item_id, worker_id)
INSERT INTO annotation_annotation
  (study_id, item_id, worker_id, assignment_id, stage, answer, uncounted, judged, protocol_version, active_seconds,
   signs, submitted_at)
SELECT %(study)s, item_id, worker_id, id, 'generate',
  '{"label": "false presupposition", "reason": null,
    "pairs": [{"presupposition": "Number is blue.", "correction": "Number is red."}]}', '', false, 1, 30, '{}', now() FROM a
"""
