"""Keep each item's vote profiles in step with its counted annotations."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from django.db.models import Count

from annotation.models import Item, Study
from annotation.protocols.base import Counted, Measure
from validation.models import Tally

if TYPE_CHECKING:
    from validation.agreement import Histogram  # numpy, which neither collecting nor most of Celery needs


def recount(study: Study, items: Iterable[Item], counted: Mapping[int, Sequence[Counted]]) -> None:
    """Write the profiles of these items anew, in one statement. The caller holds the items' locks."""
    rows = []
    for item in items:
        for stage in study.protocol.stages:
            answers = [c.answer for c in counted[item.pk] if c.stage == stage.name]
            rows += [
                Tally(study=study, item=item, stage=stage.name, measure=m.name, profile=_profile(m, answers))
                for m in stage.measures
                if answers
            ]
    Tally.objects.bulk_create(
        rows,
        update_conflicts=True,
        update_fields=["profile"],
        unique_fields=["item", "stage", "measure"],
    )


def _profile(measure: Measure, answers: Sequence[Mapping[str, object]]) -> str:
    return ",".join(str(votes) for votes in profile_of(measure, answers))


def profile_of(measure: Measure, answers: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
    """Votes per category, of the first `raters` answers."""
    votes = Counter(measure.read(answer) for answer in answers[: measure.raters])
    return tuple(votes[category] for category in measure.categories)


def histogram(study: Study, stage: str, measure: str) -> "Histogram":
    """How many items have each profile: one GROUP BY, however large the study."""
    rows = Tally.objects.filter(study=study, stage=stage, measure=measure).values_list("profile").annotate(n=Count("*"))
    return {profile_from(profile): items for profile, items in rows}


def profile_from(text: str) -> tuple[int, ...]:
    """As a row has it -> votes per category."""
    return tuple(int(n) for n in text.split(","))
