"""A crowd that does not exist: it leases and submits as people do, and answers as the protocol imagines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from random import Random

from annotation import wordings
from annotation.errors import LimitReached, NothingLeft, Refusal, Revoked
from annotation.leasing import lease
from annotation.models import Annotation, Assignment, Sitting, Study, Worker
from annotation.qualification import add_worker
from annotation.submission import submit

BY = "simulation"
TRIES = 5  # at a text that nobody has written before
MEDIAN_SECONDS, SPREAD = 40, 0.5  # of a lognormal: what one answer takes


class BadCrowd(Refusal):
    code, status = "bad_crowd", 422


@dataclass(frozen=True)
class Habit:
    """How somebody works. accuracy: how often their answer is the known one, 0 to 1. pace: times the usual seconds.

    repeats: they paste their own first answer to everything that follows.
    """

    accuracy: float
    pace: float = 1.0
    repeats: bool = False


@dataclass
class Person:
    worker: Worker
    rng: Random
    habit: Habit
    first: dict[str, dict[str, object]] = field(default_factory=dict)  # by stage, of those who repeat themselves


def simulate(
    study: Study,
    *,
    workers: int,
    accuracy: float,
    seed: int,
    clock: Callable[[int], datetime],
    stages: Sequence[str] = (),
    habits: Mapping[int, Habit] | None = None,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Let `workers` people annotate until nothing is left for them, or `limit` is reached.

    One person after the other, drawn from `seed`: equal studies get equal annotations from equal workers. The last
    sitting is finished, so a few more than `limit` may be written.
    accuracy: how often an answer is the item's known gold, 0 to 1; `habits` names those (from 1) who work otherwise.
    stages: all of the protocol's unless given.
    clock: annotations so far -> when the next sitting is submitted. Returns how many annotations were written.
    """
    if workers < 1 or not 0 <= accuracy <= 1:
        raise BadCrowd("A crowd has at least 1 worker, and an accuracy from 0 to 1.")
    rng, stages = Random(f"{seed}"), stages or [stage.name for stage in study.protocol.stages]
    awake = _crowd(study, workers, stages, seed, Habit(accuracy), habits or {}, at=clock(0))
    resting: list[Person] = []
    done = 0
    while awake and (limit is None or done < limit):
        person = awake[rng.randrange(len(awake))]
        written = _visit(person, study, rng.sample(stages, len(stages)), at=clock(done))
        if not written:
            awake.remove(person)
            resting.append(person)
            continue
        # What was written may have opened seats for everybody.
        awake, resting, done = awake + resting, [], done + written
        if progress:
            progress(done)
    return done


def _crowd(
    study: Study,
    workers: int,
    stages: Sequence[str],
    seed: int,
    usual: Habit,
    habits: Mapping[int, Habit],
    *,
    at: datetime,
) -> list[Person]:
    crowd = [
        Person(
            add_worker(study, f"{study.slug}-sim-{n}", stages, by=BY, at=at),
            Random(f"{seed} {n}"),
            habits.get(n, usual),
        )
        for n in range(1, workers + 1)
    ]
    if study.consent_version:
        enrolled = study.enrolments.filter(worker__in=[person.worker for person in crowd], consent=None)
        enrolled.update(consent=study.consent_version, consented_at=at)
    return crowd


def _visit(person: Person, study: Study, stages: Sequence[str], *, at: datetime) -> int:
    """One sitting in the first of `stages` that has something, submitted at `at`; returns how many answers."""
    pace = person.habit.pace * MEDIAN_SECONDS
    seconds = [round(person.rng.lognormvariate(0, SPREAD) * pace) for _ in range(_size(study))]
    leased_at = at - timedelta(seconds=sum(seconds))
    for stage in stages:
        try:
            sitting, _ = lease(person.worker, study, stage, at=leased_at)
        except (NothingLeft, LimitReached, Revoked):
            continue
        return _work(person, sitting, seconds, leased_at, at=at)
    return 0


def _size(study: Study) -> int:
    """Items of work and hidden ones in a sitting, at most."""
    options = study.options
    hidden = int(options.get("fillers_per_sitting", 0)) + ceil(
        options.get("gold_rate", 0) * options["items_per_sitting"]
    )
    return int(options["items_per_sitting"]) + hidden


def _work(person: Person, sitting: Sitting, seconds: Sequence[int], leased_at: datetime, *, at: datetime) -> int:
    """Open one item after the other, answer them all, submit."""
    assignments = sitting.bundle
    stage = sitting.study.protocol.stage(sitting.stage)
    opened_at, answers, thought = leased_at, {}, _think(person, sitting)
    for assignment, active in zip(assignments, seconds, strict=False):
        assignment.first_opened_at, assignment.active_seconds = opened_at, active
        opened_at += timedelta(seconds=active)
        answer = thought[assignment.pk]
        written = sum(len(text) for text in stage.texts(answer))
        if written and sitting.study.options.get("signs") == "on":
            assignment.signs = (
                {"pasted": written, "typed": 0} if person.habit.repeats else {"pasted": 0, "typed": written}
            )
        answers[assignment.pk] = answer
    Assignment.objects.bulk_update(assignments, ["first_opened_at", "active_seconds", "signs"])
    return len(submit(sitting, answers, at=at))


def _think(person: Person, sitting: Sitting) -> dict[int, dict[str, object]]:
    """An answer for each assignment, by its id; where the study has a text already, another one."""
    stage = sitting.study.protocol.stage(sitting.stage)
    answers = {assignment.pk: _answer(person, assignment) for assignment in sitting.bundle}
    for _ in range(TRIES if stage.sentences else 0):
        given = {a.pk: (a.item_id, wordings.sentences_of(stage, answers[a.pk])) for a in sitting.bundle}
        repeated = wordings.repeated(sitting.study, given)
        if not repeated:
            break
        answers |= {a.pk: _answer(person, a) for a in sitting.bundle if a.pk in repeated}
    return answers


def _answer(person: Person, assignment: Assignment) -> dict[str, object]:
    item, judged = assignment.item, Annotation.objects.in_bulk(assignment.judges)
    shown = [judged[pk].answer for pk in assignment.judges]
    imagine = item.study.protocol.imagine
    answer = imagine(assignment.stage, item.payload, item.gold, shown, person.habit.accuracy, person.rng)
    return person.first.setdefault(assignment.stage, answer) if person.habit.repeats else answer
