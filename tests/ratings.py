"""Small studies for tests of pairs to verify, answers to rate, and outputs to rate on a rubric."""

from typing import Any

from annotation import submission
from annotation.intake import create_study, import_items
from annotation.models import Annotation, Study
from tests.factories import LONG_AGO, make_sitting, make_worker

BY: dict[str, Any] = {"by": "test", "at": LONG_AGO}
SYSTEMS = ("reference", "model-x", "model-y")
CRITERIA = "fluency: 0=not fluent, 3=fluent; detail: 1=little, 2=much"


def make_pairs_study(count: int = 3, **options: object) -> Study:
    study = create_study("synqa2", "synqa2", options=options, **BY)
    rows = [
        {
            "id": f"p{n}",
            "kind": "single_hop",
            "relation": "founded_by",
            "x": f"Ada {n}",
            "replacement": f"Bob {n}",
            "y": "Acme",
            "question_without": f"When did Ada {n} found Acme?",
            "question_with": f"When did Bob {n} found Acme?",
        }
        for n in range(1, count + 1)
    ]
    import_items(study, rows, **BY)
    return study


def make_answers_study(count: int = 3, **options: object) -> Study:
    study = create_study("acceptability", "acceptability", options=options, **BY)
    rows = [
        {
            "id": f"a{n}",
            "question": f"When was it, {n}?",
            "answer": f"Never, {n}.",
            "system": "secret-model" if n % 2 else "other-model",
            "has_false_assumption": n > count / 2,
        }
        for n in range(1, count + 1)
    ]
    import_items(study, rows, **BY)
    return study


def make_outputs_study(count: int = 2, **options: object) -> Study:
    study = create_study("rubric", "rubric", options={"criteria": CRITERIA, **options}, **BY)
    rows = [
        {
            "id": f"o{n}",
            "question": f"Why is it so, {n}?",
            "comment": f"It is not so, {n}.",
            "outputs": [
                {"system": system, "presupposition": f"Thing {k} is so.", "correction": f"Thing {k} is not."}
                for k, system in enumerate(SYSTEMS, 1)
            ],
        }
        for n in range(1, count + 1)
    ]
    import_items(study, rows, **BY)
    return study


def give(study: Study, code: str, *answers: object) -> list[Annotation]:
    """`code` takes a sitting of the only stage and gives these answers, in the items' order."""
    stage = study.protocol.stages[0].name
    sitting = make_sitting(study, stage=stage, worker=make_worker(study, code, stages=(stage,)))
    rows = sitting.assignments.order_by("item")
    return submission.submit(sitting, dict(zip([a.pk for a in rows], answers, strict=True)), at=LONG_AGO)


def scores(**by_system: int) -> dict[str, Any]:
    """Fluency by system (hyphens as underscores); detail is 1."""
    return {"scores": {s: {"fluency": by_system.get(s.replace("-", "_"), 3), "detail": 1} for s in SYSTEMS}}
