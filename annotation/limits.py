"""How much of a study one worker may do. Asked where seats are leased, while the worker's qualifications are locked."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from annotation.errors import LimitReached
from annotation.models import Annotation, Assignment, Enrolment, Exposure, Item, ItemGroup, Sitting, Study
from annotation.models.sittings import State
from annotation.protocols.base import Payload
from annotation.protocols.options import read_group_limits, read_slugs


def groups_of(payload: Payload, study: Study) -> list[str]:
    """The groups an item is in for the study's limits, such as ["entity=Paris"]."""
    values = {**payload.get("meta", {}), **payload}
    found = [f"{name}={values[name]}" for name in _group_limits(study) if values.get(name) not in (None, "")]
    return [group[:250] for group in found]


def _group_limits(study: Study) -> dict[str, int]:
    return read_group_limits(str(study.options.get("max_per_group", "")))


def most(study: Study) -> int | None:
    """How many items one worker may do, by number and by share of the study's items (of its largest part's, where it
    has parts); None without a limit.
    """
    limits = []
    if number := int(study.options.get("max_annotations", 0)):
        limits.append(number)
    if float(study.options.get("max_share", 0)):
        limits.append(max(_by_share(study, part) for part in study.part_items or [""]))
    return min(limits, default=None)


def _by_share(study: Study, part: str) -> int:
    """A share is of the study's items, or of those of a part; one at least, or nobody could begin in a small one."""
    items = study.part_items.get(part, 0) if part else study.work_items
    return max(1, floor(float(study.options.get("max_share", 0)) * items + 1e-9))


def left(enrolment: Enrolment, study: Study, stage: str, part: str) -> int | None:
    """How many more items this worker may do; None without a limit.

    Where a study has parts, a share is of what one does in the stages that bind: reading it again has no such limit.
    """
    found, protocol = [], study.protocol
    if number := int(study.options.get("max_annotations", 0)):
        found.append(number - enrolment.taken)
    if float(study.options.get("max_share", 0)):
        if protocol.part is None:
            found.append(_by_share(study, "") - enrolment.taken)
        elif part and protocol.stage(stage).binds:
            found.append(_by_share(study, part) - enrolment.taken_in_part)
    return min(found, default=None)


def room(enrolment: Enrolment, study: Study, stage: str, part: str = "") -> int:
    """How many more items of this part a sitting may have now. Raises LimitReached for none."""
    at_once = int(study.options.get("max_open_sittings", 0))
    if at_once and _open_sittings(study).filter(worker=enrolment.worker_id).count() >= at_once:
        raise LimitReached("You have as many sittings open as one person may. Submit or return one of them first.")
    count, limit = int(study.options["items_per_sitting"]), left(enrolment, study, stage, part)
    if limit is not None:
        count = min(count, limit)
    if count < 1:
        raise LimitReached
    return count


def _open_sittings(study: Study) -> QuerySet[Sitting]:
    """Of work: practice and tests take no room."""
    return Sitting.objects.filter(study=study, state=State.LEASED, purpose=Sitting.Purpose.WORK)


def allowed(items: QuerySet[Item], enrolment: Enrolment, study: Study) -> QuerySet[Item]:
    """Those of the items that this worker may get: no full group, nothing met in the named earlier studies."""
    if limits := _group_limits(study):
        full = Q(pk=None)
        for name, limit in limits.items():
            full |= Q(group__startswith=f"{name}=", met__gte=limit)
        exposed = Exposure.objects.filter(full, enrolment=enrolment, group=OuterRef("group"))
        items = items.exclude(Exists(ItemGroup.objects.filter(Exists(exposed), item=OuterRef("pk"))))
    if earlier := read_slugs(str(study.options.get("not_seen_in", ""))):
        seen = Assignment.objects.filter(
            item__study__slug__in=earlier, item__ref=OuterRef("ref"), worker=enrolment.worker_id
        )
        items = items.exclude(Exists(seen))
    if not _may_recollect(enrolment, study):
        items = items.filter(recollected=False)
    return items


def _may_recollect(enrolment: Enrolment, study: Study) -> bool:
    """Whether this worker is good enough, and has not done too much, for what is collected again (NOPE: 2.7)."""
    options = study.options
    accuracy, share = float(options.get("recollect_above_accuracy", 0)), float(options.get("recollect_max_share", 0))
    fillers = int(options.get("recollect_above_fillers", 0))
    if share and enrolment.taken > share * study.work_items + 1e-9:
        return False
    if not (accuracy or fillers):
        return True
    mine = Annotation.objects.filter(worker=enrolment.worker_id, study=study, uncounted=Annotation.Why.FILLER)
    scored = mine.aggregate(n=Count("is_right"), right=Count("pk", filter=Q(is_right=True)))
    return scored["n"] > fillers and scored["right"] > accuracy * scored["n"]


def in_turn(items: QuerySet[Item], enrolment: Enrolment, study: Study) -> Iterator[QuerySet[Item]]:
    """Which items a worker is looked something for among, one after the other: in a balanced design those of their own
    half of the people, then all.
    """
    if study.protocol.half:
        yield items.filter(half=enrolment.number % 2)
    yield items


