"""CREAK's release format: a file for each split, and one of contrasts (PROTOCOLS.md 3.3 to 3.5)."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.protocols.release import Payload, Release, Row, Use
from annotation.protocols.writing import normal

CONTRASTS = "contrast"


def rows(payload: Payload, gold: Mapping[str, Any], number: int) -> list[tuple[str, Row]]:
    """The claims in the item's own split, and a pair of the contrast with what it changed. Of item n the true claim is
    number 2n and the false one 2n + 1, whichever of them is left; so no id moves when other items settle.
    """
    split = payload["split"]
    places = {"true": 2 * number, "false": 2 * number + 1}
    found = [(split, _row(f"{split}_{places[claim['label']]}", claim, gold)) for claim in gold["claims"]]
    if contrast := gold["contrast"]:
        changed = next(claim for claim in gold["claims"] if claim["label"] == contrast["of"])
        for n, claim in enumerate((changed, contrast)):
            row = {**_row(f"{CONTRASTS}_{2 * number + n}", claim, gold), "pair_id": str(number)}
            found.append((CONTRASTS, row))
    return found


def _row(ex_id: str, claim: Mapping[str, Any], gold: Mapping[str, Any]) -> Row:
    return {
        "ex_id": ex_id,
        "sentence": claim["sentence"],
        "explanation": claim["explanation"],
        "label": claim["label"],
        "entity": gold["entity"],
        "en_wiki_pageid": gold["en_wiki_pageid"],
        "entity_mention_loc": claim["entity_mention_loc"],
    }


def unlabelled(row: Row) -> Row:
    """A row of the test split as it is published."""
    return {name: value for name, value in row.items() if name not in ("explanation", "label")}


def uses(payload: Payload, gold: Mapping[str, Any]) -> list[Use]:
    """Who wrote, and about what: an entity is the same by its page and by its name."""
    split, entity = payload["split"], gold["entity"]
    writers = [gold["writer"], *([gold["contrast"]["writer"]] if gold["contrast"] else [])]
    named = [Use("entity", f"name {normal(entity)}", entity, split)]
    if page := gold["en_wiki_pageid"]:
        named.append(Use("entity", f"page {page}", entity, split))
    return [Use("worker", str(worker), str(worker), split) for worker in dict.fromkeys(writers)] + named


def fault(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """A pair has two members with opposite labels and one entity, which the release's own 250 have not always."""
    pair = [row for split, row in rows if split == CONTRASTS]
    if not pair:
        return ""
    name = pair[0]["pair_id"]
    if len(pair) != 2:
        return f"The contrast pair {name} has {len(pair)} members instead of two."
    if {row["label"] for row in pair} != {"true", "false"}:
        return f"The two members of the contrast pair {name} have the same label."
    if len({row["entity"] for row in pair}) != 1:
        return f"The two members of the contrast pair {name} are about different entities."
    return ""


RELEASE = Release(
    splits=("train", "dev", "test", CONTRASTS),
    rows=rows,
    uses=uses,
    # The release itself shares 454 entities between dev and test, and keeps train apart (3.3).
    modes={"strict": {}, "as_released": {"entity": (frozenset({"dev", "test"}),)}},
    labelled=("test",),
    unlabelled=unlabelled,
    fault=fault,
)
