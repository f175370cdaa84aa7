"""Sets of entities for claim writing, drawn from a pool whose entities are divided among the splits first.

Source: PROTOCOLS.md 3.3: splits share no entities (`strict`); in the release dev and test do (`as_released`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import Any

from annotation.errors import Refusal
from annotation.preparing.rows import Tell, good_rows, text, texts
from annotation.reading import Row

Entity = dict[str, Any]  # entity, en_wiki_pageid, description, keywords

MODES = ("strict", "as_released")
SPLITS = "train=0.8,dev=0.1,test=0.1"
SIZE = 5  # PROTOCOLS.md 3.1
TRAIN = "train"
POOL = "pool"  # as the report names the file


class BadPool(Refusal):
    code, status = "bad_pool", 422


def read_pool(pool: Iterable[Row], tell: Tell) -> list[Entity]:
    """The entities, each once: another row with the same page id, or name in any case, is told."""
    entities: list[Entity] = []
    pages: dict[str, int] = {}
    names: dict[str, int] = {}
    for number, row in good_rows(pool, POOL, tell):
        name, page = text(row, "entity"), text(row, "en_wiki_pageid")
        if not name or not page:
            tell(POOL, number, name or None, "missing field", fields=["en_wiki_pageid" if name else "entity"])
        elif page in pages:
            tell(POOL, number, name, "same page id as another entity", first=pages[page])
        elif name.casefold() in names:
            tell(POOL, number, name, "same name as another entity", first=names[name.casefold()])
        else:
            pages[page] = names[name.casefold()] = number
            about = {"description": text(row, "description"), "keywords": texts(row, "keywords")}
            entities.append({"entity": name, "en_wiki_pageid": page, **about})
    return entities


def divide(entities: Sequence[Entity], shares: Mapping[str, float], mode: str, seed: int) -> dict[str, list[Entity]]:
    """Split -> its entities, by chance. `as_released`: all splits but train have the rest of the pool together."""
    shuffled = Random(f"{seed} splits").sample(entities, len(entities))
    ends = [round(len(shuffled) * share / sum(shares.values())) for share in accumulate(shares.values())]
    parts = {name: shuffled[a:b] for name, (a, b) in zip(shares, pairwise([0, *ends]), strict=True)}
    if mode == "as_released":
        rest = [entity for name in parts if name != TRAIN for entity in parts[name]]
        parts = {name: part if name == TRAIN else rest for name, part in parts.items()}
    return parts


def draw(
    parts: Mapping[str, Sequence[Entity]], *, size: int, sets: int | None, times: int | None, seed: int
) -> Iterator[dict[str, Any]]:
    """Items: `sets` for each split, each drawn anew; or sets in which every entity occurs `times` times, or once more.

    An entity is never twice in one set. Raises BadPool for a split with fewer entities than a set has.
    """
    for split, part in parts.items():
        if len(part) < size:
            few = f"The split {split} has {len(part)} of the pool's entities, and a set has {size}."
            raise BadPool(f"{few} Give a larger pool, a larger share or a smaller --size.")
        rng = Random(f"{seed} sets of {split}")
        drawn = _each(part, size, times, rng) if times else (rng.sample(part, size) for _ in range(sets or 0))
        for number, entities in enumerate(drawn, 1):
            yield {"id": f"{split}-{number}", "split": split, "entities": list(entities)}


def _each(part: Sequence[Entity], size: int, times: int, rng: Random) -> Iterator[Sequence[Entity]]:
    """Rounds through the whole part, each in a new order; a set that is begun is filled up from the next round."""
    queue: list[Entity] = []
    for number in range(1, times + 2):
        begun = queue[len(queue) - len(queue) % size :]
        if number > times and not begun:
            return
        queue = _filled(begun, rng.sample(part, len(part)), size)
        last = len(queue) if number <= times else size  # one round more only fills up the very last set
        yield from (queue[at : at + size] for at in range(0, last - last % size, size))


def _filled(begun: Sequence[Entity], order: Sequence[Entity], size: int) -> list[Entity]:
    """A begun set and the next round, in which what the set holds already comes after what fills it up."""
    there = {entity["en_wiki_pageid"] for entity in begun}
    new = [entity for entity in order if entity["en_wiki_pageid"] not in there][: (size - len(begun)) % size]
    taken = {entity["en_wiki_pageid"] for entity in new}
    return [*begun, *new, *(entity for entity in order if entity["en_wiki_pageid"] not in taken)]


def read_shares(written: str) -> dict[str, float]:
    """ "train=0.8,dev=0.1,test=0.1" -> shares. Raises ValueError with what would be right."""
    shares: dict[str, float] = {}
    for part in written.split(","):
        name, _, share = part.strip().partition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            shares[name] = 0
        if not name or not 0 < shares[name] <= 1:
            raise ValueError(f"shares are written NAME=SHARE with commas between them, as in {SPLITS}; it was {part!r}")
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise ValueError(f"the shares must add up to 1; they add up to {sum(shares.values()):g}")
    return shares
