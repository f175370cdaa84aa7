"""Labels that need the whole study: everybody's thresholds from their fillers, and what they make of every rating.

All of it is counted anew from the rows, and only what has changed is written; it may run at any time, also twice.
"""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Count, Q

from annotation import overview
from annotation.intake import batched
from annotation.models import Annotation, Enrolment, Item, Study
from annotation.protocols.base import Cuts, Labelling, Options, Settle, Unresolved
from validation.models import Labelled, Resolution, Tally, Threshold
from validation.tallies import profile_text, votes_of

if TYPE_CHECKING:
    from validation.calibration import Calibration

WHY = Annotation.Why
CHUNK = 1_000
SLACK = timedelta(minutes=2)  # commits may become visible a little after the time they carry
REST = 20  # in the background so many times as long as labelling takes is waited before the next time


@dataclass(frozen=True)
class Fillers:
    """Ratings of fillers, one each: the worker (id), the expected label, the rating, whether it is right."""

    workers: Sequence[int]
    expected: Sequence[str]
    ratings: Sequence[float]
    right: Sequence[bool | None]

    def right_by_worker(self) -> dict[int, list[bool | None]]:
        found: dict[int, list[bool | None]] = defaultdict(list)
        for worker, right in zip(self.workers, self.right, strict=True):
            found[worker].append(right)
        return found


def fillers_of(study: Study, rule: Labelling, without: Collection[int] = ()) -> Fillers:
    """Of everybody whose work counts, or may yet; `without` are workers who are thought away."""
    rows = Annotation.objects.filter(study=study, stage=rule.stage, uncounted=WHY.FILLER, item__gold__isnull=False)
    rows = rows.exclude(worker__in=[*without, *excluded(study, rule)]).order_by("pk")
    found: list[tuple[int, str, float, bool | None]] = []
    for worker, known, answer, right in rows.values_list("worker", "item__gold", "answer", "is_right").iterator(5_000):
        found.append((worker, rule.expected(known or {}), rule.rating(answer), right))
    return Fillers(*zip(*found, strict=True)) if found else Fillers((), (), (), ())


def excluded(study: Study, rule: Labelling) -> list[int]:
    """Workers (ids) whose ratings were taken out of the count, all of them: their fillers teach nobody."""
    rated = Annotation.objects.filter(study=study, stage=rule.stage).values_list("worker")
    out = rated.annotate(
        n=Count("pk", filter=Q(uncounted="")),
        out=Count("pk", filter=Q(uncounted__in=[WHY.EXCLUDED, WHY.HELD, WHY.WITHDRAWN])),
    )
    return [worker for worker, _, _ in out.filter(n=0, out__gt=0).order_by()]


def raters(study: Study, rule: Labelling, without: Collection[int] = ()) -> list[int]:
    """Workers (ids) whose ratings count."""
    counted = Annotation.objects.filter(study=study, stage=rule.stage, uncounted="").exclude(worker__in=without)
    return list(counted.order_by("worker").values_list("worker", flat=True).distinct())


def calibrations(
    study: Study, rule: Labelling, options: Options, without: Collection[int] = ()
) -> dict[int, "Calibration"]:
    """Worker (id) -> thresholds, of everybody who rated anything that counts."""
    fillers = fillers_of(study, rule, without)
    return _calibrate(fillers, raters(study, rule, without), options)


def _calibrate(fillers: Fillers, everybody: Sequence[int], options: Options) -> dict[int, "Calibration"]:
    from validation.calibration import calibrate

    found = calibrate(
        [str(w) for w in fillers.workers],
        fillers.expected,
        fillers.ratings,
        everybody=[str(w) for w in everybody],
        method=str(options.get("threshold_method", "exact")),
    )
    return {int(name): each for name, each in found.items()}


def cuts_of(found: Mapping[int, "Calibration"], options: Options) -> dict[int, Cuts]:
    """What labels are made with: the study may fix the threshold of contradiction for everybody."""
    fixed = float(options.get("fixed_contradiction", 0))
    return {worker: (fixed or c.contradiction.value, c.entailment.value) for worker, c in found.items()}


# --- Keeping labels in step -----------------------------------------------------------------------


def refresh(study: Study, *, at: datetime, lazily: bool = False) -> int:
    """Bring thresholds and labels in step with ratings, exclusions and options; returns how many items changed.

    lazily: not if nothing has happened since the last time, nor soon after one that took long.
    """
    rule = study.protocol.labelling
    if rule is None:
        return 0
    state = _state(study)
    last = Labelled.objects.filter(study=study).first() if lazily else None
    if last and (_is_fresh(study, last, state) or at - last.at < timedelta(seconds=REST * last.seconds)):
        return 0
    began = time.perf_counter()
    fillers = fillers_of(study, rule)
    found = _calibrate(fillers, raters(study, rule), study.options)
    _keep(study, fillers, found)
    changed = _relabel(study, rule, cuts_of(found, study.options))
    seconds = time.perf_counter() - began
    Labelled.objects.update_or_create(study=study, defaults={"state": state, "at": at, "seconds": seconds})
    return changed


