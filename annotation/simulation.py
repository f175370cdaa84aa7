"""A crowd that does not exist: it leases and submits as people do, and answers as the protocol imagines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from annotation.errors import NothingLeft, Refusal
from annotation.leasing import lease
from annotation.models import Annotation, Assignment, Sitting, Study, Worker
from annotation.qualification import add_worker
from annotation.submission import submit

BY = "simulation"
MEDIAN_SECONDS, SPREAD = 40, 0.5  # of a lognormal: what one answer takes


class BadCrowd(Refusal):
    code, status = "bad_crowd", 422


@dataclass
class Person:
    worker: Worker
    rng: Random


def simulate(
    study: Study,
    *,
    workers: int,
    accuracy: float,
    seed: int,
    clock: Callable[[int], datetime],
    stages: Sequence[str] = (),
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Let `workers` people annotate until nothing is left for them, or `limit` is reached.

    One person after the other, drawn from `seed`: equal studies get equal annotations from equal workers. The last
    sitting is finished, so a few more than `limit` may be written.
    accuracy: how often an answer is the item's known gold, 0 to 1. stages: all of the protocol's unless given.
    clock: annotations so far -> when the next sitting is submitted. Returns how many annotations were written.
    """
    if workers < 1 or not 0 <= accuracy <= 1:
        raise BadCrowd("A crowd has at least 1 worker, and an accuracy from 0 to 1.")
    rng, stages = Random(f"{seed}"), stages or [stage.name for stage in study.protocol.stages]
    awake = _crowd(study, workers, stages, seed, at=clock(0))
    resting: list[Person] = []
    done = 0
    while awake and (limit is None or done < limit):
        person = awake[rng.randrange(len(awake))]
        written = _visit(person, study, rng.sample(stages, len(stages)), accuracy, at=clock(done))
        if not written:
            awake.remove(person)
            resting.append(person)
            continue
        # What was written may have opened seats for everybody.
        awake, resting, done = awake + resting, [], done + written
        if progress:
            progress(done)
    return done


def _crowd(study: Study, workers: int, stages: Sequence[str], seed: int, *, at: datetime) -> list[Person]:
    return [
        Person(add_worker(study, f"{study.slug}-sim-{n}", stages, by=BY, at=at), Random(f"{seed} {n}"))
        for n in range(1, workers + 1)
    ]


def _visit(person: Person, study: Study, stages: Sequence[str], accuracy: float, *, at: datetime) -> int:
    """One sitting in the first of `stages` that has something, submitted at `at`; returns how many answers."""
    seconds = [round(person.rng.lognormvariate(0, SPREAD) * MEDIAN_SECONDS) for _ in range(_size(study))]
    leased_at = at - timedelta(seconds=sum(seconds))
    for stage in stages:
        try:
            sitting, _ = lease(person.worker, study, stage, at=leased_at)
        except NothingLeft:
            continue
        return _work(person, sitting, accuracy, seconds, leased_at, at=at)
    return 0


def _size(study: Study) -> int:
    return int(study.options["items_per_sitting"])


def _work(
    person: Person, sitting: Sitting, accuracy: float, seconds: Sequence[int], leased_at: datetime, *, at: datetime
) -> int:
    """Open one item after the other, answer them all, submit."""
    assignments = sitting.bundle
    opened_at, answers = leased_at, {}
    for assignment, active in zip(assignments, seconds, strict=False):
        assignment.first_opened_at, assignment.active_seconds = opened_at, active
        opened_at += timedelta(seconds=active)
        answers[assignment.pk] = _answer(person, assignment, accuracy)
    Assignment.objects.bulk_update(assignments, ["first_opened_at", "active_seconds"])
    return len(submit(sitting, answers, at=at))


def _answer(person: Person, assignment: Assignment, accuracy: float) -> dict[str, object]:
    item, judged = assignment.item, Annotation.objects.in_bulk(assignment.judges)
    shown = [judged[pk].answer for pk in assignment.judges]
    imagine = item.study.protocol.imagine
    return imagine(assignment.stage, item.payload, item.gold, shown, accuracy, person.rng)
