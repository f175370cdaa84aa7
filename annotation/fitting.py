"""A stage as one item asks it: of a protocol whose form depends on the item, or on the answers that are judged."""

from collections.abc import Iterable, Sequence

from annotation.models import Annotation, Assignment
from annotation.protocols.base import Answer, Payload, Stage


def stages_of(stage: Stage, assignments: Sequence[Assignment]) -> dict[int, Stage]:
    """The stage for each of its assignments, by their ids; at most one query."""
    if stage.fit is None:
        return dict.fromkeys((a.pk for a in assignments), stage)
    answers = _judged(assignments) if stage.judges else {}
    return {a.pk: stage.fitted(seen(stage, a), [answers[pk] for pk in a.judges if pk in answers]) for a in assignments}


def seen(stage: Stage, assignment: Assignment) -> Payload:
    """The item as this assignment sees it, in an order of its own."""
    return stage.arranged(assignment.item.payload, assignment.pk)


def stage_of(stage: Stage, assignment: Assignment) -> Stage:
    return stages_of(stage, [assignment])[assignment.pk]


def _judged(assignments: Iterable[Assignment]) -> dict[int, Answer]:
    wanted = {pk for assignment in assignments for pk in assignment.judges}
    return dict(Annotation.objects.filter(pk__in=wanted).values_list("pk", "answer"))
