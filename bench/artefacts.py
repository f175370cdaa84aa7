"""The artefact meter over 100,000 claims, on both databases; and a lease behind a long queue of another split."""

import json
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from itertools import pairwise
from random import Random

from django.db import connection
from django.utils import timezone

from annotation import leasing, qualification
from annotation.intake import create_study, import_items
from annotation.models import Annotation, Assignment, Item, Sitting, Study, Wording, Worker
from annotation.protocols.writing import digest
from bench.report import table
from validation import artefacts, meter

CLAIMS = 100_000
FOREIGN = 100_000  # items of another split before the first of the worker's own
RUNS = 5
VOCABULARY = 40_000  # words, used as Zipf has it; ten to a claim, as in CREAK


def measure() -> None:
    rows = [["PostgreSQL", *_seconds()], ["SQLite", *_on_sqlite()]]
    heads = ["database", "reading the columns", "words as numbers", "artefacts", "diversity", "in all"]
    table(f"Artefact meter over {CLAIMS:,} claims, seconds (median of {RUNS})", heads, rows)
    _lease()


def texts() -> list[str]:
    """Ten words each; one false claim in six has "never" in it."""
    rng = Random(1)
    words, weights = [f"w{n}" for n in range(VOCABULARY)], [1 / (n + 1) for n in range(VOCABULARY)]
    drawn = rng.choices(words, weights, k=10 * CLAIMS)
    return [f"{'Never ' if n % 12 == 1 else ''}{' '.join(drawn[10 * n : 10 * n + 10])}." for n in range(CLAIMS)]


def fill() -> Study:
    """A study whose claims are rows as people leave them, all in one annotation: the meter reads no others."""
    now = timezone.now()
    study = create_study("meter", "creak", title="Meter", options={}, by="bench", at=now)
    entities = [{"entity": name, "en_wiki_pageid": "1"} for name in ("Paris", "Rome")]
    import_items(study, [{"id": "c1", "split": "train", "entities": entities}], by="bench", at=now)
    worker = Worker.objects.create(code="meter", created_at=now)
    sitting = Sitting.objects.create(
        study=study, worker=worker, stage="write", state="submitted", leased_until=now, opened_at=now, closed_at=now
    )
    item = Item.objects.get(study=study)
    place = {"item": item, "worker": worker, "stage": "write"}
    seat = Assignment.objects.create(sitting=sitting, seat=0, state="submitted", closed_at=now, **place)
    annotation = Annotation.objects.create(
        study=study, assignment=seat, answer={}, protocol_version=1, submitted_at=now, **place
    )
    Wording.objects.bulk_create(
        (
            Wording(
                study=study,
                annotation=annotation,
                field=str(n),
                text=text,
                label="false" if n % 2 else "true",
                about="Paris",
                digest=digest(text),
                **place,
            )
            for n, text in enumerate(texts())
        ),
        batch_size=2_000,
    )
    return study


def timed(study: Study) -> list[list[float]]:
    """Seconds of each step, run by run, and of all."""
    runs = []
    for _ in range(RUNS):
        marks = [time.perf_counter()]
        claims = meter.claims_of(study)
        marks.append(time.perf_counter())
        corpus = artefacts.read(claims.texts)
        marks.append(time.perf_counter())
        found = artefacts.measure(corpus, claims.labels)
        marks.append(time.perf_counter())
        artefacts.diversity(corpus)
        marks.append(time.perf_counter())
        assert [a.feature for a in found.words] == ["never"], found.words[:3]
        runs.append([b - a for a, b in pairwise(marks)] + [marks[-1] - marks[0]])
    return runs


def _seconds() -> list[str]:
    study = fill()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE annotation_wording")
    return _medians(timed(study))


def _medians(runs: list[list[float]]) -> list[str]:
    return [f"{sorted(column)[RUNS // 2]:.2f}" for column in zip(*runs, strict=True)]


SQLITE = """
import django, json, os, sys
os.environ |= {"DATABASE_URL": "sqlite:///" + sys.argv[1], "SECRET_KEY": "bench-" + "x" * 50, "LOG_LEVEL": "WARNING"}
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.base"
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from bench import artefacts
print(json.dumps(artefacts.timed(artefacts.fill())))
"""


def _on_sqlite() -> list[str]:
    """In a process of its own: this one speaks to PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SQLITE, f"{folder}/meter.sqlite3"]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    return _medians(json.loads(said.stdout))


def _lease() -> None:
    """Of somebody bound to a split whose first item comes after all of another's."""
    now = timezone.now()
    study = create_study("parts", "creak", title="Parts", options={"items_per_sitting": 2}, by="bench", at=now)
    entities = [{"entity": name, "en_wiki_pageid": "1"} for name in ("Paris", "Rome")]
    splits = ["dev"] * FOREIGN + ["train"] * 2_000
    rows = ({"id": f"c{n}", "split": split, "entities": entities} for n, split in enumerate(splits))
    import_items(study, rows, by="bench", at=now)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE annotation_item")
    seconds: dict[str, list[float]] = {"dev": [], "train": []}
    for n in range(200):
        part = ("dev", "train")[n % 2]
        worker = qualification.add_worker(study, f"parts-{n}", ["write"], by="bench", at=now)
        study.enrolments.filter(worker=worker).update(part=part)
        began = time.perf_counter()
        sitting, _ = leasing.lease(worker, study, "write", at=now + timedelta(seconds=n))
        seconds[part].append(time.perf_counter() - began)
        assert {a.item.part for a in sitting.bundle} == {part}
    rows_ = [
        [f"{part}: {before}", f"{1000 * sorted(s)[len(s) // 2]:.1f}", f"{1000 * sorted(s)[int(0.99 * len(s))]:.1f}"]
        for (part, s), before in zip(seconds.items(), ("at the head", f"behind {FOREIGN:,}"), strict=True)
    ]
    table("Taking a sitting of two items in one's own split", ["whose items are", "median ms", "99% ms"], rows_)
