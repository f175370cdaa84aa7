"""What happens here when something happens below: one line each, inside the sender's transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.dispatch import receiver

from annotation.models import Item, Study
from annotation.protocols.base import Counted, Step
from annotation.signals import answers_counted, item_settled
from validation import resolution, tallies


@receiver(answers_counted)
def recount(study: Study, items: Sequence[Item], counted: Mapping[int, Sequence[Counted]], **_: object) -> None:
    tallies.recount(study, items, counted)


@receiver(item_settled)
def resolve(study: Study, steps: Sequence[tuple[Item, Step]], at: datetime, **_: object) -> None:
    resolution.record_steps(study, steps, at=at)
