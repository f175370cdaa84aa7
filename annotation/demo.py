"""What `make demo` shows: studies of real pairs, of which a simulated crowd has done a part over the last days."""

import json
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User

from annotation import simulation, way_in
from annotation.intake import create_study, import_items
from annotation.models import Study

BY = "demo"
DATA = settings.BASE_DIR / "data"
DAYS = 6
NAME = "researcher"
CONSENT = """This is a demonstration. A real study says here who asks, what the answers are for, and who will see them.

Your answers are kept under a code, not under your name, and may be published under that code.

You can stop at any time, and take your consent back on the page “Your work”: then your answers are used no more."""
SLOPPY = simulation.Habit(0.6, pace=0.6)
INATTENTIVE = simulation.Habit(0.15, pace=0.3)
CHEATING = simulation.Habit(0.5, pace=0.15, repeats=True)
Progress = Callable[[int], None]


def load(password_file: Path, *, at: datetime, progress: Callable[[str], None]) -> None:
    """Make the researcher and the studies, unless they are there."""
    researcher = _researcher(password_file)
    if not Study.objects.filter(slug="crepe").exists():
        progress("Loading 181 question/comment pairs with known gold, and a crowd that does most of them")
        study = _study("crepe", "CREPE: pairs with known gold", at)
        for name in ("crepe_pairs.jsonl", "truthfulqa_gold160.jsonl"):
            _import(study, name, at)
        study.enrolment_open = True
        study.save(update_fields=["enrolment_open"])
        study.team.add(researcher)
        _crowd(study, workers=12, accuracy=0.85, annotations=330, at=at)
    if not Study.objects.filter(slug="truthfulqa").exists():
        progress("Loading 790 unlabelled pairs, and a crowd that has begun")
        study = _study("truthfulqa", "TruthfulQA: 790 unlabelled pairs", at)
        _import(study, "truthfulqa_pairs.jsonl", at)
        study.team.add(researcher)
        _crowd(study, workers=10, accuracy=0.8, annotations=420, at=at)
    if not Study.objects.filter(slug="crowd").exists():
        progress("Loading 160 pairs once more, with good, sloppy and cheating people to tell apart")
        _watched_crowd(researcher, at)
    if not Study.objects.filter(slug="creak").exists():
        progress("Loading 40 sets of entities, and people who write claims about them, review and flip them")
        _writers(researcher, at)
    if not Study.objects.filter(slug="nope").exists():
        progress("Loading 64 sentence pairs with a slider, and raters of whom two do not look")
        _raters(researcher, at)
    for slug, (title, name, said, options, accuracy, annotations) in RATED.items():
        if not Study.objects.filter(slug=slug).exists():
            progress(said)
            study = _study(slug, title, at, slug, **options)
            _import(study, name, at)
            study.enrolment_open = True
            study.save(update_fields=["enrolment_open"])
            study.team.add(researcher)
            _crowd(study, workers=6, accuracy=accuracy, annotations=annotations, at=at)


# Studies whose crowd has done most, by the protocol's name: title, items, what is said, settings, how
# often its people are right, annotations.
RATED: dict[str, tuple[str, str, str, dict[str, Any], float, int]] = {
    "synqa2": (
        "Syn-(QA)2: which pairs stay?",
        "synqa2_pairs.jsonl",
        "Loading 53 pairs of questions to verify, and a crowd that differs on some",
        {},
        0.6,
        105,
    ),
    "acceptability": (
        "Acceptability: two systems, right and wrong assumptions",
        "acceptability_answers.jsonl",
        "Loading 80 answers of two systems, and two raters for most of them",
        {},
        0.85,
        140,
    ),
    "rubric": (
        "Rubric: which output corrects best?",
        "rubric_outputs.jsonl",
        "Loading 23 items with outputs of four or five systems, and raters with a rubric",
        {},
        0.85,
        38,
    ),
}


def _raters(researcher: User, at: datetime) -> None:
    """A study of NOPE's kind: everybody draws their own line, two are inattentive. So few items allow larger shares."""
    options: dict[str, Any] = {"items_per_sitting": 10, "max_share": 0.5, "pay_per_sitting": 2.5}
    study = _study("nope", "NOPE: how likely is it?", at, "nope", **options)
    _import(study, "nope_pairs.jsonl", at)
    for role, name in (("filler", "fillers"), ("practice", "practice"), ("qualification", "prescreener")):
        _import(study, f"nope_{name}.jsonl", at, role=role)
    way_in.set_consent(study, CONSENT, by=BY, at=at - timedelta(days=DAYS))
    study.enrolment_open = True
    study.save(update_fields=["enrolment_open"])
    study.team.add(researcher)
    simulation.simulate(
        study,
        workers=14,
        accuracy=0.95,
        habits={6: INATTENTIVE, 13: INATTENTIVE},
        seed=3,
        limit=450,
        clock=partial(_moment, at - timedelta(days=DAYS - 1), timedelta(minutes=15), 0),
    )


