"""Preparing items: pairs by entity similarity with an index over values, and near duplicates of many questions."""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from random import Random

from annotation.preparing.single_hop import PROPERTIES, THRESHOLD, read_entities
from bench.report import table

ENTITIES, TRIPLES, RELATIONS = 100_000, 5_000, 25
QUESTIONS = 200_000
NAIVE = 50  # triples for which every entity is compared, to say what all would take

# Of each property: how many values there are, how many an entity has at most; drawn so that few values are very common.
VALUES = {
    "occupation": (500, 3),
    "sex": (2, 1),
    "place_of_birth": (20_000, 1),
    "educated_at": (5_000, 2),
    "notable_work": (150_000, 2),
    "field_of_work": (500, 1),
    "political_party": (200, 1),
    "award_received": (2_000, 5),
}


def measure() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _pairs(Path(folder))
        _near(Path(folder))


def _pairs(folder: Path) -> None:
    files = [folder / name for name in ("triples.jsonl", "entities.jsonl", "templates.jsonl")]
    _write(files[0], _triples())
    _write(files[1], _entities())
    _write(files[2], [{"relation": f"r{n}", "template": "When did {x} meet {y}?"} for n in range(RELATIONS)])
    seconds, memory, said = _run("synqa2-single", *map(str, files), "--out", str(folder / "pairs"))
    with files[1].open() as file:
        rows = [(number, json.loads(line)) for number, line in enumerate(file, 1)]
    values = read_entities(rows, lambda *_, **__: None)[1]
    began = time.perf_counter()
    for place in range(NAIVE):
        max(len(values[place] & other) for other in values if other is not values[place])
    naive = (time.perf_counter() - began) / NAIVE * TRIPLES
    found = [
        [
            "index over values, a whole `manage.py` command",
            f"{seconds:.1f}",
            f"{memory:.0f}",
            f"{said['entity_pairs_compared']:,}",
        ],
        [f"every entity, from {NAIVE} triples", f"{naive:.0f}", "", f"{said['without_index']:,}"],
    ]
    title = f"Most similar entities (at least {THRESHOLD} of {len(PROPERTIES)} properties' values): {ENTITIES:,} entities, {TRIPLES:,} triples, {said['items']:,} pairs"
    table(title, ["compared with", "seconds", "peak memory MB", "pairs compared"], found)


def _near(folder: Path) -> None:
    file = folder / "questions.jsonl"
    _write(file, _questions())
    seconds, memory, said = _run("near-duplicates", str(file), "--split-field", "split", "--out", str(folder / "near"))
    rows = [["`manage.py prepare near-duplicates`", f"{seconds:.1f}", f"{memory:.0f}", f"{said['items']:,}"]]
    table(
        f"Near duplicates of {QUESTIONS:,} questions in three splits",
        ["step", "seconds", "peak memory MB", "found"],
        rows,
    )


def _run(*arguments: str) -> tuple[float, float, dict]:
    """Seconds, peak memory in MB, and what was printed by a command in a process of its own."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "manage.py", "prepare", *arguments], stdout=subprocess.PIPE)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, arguments
    return time.perf_counter() - began, usage.ru_maxrss / 1024, json.loads(said)


def _write(path: Path, rows) -> None:
    with path.open("w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def _entities():
    rng = Random(1)
    weights = {name: list(accumulate(1 / (n + 1) for n in range(count))) for name, (count, _) in VALUES.items()}
    for n in range(ENTITIES):
        row = {"entity": f"Entity {n}"}
        for name, (count, most) in VALUES.items():
            drawn = rng.choices(
                range(count), cum_weights=weights[name], k=rng.randint(name in ("occupation", "sex"), most)
            )
            row[name] = [f"{name} {value}" for value in drawn]
        yield row


def _triples():
    rng = Random(2)
    for n in range(TRIPLES):
        yield {"relation": f"r{n % RELATIONS}", "x": f"Entity {rng.randrange(ENTITIES)}", "y": f"Thing {n}"}


def _questions():
    """Sentences of words with common beginnings; one in fifty is an earlier one with a word changed."""
    rng, asked = Random(3), []
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(8_000)]
    starts = ["Why do", "Why does", "How does", "What is", "How come"]
    for n in range(QUESTIONS):
        if asked and rng.random() < 0.02:
            question = list(rng.choice(asked))
            question[rng.randrange(len(question))] = rng.choice(words)
        else:
            question = [rng.choice(starts), *(words[int(8_000 * rng.random() ** 3)] for _ in range(rng.randint(5, 18)))]
        asked.append(question)
        yield {
            "id": f"q{n}",
            "question": " ".join(question),
            "split": rng.choices(["train", "dev", "test"], (8, 1, 1))[0],
        }
