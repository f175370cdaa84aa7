"""Which words of a text are not in another one: a pure function, for texts that people compare."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")  # a word, or one mark of punctuation
MAX_TOKENS = 200  # the time grows with the square and more; what is longer is not compared


@dataclass(frozen=True)
class Run:
    """A stretch of a text; `is_marked` where the other text has something else, or nothing."""

    text: str
    is_marked: bool = False


def runs(text: str, other: str) -> list[Run]:
    """The whole of `text`, cut where marks begin and end; upper and lower case are the same.

    Without an other text there is nothing to compare, and nothing is marked.
    """
    mine, theirs = list(TOKEN.finditer(text)), TOKEN.findall(other.lower())
    if not theirs or max(len(mine), len(theirs)) > MAX_TOKENS:
        return [Run(text)] if text else []
    matcher = SequenceMatcher(None, [token[0].lower() for token in mine], theirs, autojunk=False)
    cut, end = [], 0
    for what, first, last, _, _ in matcher.get_opcodes():
        if what != "equal" and last > first:
            begin, after = mine[first].start(), mine[last - 1].end()
            cut += [Run(text[end:begin]), Run(text[begin:after], is_marked=True)]
            end = after
    return [run for run in (*cut, Run(text[end:])) if run.text]


def differ(compared: Sequence[Sequence[Run]]) -> bool:
    """Whether anything is marked in any of them."""
    return any(run.is_marked for text in compared for run in text)