def _writers(researcher: User, at: datetime) -> None:
    """A study of CREAK's kind: most sets have claims, most of these are reviewed, and some are judged and flipped."""
    options: dict[str, Any] = {"items_per_sitting": 2, "max_share": 0.4, "relabel_share": 0.3, "contrast_share": 0.3}
    study = _study("creak", "CREAK: one true, one false", at, "creak", **options)
    _import(study, "creak_sets.jsonl", at)
    study.enrolment_open = True
    study.save(update_fields=["enrolment_open"])
    study.team.add(researcher)
    began, pace, done = at - timedelta(days=DAYS - 1), timedelta(minutes=80), 0
    later = [stage.name for stage in study.protocol.stages[1:]]
    for stages, until in ((["write"], 24), (later, 78), (["write"], 82)):
        clock = partial(_moment, began, pace, done)
        done += simulation.simulate(
            study, workers=12, accuracy=0.9, seed=4, stages=stages, limit=until - done, clock=clock
        )


def _watched_crowd(researcher: User, at: datetime) -> None:
    """A study with hidden gold and CREPE's rule of removal: seven work well, two are sloppy, and one cheats."""
    options: dict[str, Any] = {"items_per_sitting": 5, "gold_rate": 0.2, "pay_per_sitting": 1.3}
    study = _study("crowd", "CREPE: whom to trust", at, **options)
    rows = [json.loads(line) for line in (DATA / "truthfulqa_gold160.jsonl").read_text().splitlines()]
    for role, some in (("work", rows[:120]), ("gold", rows[120:])):
        import_items(study, some, role=role, by=BY, at=at - timedelta(days=DAYS))
    for role, name in (("practice", "crepe_practice.jsonl"), ("qualification", "crepe_qualification20.jsonl")):
        _import(study, name, at, role=role)
    way_in.set_consent(study, CONSENT, by=BY, at=at - timedelta(days=DAYS))
    study.enrolment_open = True
    study.save(update_fields=["enrolment_open"])
    study.team.add(researcher)
    careful = simulation.Habit(0.98)
    habits = dict.fromkeys(range(1, 8), careful) | {8: SLOPPY, 9: SLOPPY, 10: CHEATING}
    began = at - timedelta(days=DAYS - 1)
    for workers, stage in ((10, "generate"), (7, "validate")):
        began += timedelta(days=1)
        simulation.simulate(
            study,
            workers=workers,
            accuracy=1,
            habits=habits,
            seed=1,
            stages=[stage],
            clock=partial(_moment, began, timedelta(minutes=12), 0),
        )


def _researcher(password_file: Path) -> User:
    """The log-in; its password is made once and kept beside the database."""
    if not password_file.exists():
        password_file.touch(mode=0o600)
        password_file.write_text(secrets.token_urlsafe(9))
    user, _ = User.objects.get_or_create(username=NAME, defaults={"email": f"{NAME}@example.org"})
    user.set_password(password_file.read_text())
    user.save()
    user.groups.add(*(Group.objects.get_or_create(name=name)[0] for name in ("researcher", "spender")))
    return user


def _study(slug: str, title: str, at: datetime, protocol: str = "crepe", **options: object) -> Study:
    return create_study(slug, protocol, title=title, options=options, by=BY, at=at - timedelta(days=DAYS))


def _import(study: Study, name: str, at: datetime, *, role: str = "work") -> None:
    with (DATA / name).open("rb") as file:
        import_items(study, file, role=role, by=BY, at=at - timedelta(days=DAYS))


def _crowd(study: Study, *, workers: int, accuracy: float, annotations: int, at: datetime) -> None:
    """Spread the work evenly over the days, so that the pictures have something to show.

    In the end only the first stage is worked at, so that something is left to validate.
    """
    began, span = at - timedelta(days=DAYS) + timedelta(hours=2), timedelta(days=DAYS) - timedelta(hours=3)
    first = study.protocol.stages[0].name
    done = 0
    for stages, until in (([], 0.8 * annotations), ([first], annotations)):
        done += simulation.simulate(
            study,
            workers=workers,
            accuracy=accuracy,
            seed=7,
            stages=stages,
            limit=round(until) - done,
            clock=partial(_moment, began, span / annotations, done),
        )


def _moment(began: datetime, pace: timedelta, before: int, written: int) -> datetime:
    return began + pace * (before + written)