def _state(study: Study) -> str:
    """What labels follow from: the last event, and the options."""
    options = json.dumps(study.options, sort_keys=True).encode()
    return f"{overview.serial(study)}:{hashlib.sha256(options).hexdigest()}"


def _is_fresh(study: Study, last: Labelled, state: str) -> bool:
    newest = study.events.order_by("-pk").values_list("at", flat=True).first()
    return last.state == state and (newest is None or last.at > newest + SLACK)


def _keep(study: Study, fillers: Fillers, found: Mapping[int, "Calibration"]) -> None:
    """Write everybody's thresholds; who is excluded has none."""
    from validation.calibration import intervals

    names = [str(w) for w in fillers.workers]
    around = intervals(names, fillers.expected, fillers.ratings)
    enrolments = dict(Enrolment.objects.filter(study=study, worker__in=found).values_list("worker", "pk"))
    numbers = fillers.right_by_worker()
    rows = [
        Threshold(
            study=study,
            enrolment_id=enrolments[worker],
            contradiction=each.contradiction.value,
            entailment=each.entailment.value,
            fillers=len(numbers[worker]),
            scored=sum(right is not None for right in numbers[worker]),
            right=sum(right is True for right in numbers[worker]),
            how={
                "contradiction": {**asdict(each.contradiction), "interval": around.get(str(worker), (None, None))[0]},
                "entailment": {**asdict(each.entailment), "interval": around.get(str(worker), (None, None))[1]},
            },
        )
        for worker, each in found.items()
    ]
    with transaction.atomic():
        Threshold.objects.filter(study=study).exclude(enrolment__in=enrolments.values()).delete()
        Threshold.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["enrolment"],
            update_fields=["contradiction", "entailment", "fillers", "scored", "right", "how"],
            batch_size=CHUNK,
        )


def _relabel(study: Study, rule: Labelling, cuts: Mapping[int, Cuts]) -> int:
    """Find the items whose label is another now, and write these, a chunk of locked items at a time."""
    rated = (row for row in resolutions(study) if cuts.keys() >= set((row.gold or {})["workers"]))
    stale = [row.item_id for row in rated if _differs(row, rule.label(row.gold or {}, cuts))]
    return sum(_write(study, rule, cuts, chunk) for chunk in batched(stale, CHUNK))


def resolutions(study: Study) -> Iterator[Resolution]:
    """Every item's ratings, once they are complete, labelled or not."""
    rated = Resolution.objects.filter(study=study, gold__isnull=False).order_by("item_id")
    return rated.only("item_id", "label", "outcome", "gold").iterator(chunk_size=5_000)


def _differs(row: Resolution, step: Settle | Unresolved) -> bool:
    return (row.outcome, row.label, row.gold) != (_outcome(step), label_of(step), step.gold)


def _outcome(step: Settle | Unresolved) -> str:
    return Resolution.Outcome.SETTLED if isinstance(step, Settle) else Resolution.Outcome.UNRESOLVED


def label_of(step: Settle | Unresolved) -> str:
    return step.label if isinstance(step, Settle) else ""


@transaction.atomic
def _write(study: Study, rule: Labelling, cuts: Mapping[int, Cuts], chunk: Collection[int]) -> int:
    """Label items again. Locks them: one that is collected again has no resolution, and gets none here."""
    closed = Item.objects.filter(pk__in=chunk).exclude(state=Item.State.OPEN).order_by("pk")
    locked = [item.pk for item in closed.select_for_update(of=("self",))]
    rows = list(Resolution.objects.filter(item__in=locked, gold__isnull=False))
    # A rater who came after the thresholds were found: their items are labelled the next time.
    rows = [row for row in rows if cuts.keys() >= set((row.gold or {})["workers"])]
    tallies = []
    measure = study.protocol.stage(rule.stage).measure(rule.measure)
    for row in rows:
        step = rule.label(row.gold or {}, cuts)
        row.outcome, row.label, row.gold, row.why = _outcome(step), label_of(step), dict(step.gold), step.why
        profile = profile_text(votes_of(measure, rule.labels(row.gold)))
        tallies.append(Tally(study=study, item_id=row.item_id, stage=rule.stage, measure=rule.measure, profile=profile))
    Resolution.objects.bulk_create(
        rows, update_conflicts=True, update_fields=["outcome", "label", "gold", "why"], unique_fields=["item"]
    )
    Tally.objects.bulk_create(
        tallies, update_conflicts=True, update_fields=["profile"], unique_fields=["item", "stage", "measure"]
    )
    for outcome, state in OUTCOMES:
        there = [row.item_id for row in rows if row.outcome == outcome]
        Item.objects.filter(pk__in=there).exclude(state=state).update(state=state)
    return len(rows)


OUTCOMES = (
    (Resolution.Outcome.SETTLED, Item.State.SETTLED),
    (Resolution.Outcome.UNRESOLVED, Item.State.UNRESOLVED),
)
