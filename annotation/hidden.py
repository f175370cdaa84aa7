"""Gold and fillers among the work: which, how many, and where; they look like the rest."""

from collections.abc import Sequence
from math import floor
from random import Random

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Item, Study, Worker

POOL = 500  # of so many that a worker has not met some are drawn


def mixed(work: Sequence[Item], worker: Worker, study: Study, stage: str) -> list[Item]:
    """A sitting's items in their order: the work in its own, hidden items at random places in between.

    Known answers are answers of the first stage, so only there something is hidden. Drawn from the worker's name and
    the work, so that equal studies hide alike; nobody meets a hidden item twice.
    """
    items = list(work)
    if stage != study.protocol.stages[0].name:
        return items
    rate, fillers = float(study.options.get("gold_rate", 0)), int(study.options.get("fillers_per_sitting", 0))
    if not (rate or fillers):
        return items
    rng = Random(f"{worker.code} {work[0].ref}")
    wanted = rate * len(work)
    gold = floor(wanted) + (rng.random() < wanted - floor(wanted))
    for role, count in ((Item.Role.GOLD, gold), (Item.Role.FILLER, fillers)):
        for item in _draw(study, worker, role, count, rng):
            items.insert(rng.randint(0, len(items)), item)
    return items


def _draw(study: Study, worker: Worker, role: str, count: int, rng: Random) -> list[Item]:
    if not count:
        return []
    met = Assignment.objects.filter(item=OuterRef("pk"), worker=worker)
    unmet = study.items.filter(role=role, gold__isnull=False).exclude(Exists(met)).order_by("pk")
    pool = list(unmet.values_list("pk", flat=True)[:POOL])
    chosen = rng.sample(pool, min(count, len(pool)))
    return sorted(study.items.filter(pk__in=chosen), key=lambda item: chosen.index(item.pk))
