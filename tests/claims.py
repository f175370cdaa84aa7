"""CREAK's rows and answers for tests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from annotation import leasing, submission
from annotation.intake import create_study, import_items
from annotation.models import Annotation, Sitting, Study, Worker
from tests.factories import LONG_AGO, make_worker

STAGES = ("write", "review", "relabel", "contrast")
PLACES = ("Paris", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Kyoto", "Quito", "Accra", "Berne", "Dakar", "Hanoi")


def item(number: int, split: str = "train", **more: object) -> dict[str, Any]:
    """A row with two entities of its own, "Paris 1" and "Marlboro 1 (cigarette)"."""
    entities = [
        {"entity": f"Paris {number}", "en_wiki_pageid": 100 + number, "description": "A city", "keywords": ["Seine"]},
        {"entity": f"Marlboro {number} (cigarette)", "en_wiki_pageid": str(500 + number)},
    ]
    return {"id": f"c{number}", "split": split, "entities": entities, **more}


def make_claim_study(slug: str = "creak", splits: Sequence[str] = ("train",) * 6, **options: object) -> Study:
    """Items c1, c2, ... in these splits; without a limit for one person, unless an option sets it."""
    given = {"max_share": 0, "items_per_sitting": 1, **options}
    study = create_study(slug, "creak", title="Claims", options=given, by="test", at=LONG_AGO)
    import_items(study, [item(n, split) for n, split in enumerate(splits, 1)], by="test", at=LONG_AGO)
    return study


def claim(text: str, certainty: str = "definitely", **more: str) -> dict[str, str]:
    return {"claim": text, "explanation": f"Because of this: {text}", "certainty": certainty, **more}


def written(number: int, true: str = "", false: str = "") -> dict[str, Any]:
    """An answer about the first entity of item `number`, with claims of its own."""
    name = f"Paris {number}"
    true, false = true or f"{name} lies on a river.", false or f"Snow covers {name} in every summer month."
    return {"entity": name, "true": claim(true), "false": claim(false, "maybe")}


KEEP = {"decision": "keep"}


def reviewed(true: Mapping[str, str] = KEEP, false: Mapping[str, str] = KEEP) -> dict[str, Any]:
    return {"true": dict(true), "false": dict(false)}


def make_claim_worker(study: Study, code: str, stages: Sequence[str] = STAGES) -> Worker:
    return make_worker(study, code, stages=stages)


def take(study: Study, worker: Worker, stage: str = "write", at: datetime = LONG_AGO) -> Sitting:
    return leasing.lease(worker, study, stage, at=at)[0]


def hand_in(sitting: Sitting, *answers: object, at: datetime = LONG_AGO) -> list[Annotation]:
    pks = [assignment.pk for assignment in sitting.bundle]
    return submission.submit(sitting, dict(zip(pks, answers, strict=True)), at=at)


def refs(sitting: Sitting) -> list[str]:
    return [assignment.item.ref for assignment in sitting.bundle]


def write(study: Study, worker: Worker, at: datetime = LONG_AGO) -> Sitting:
    """A sitting of claims, each item's own."""
    sitting = take(study, worker, at=at)
    hand_in(sitting, *(written(int(ref[1:])) for ref in refs(sitting)), at=at)
    return sitting
