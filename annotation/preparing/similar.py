"""The entity most similar to another one: by the property values both have, with an index from values to entities."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Value = tuple[str, str]  # property, value: one value under two properties counts twice
Places = NDArray[np.int32]  # of entities, ascending

NOBODY = np.array([], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Best:
    """The most similar entities, by place, and how many values they share; none where nobody shares any."""

    similarity: int
    places: Places


@dataclass
class Index:
    """Which entities have which value. searched, compared: searches so far, and pairs of entities they looked at."""

    values: Sequence[Collection[Value]]  # of each entity, each once
    searched: int = field(default=0, init=False)
    compared: int = field(default=0, init=False)
    having: dict[Value, Places] = field(init=False)

    def __post_init__(self) -> None:
        places: dict[Value, list[int]] = {}
        for place, values in enumerate(self.values):
            for value in values:
                places.setdefault(value, []).append(place)
        self.having = {value: np.array(found, dtype=np.int32) for value, found in places.items()}
        self._shared = np.zeros(len(self.values), dtype=np.int32)

    def most_similar(self, place: int, at_least: int, excluded: Collection[int] = ()) -> Best:
        """The best of all entities but itself and the excluded. Exact; quick where the best shares `at_least` values.

        Whoever shares k of an entity's n values has one of its n - k + 1 rarest, so only those are looked up; the
        common ones, such as a sex, are checked for the entities found that way alone. Where nobody reaches `at_least`,
        k goes down until somebody does.
        """
        self.searched += 1
        values = sorted(self.values[place], key=lambda value: (len(self.having[value]), value))
        for least in range(min(at_least, len(values)), 0, -1):
            found, shared = self._sharing(values, least)
            allowed = shared >= least
            allowed[np.isin(found, np.array([place, *excluded], dtype=np.int32))] = False
            if allowed.any():
                best = int(shared[allowed].max())
                return Best(best, found[allowed & (shared == best)])
        return Best(0, NOBODY)

    def _sharing(self, values: Sequence[Value], least: int) -> tuple[Places, NDArray[np.int32]]:
        """Entities that may share `least` of the values (rarest first), and how many of them each shares."""
        cut = len(values) - least + 1
        rare = [self.having[value] for value in values[:cut]]
        for places in rare:
            self._shared[places] += 1
        many = 8 * sum(map(len, rare)) > len(self._shared)  # then looking through all is quicker than sorting
        found = np.flatnonzero(self._shared).astype(np.int32) if many else np.unique(np.concatenate(rare))
        shared = self._shared[found]
        self._shared[found] = 0
        self.compared += len(found) - 1  # itself is among them
        for value in values[cut:]:
            places = self.having[value]
            at = np.minimum(np.searchsorted(places, found), len(places) - 1)
            shared += places[at] == found
        return found, shared


def values_of(properties: Mapping[str, Collection[str]]) -> frozenset[Value]:
    return frozenset((name, value) for name, values in properties.items() for value in values)
