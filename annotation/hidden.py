"""Gold and fillers among the work: which, how many, and where; they look like the rest."""

from collections.abc import Mapping, Sequence
from math import floor
from random import Random

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Item, Study, Worker

POOL = 500  # of so many that a worker has not met some are drawn


def mixed(work: Sequence[Item], worker: Worker, study: Study, stage: str) -> list[Item]:
    """A sitting's items in their order: the work in its own, hidden items at random places in between; or all of them
    shuffled, where the protocol says so.

    Known answers are answers of the first stage, so only there something is hidden. Drawn from the worker's name and
    the work, so that equal studies hide alike; nobody meets a hidden item twice.
    """
    items, rng = list(work), Random(f"{worker.code} {work[0].ref}")
    if study.protocol.shuffled:
        rng.shuffle(items)
    if stage != study.protocol.stages[0].name:
        return items
    rate, fillers = float(study.options.get("gold_rate", 0)), int(study.options.get("fillers_per_sitting", 0))
    if not (rate or fillers):
        return items
    wanted = rate * len(work)
    gold = floor(wanted) + (rng.random() < wanted - floor(wanted))
    for item in _draw(study, worker, {Item.Role.GOLD: gold, Item.Role.FILLER: fillers}, rng):
        items.insert(rng.randint(0, len(items)), item)
    return items


def _draw(study: Study, worker: Worker, counts: Mapping[str, int], rng: Random) -> list[Item]:
    """So many items of each role that the worker has not met, as far as there are any."""
    met = Assignment.objects.filter(item=OuterRef("pk"), worker=worker)
    roles = [role for role, count in counts.items() if count]
    unmet = study.items.filter(role__in=roles, gold__isnull=False).exclude(Exists(met)).order_by("pk")
    pools: dict[str, list[int]] = {role: [] for role in roles}
    for pk, role in unmet.values_list("pk", "role")[:POOL]:
        pools[role].append(pk)
    chosen = [pk for role in roles for pk in rng.sample(pools[role], min(counts[role], len(pools[role])))]
    return sorted(study.items.filter(pk__in=chosen), key=lambda item: chosen.index(item.pk))