def note_met(study: Study, met: Iterable[tuple[int, Item]]) -> None:
    """Note that workers (ids) met items otherwise than by leasing them."""
    if not _group_limits(study):
        return
    numbers: Counter[tuple[int, str]] = Counter()
    pairs = list(met)
    groups: dict[int, list[str]] = {}
    for pk, group in ItemGroup.objects.filter(item__in={item.pk for _, item in pairs}).values_list("item", "group"):
        groups.setdefault(pk, []).append(group)
    for worker, item in pairs:
        numbers.update((worker, group) for group in groups.get(item.pk, ()))
    enrolled = Enrolment.objects.filter(study=study, worker__in={worker for worker, _ in pairs})
    enrolments = dict(enrolled.values_list("worker", "pk"))
    before = {
        (enrolment, group): count
        for enrolment, group, count in Exposure.objects.filter(
            enrolment__in=enrolments.values(), group__in={group for _, group in numbers}
        ).values_list("enrolment", "group", "met")
    }
    added = {(enrolments[worker], group): count for (worker, group), count in numbers.items()}
    _keep({pair: before.get(pair, 0) + count for pair, count in added.items()})


def _keep(met: Mapping[tuple[int, str], int]) -> None:
    """How often each enrolment (id) met each group, in place of what was kept."""
    Exposure.objects.bulk_create(
        [Exposure(enrolment_id=pk, group=group, met=count) for (pk, group), count in sorted(met.items())],
        update_conflicts=True,
        update_fields=["met"],
        unique_fields=["enrolment", "group"],
    )


def fit(items: Sequence[Item], enrolment: Enrolment, study: Study, *, at_most: int | None = None) -> list[Item]:
    """Those of the items, in order, that together fill no group beyond its limit; notes that the worker met them."""
    limits, count = _group_limits(study), len(items) if at_most is None else at_most
    if not limits or not items:
        return list(items[:count])
    groups: dict[int, list[str]] = {item.pk: [] for item in items}
    met: Counter[str] = Counter()
    so_far = Exposure.objects.filter(enrolment=enrolment, group=OuterRef("group")).values("met")
    rows = ItemGroup.objects.filter(item__in=items).annotate(met=Subquery(so_far))
    for pk, group, before in rows.values_list("item", "group", "met"):
        groups[pk].append(group)
        met[group] = before or 0
    chosen: list[Item] = []
    touched: set[str] = set()
    for item in items:
        if len(chosen) < count and all(met[g] < limits[g.partition("=")[0]] for g in groups[item.pk]):
            chosen.append(item)
            met.update(groups[item.pk])
            touched.update(groups[item.pk])
    _keep({(enrolment.pk, group): met[group] for group in touched})
    return chosen


def count_taken(study: Study, worker: int, stage: str, items: int) -> None:
    """Note that a worker took (or, below 0, gave up) so many items. Comes after the items' locks."""
    if items:
        taken = {"taken": F("taken") + items}
        if study.protocol.stage(stage).binds:
            taken["taken_in_part"] = F("taken_in_part") + items
        Enrolment.objects.filter(study=study, worker=worker).update(**taken)


@dataclass(frozen=True)
class Limit:
    """One limit of a study as its page shows it. violations: people (or people and groups) beyond it; 0, or a fault."""

    words: str
    violations: int


def limits_of(study: Study) -> Iterable[Limit]:
    """Every limit that is set, each counted anew; one query each."""
    enrolments = study.enrolments
    if number := int(study.options.get("max_annotations", 0)):
        yield Limit(f"at most {number:,} items for one person", enrolments.filter(taken__gt=number).count())
    if share := float(study.options.get("max_share", 0)):
        beyond, whose = Q(taken__gt=_by_share(study, "")), "the items"
        if study.protocol.part:
            beyond, whose = Q(pk=None), "a part’s items"
            for part in study.part_items:
                beyond |= Q(part=part, taken_in_part__gt=_by_share(study, part))
        yield Limit(f"at most {share:.0%} of {whose} for one person", enrolments.filter(beyond).count())
    if at_once := int(study.options.get("max_open_sittings", 0)):
        open_now = Counter(worker for (worker,) in _open_sittings(study).values_list("worker"))
        yield Limit(f"at most {at_once} open sittings at a time", sum(n > at_once for n in open_now.values()))
    for name, limit in _group_limits(study).items():
        full = Exposure.objects.filter(enrolment__study=study, group__startswith=f"{name}=", met__gt=limit)
        yield Limit(f"at most {limit} with the same {name} for one person", full.count())
    if earlier := read_slugs(str(study.options.get("not_seen_in", ""))):
        seen = Assignment.objects.filter(
            item__study__slug__in=earlier, item__ref=OuterRef("item__ref"), worker=OuterRef("worker")
        )
        again = Assignment.objects.filter(Exists(seen), item__study=study, role=Item.Role.WORK).count()
        yield Limit(f"nothing that was met in {', '.join(earlier)}", again)
