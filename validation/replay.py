"""What gold would be under other options: the protocol is asked again, and nothing is written."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annotation.errors import Refusal
from annotation.intake import batched
from annotation.models import Item, Study
from annotation.progress import seats_of
from annotation.protocols.base import (
    BadOption,
    Collect,
    Counted,
    Drop,
    Options,
    Settle,
    Step,
    Unresolved,
)
from validation.labelling import calibrations, cuts_of

BATCH = 1_000
OUTCOMES = ("settled", "dropped", "unresolved", "needs_more")


class BadReplay(Refusal):
    code, status = "bad_replay", 422


def replay(
    study: Study, given: Mapping[str, object], progress: Callable[[int], None] = lambda items: None
) -> dict[str, Any]:
    """Ask what every item comes to with `given` on top of the study's options, and name the items that change.

    An item that needs more lacks annotations which the other options would have asked for. Raises BadReplay.
    """
    protocol = study.protocol
    try:
        options = protocol.read_options({**study.options, **given})
    except BadOption as error:
        raise BadReplay(str(error)) from error
    outcomes: Counter[str] = Counter()
    differences = []
    read = [_Reader(study, each) for each in (study.options, options)]
    items = study.items.work().order_by("pk").iterator(chunk_size=BATCH)
    for batch in batched(items, BATCH):
        seats = seats_of(batch)
        for item in batch:
            counted = seats[item.pk].counted
            before, after = (_outcome(reader.step(item, counted)) for reader in read)
            outcomes[after["outcome"]] += 1
            if before != after:
                differences.append({"id": item.ref, "from": before, "to": after})
        progress(outcomes.total())
    return {
        "study": study.slug,
        "options": options,
        "items": outcomes.total(),
        "same": outcomes.total() - len(differences),
        **{outcome: outcomes[outcome] for outcome in OUTCOMES},
        "differences": differences,
    }


class _Reader:
    """What items come to under some options; where labels need the whole study, with its thresholds under these."""

    def __init__(self, study: Study, options: Options) -> None:
        self.protocol, self.options = study.protocol, options
        rule = self.protocol.labelling
        self.cuts = cuts_of(calibrations(study, rule, options), options) if rule else {}

    def step(self, item: Item, counted: Sequence[Counted]) -> Step:
        step = self.protocol.step(item.payload, counted, self.options, item.ruling)
        rule = self.protocol.labelling
        return rule.label(step.gold, self.cuts) if rule and isinstance(step, Settle) else step


def _outcome(step: Step) -> dict[str, Any]:
    match step:
        case Settle(label, gold):
            return {"outcome": "settled", "label": label, "gold": dict(gold)}
        case Drop(label):
            return {"outcome": "dropped", "label": label}
        case Unresolved(gold=gold):
            return {"outcome": "unresolved", "gold": dict(gold)}
        case Collect(stage, votes):
            return {"outcome": "needs_more", "stage": stage, "votes": votes}
