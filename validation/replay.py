"""What gold would be under other options: the protocol is asked again, and nothing is written."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from annotation.errors import Refusal
from annotation.intake import batched
from annotation.models import Study
from annotation.progress import seats_of
from annotation.protocols.base import BadOption, Collect, Drop, Settle, Step, Unresolved

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
    items = study.items.work().order_by("pk").iterator(chunk_size=BATCH)
    for batch in batched(items, BATCH):
        seats = seats_of(batch)
        for item in batch:
            counted = seats[item.pk].counted
            before, after = (_outcome(protocol.next_step(item.payload, counted, o)) for o in (study.options, options))
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
