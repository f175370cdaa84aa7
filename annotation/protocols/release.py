"""How gold is published in splits that must share neither people nor things."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Payload = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Use:
    """Somebody or something that may be in one split only. key: what makes it the same; name: for people."""

    kind: str  # "worker" or what else a release keeps apart
    key: str
    name: str
    split: str


@dataclass(frozen=True)
class Release:
    """How gold is published: as rows of several splits, which must not share what they are to keep apart.

    splits: their names, in the order of an export of all. labelled: those whose labels leave only when asked for.
    rows: (payload, gold, the item's number in the study from 0) -> (split, row) of each row; the number makes ids that
        stay what they are while other items settle. unlabelled: row -> the row as it leaves without its label.
    uses: (payload, gold) -> what must be in one split only; a worker by their id, as `Counted` has it.
    modes: name -> kind -> sets of splits that may share; the first is the usual one.
    fault: rows of one item -> what is wrong with them, a sentence, or "".
    """

    splits: tuple[str, ...]
    rows: Callable[[Payload, Mapping[str, Any], int], list[tuple[str, Row]]]
    uses: Callable[[Payload, Mapping[str, Any]], list[Use]]
    modes: Mapping[str, Mapping[str, tuple[frozenset[str], ...]]]
    labelled: tuple[str, ...] = ()
    unlabelled: Callable[[Row], Row] = lambda row: row
    fault: Callable[[Sequence[tuple[str, Mapping[str, Any]]]], str] = lambda rows: ""

    def clashes(self, uses: Iterable[Use], mode: str) -> Iterator[tuple[Use, Use]]:
        """Uses of one thing in two splits that may not share it in this mode; the earlier one first."""
        first: dict[tuple[str, str], dict[str, Use]] = {}
        for use in uses:
            there = first.setdefault((use.kind, use.key), {})
            if use.split not in there:
                shared = self.modes[mode].get(use.kind, ())
                yield from (
                    (other, use) for other in there.values() if not any({other.split, use.split} <= s for s in shared)
                )
                there[use.split] = use
