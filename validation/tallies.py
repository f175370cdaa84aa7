"""Keep each item's vote profiles in step with its counted annotations.

Of a measure in categories the profile is how many votes each has; of one in numbers it is their count, their sum and
the sum of their squares, in hundredths, so that nothing is rounded.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from django.db.models import Count

from annotation.models import Item, Study
from annotation.protocols.base import Counted, Measure
from validation.models import Tally

if TYPE_CHECKING:
    from validation.agreement import Histogram  # numpy, which neither collecting nor most of Celery needs


def recount(study: Study, items: Sequence[Item], counted: Mapping[int, Sequence[Counted]]) -> None:
    """Write the profiles of these items anew, in one statement. The caller holds the items' locks."""
    rows = []
    for item in items:
        for stage in study.protocol.stages:
            answers = [c.answer for c in counted[item.pk] if c.stage == stage.name]
            rows += [
                Tally(study=study, item=item, stage=stage.name, measure=m.name, profile=_profile(m, answers))
                for m in stage.measures
                if answers and not m.study_wide
            ]
    if rule := study.protocol.labelling:
        # Labels are no more than the ratings they were made of; `labelling` writes them once these are complete.
        is_open = [item for item in items if item.state == Item.State.OPEN]
        Tally.objects.filter(item__in=is_open, stage=rule.stage, measure=rule.measure).delete()
    Tally.objects.bulk_create(
        rows,
        update_conflicts=True,
        update_fields=["profile"],
        unique_fields=["item", "stage", "measure"],
    )


def _profile(measure: Measure, answers: Sequence[Mapping[str, object]]) -> str:
    return profile_text(profile_of(measure, answers))


def profile_text(profile: Sequence[int]) -> str:
    """As a row has it; `profile_from` goes back."""
    return ",".join(map(str, profile))


def profile_of(measure: Measure, answers: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
    """Votes per category, of the first `raters` answers; of numbers the moments of each thing rated in turn."""
    if measure.is_numeric:
        return tuple(n for ratings in _ratings(measure, answers[: measure.raters]) for n in _moments(ratings))
    return votes_of(measure, [str(measure.read(answer)) for answer in answers[: measure.raters]])


def _ratings(measure: Measure, answers: Sequence[Mapping[str, object]]) -> Iterator[list[float]]:
    """The ratings of each thing that is rated in the item, mostly one."""
    read = [measure.read(answer) for answer in answers]
    several = [[float(vote)] if isinstance(vote, str | int | float) else list(vote) for vote in read]
    return (list(ratings) for ratings in zip(*several, strict=True))


def _moments(ratings: Sequence[float]) -> tuple[int, int, int]:
    """Count, sum and sum of squares, in hundredths."""
    hundredths = [round(100 * rating) for rating in ratings]
    return len(hundredths), sum(hundredths), sum(n * n for n in hundredths)


def votes_of(measure: Measure, votes: Sequence[str]) -> tuple[int, ...]:
    """Votes per category, of votes that are known already."""
    counts = Counter(votes)
    return tuple(counts[category] for category in measure.categories)


def moments(study: Study, stage: str, measure: str) -> tuple[list[tuple[float, float, float]], list[int]]:
    """Of a measure in numbers: count, sum and sum of squares of the ratings of each thing rated; and the number of the
    item that each of these belongs to.
    """
    rows = Tally.objects.filter(study=study, stage=stage, measure=measure).values_list("profile", flat=True)
    profiles = (profile_from(profile) for profile in rows.iterator(chunk_size=10_000))
    parts = [(item, p[at : at + 3]) for item, p in enumerate(profiles) for at in range(0, len(p), 3)]
    return [(n, total / 100, squares / 10_000) for _, (n, total, squares) in parts], [item for item, _ in parts]


def histogram(study: Study, stage: str, measure: str) -> "Histogram":
    """How many items have each profile: one GROUP BY, however large the study."""
    rows = Tally.objects.filter(study=study, stage=stage, measure=measure).values_list("profile").annotate(n=Count("*"))
    return {profile_from(profile): items for profile, items in rows}


def profile_from(text: str) -> tuple[int, ...]:
    """As a row has it -> votes per category."""
    return tuple(int(n) for n in text.split(","))
