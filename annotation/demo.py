"""What `make demo` shows: two studies of real pairs, of which a simulated crowd has done a part over the last days."""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group, User

from annotation import simulation
from annotation.intake import create_study, import_items
from annotation.models import Study

BY = "demo"
DATA = settings.BASE_DIR / "data"
DAYS = 6
NAME = "researcher"
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


def _researcher(password_file: Path) -> User:
    """The log-in; its password is made once and kept beside the database."""
    if not password_file.exists():
        password_file.touch(mode=0o600)
        password_file.write_text(secrets.token_urlsafe(9))
    user, _ = User.objects.get_or_create(username=NAME, defaults={"email": f"{NAME}@example.org"})
    user.set_password(password_file.read_text())
    user.save()
    user.groups.add(Group.objects.get_or_create(name="researcher")[0])
    return user


def _study(slug: str, title: str, at: datetime) -> Study:
    return create_study(slug, "crepe", title=title, options={}, by=BY, at=at - timedelta(days=DAYS))


def _import(study: Study, name: str, at: datetime) -> None:
    with (DATA / name).open("rb") as file:
        import_items(study, file, by=BY, at=at - timedelta(days=DAYS))


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
