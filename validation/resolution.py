"""Record what the protocol settled, dropped or left open."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from annotation.models import Annotation, Item, Study
from annotation.protocols.base import Collect, Drop, Settle, Step, Unresolved
from validation.models import Resolution


def record_steps(study: Study, steps: Iterable[tuple[Item, Step]], *, at: datetime) -> None:
    """One resolution per closed item; an item that is collected again loses its. The caller holds the items' locks."""
    steps = list(steps)
    reopened = [item for item, step in steps if isinstance(step, Collect)]
    if reopened:
        Resolution.objects.filter(item__in=reopened).delete()
        Annotation.objects.filter(item__in=reopened).update(upheld=None, judged=False)
    _uphold([step for _, step in steps if isinstance(step, Settle | Drop)])
    Resolution.objects.bulk_create(
        [_resolution(study, item, step, at) for item, step in steps if not isinstance(step, Collect)],
        update_conflicts=True,
        update_fields=["outcome", "label", "gold", "why", "at"],
        unique_fields=["item"],
    )


def _uphold(steps: Iterable[Settle | Drop]) -> None:
    """Note with each annotation whether its item's outcome agrees with it."""
    verdicts: dict[tuple[bool, bool], list[int]] = defaultdict(list)
    for step in steps:
        for pk, upheld in step.upheld.items():
            verdicts[upheld, step.judged].append(pk)
    for (upheld, judged), pks in verdicts.items():
        Annotation.objects.filter(pk__in=pks).update(upheld=upheld, judged=judged)


def _resolution(study: Study, item: Item, step: Settle | Drop | Unresolved, at: datetime) -> Resolution:
    row = Resolution(study=study, item=item, why=step.why, at=at)
    match step:
        case Settle(label, gold):
            row.outcome, row.label, row.gold = Resolution.Outcome.SETTLED, label, dict(gold)
        case Drop(label):
            row.outcome, row.label = Resolution.Outcome.DROPPED, label
        case Unresolved(gold=gold, label=label):
            row.outcome, row.label, row.gold = Resolution.Outcome.UNRESOLVED, label, dict(gold)
    return row
