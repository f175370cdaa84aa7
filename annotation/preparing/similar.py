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
    """Which entities have which value.

    values: of each entity, each once. common: a value is common that more than this share of them has.
    searched, compared: searches so far, and pairs of entities they looked at.
    """

    values: Sequence[Collection[Value]]
    common: float = 0.01
    searched: int = field(default=0, init=False)
    compared: int = field(default=0, init=False)
    having: dict[Value, Places] = field(init=False)

    def __post_init__(self) -> None:
        places: dict[Value, list[int]] = {}
        for place, values in enumerate(self.values):
            for value in values:
                places.setdefault(value, []).append(place)
        self.having = {value: np.array(found, dtype=np.int32) for value, found in places.items()}
        self._columns: dict[Value, NDArray[np.bool_]] = {}

    def most_similar(self, place: int, excluded: Collection[int] = ()) -> Best:
        """The best of all entities but itself and the excluded; exact.

        Whoever shares k of an entity's n values has one of its n - k + 1 rarest. So a first look at those with a rare
        value gives a k that the best reaches, and only if that needs more values is there a second one. Common values,
        such as a sex, name nobody then; they are counted for those whom the others named.
        """
        self.searched += 1
        values = sorted(self.values[place], key=lambda value: (len(self.having[value]), value))
        out = [place, *excluded]
        looked_up = sum(not self._is_common(value) for value in values)
        best, compared = self._look(values, looked_up, out)
        needed = len(values) - max(best.similarity, 1) + 1
        if needed > looked_up:
            best, compared = self._look(values, needed, out)
        self.compared += compared
        return best

    def _look(self, values: Sequence[Value], looked_up: int, out: Sequence[int]) -> tuple[Best, int]:
        """The best among those who have one of the first values and are not `out`, and how many those are."""
        named = np.zeros(len(self.values), dtype=bool)
        shared = np.zeros(len(self.values), dtype=np.int32)
        for value in values[:looked_up]:
            named[self.having[value]] = True
        named[out] = False
        found = np.flatnonzero(named).astype(np.int32)
        if not len(found):
            return Best(0, NOBODY), 0
        for value in values:
            if not self._is_common(value):
                shared[self.having[value]] += 1
        counts = shared[found]
        for value in filter(self._is_common, values):
            counts += self._column(value)[found]
        most = int(counts.max())
        return Best(most, found[counts == most]), len(found)

    def _is_common(self, value: Value) -> bool:
        return len(self.having[value]) > self.common * len(self.values)

    def _column(self, value: Value) -> NDArray[np.bool_]:
        """Who has a common value, shape (entities,)."""
        if value not in self._columns:
            self._columns[value] = np.zeros(len(self.values), dtype=bool)
            self._columns[value][self.having[value]] = True
        return self._columns[value]


def values_of(properties: Mapping[str, Collection[str]]) -> frozenset[Value]:
    return frozenset((name, value) for name, values in properties.items() for value in values)
