"""Majority and its ties."""

from collections import Counter
from collections.abc import Sequence


def agree(votes: Sequence[str]) -> bool:
    """True unless two votes differ; nobody and one person agree."""
    return len(set(votes)) <= 1


def majority(votes: Sequence[str]) -> str | None:
    """The vote of more than half, or None."""
    if not votes:
        return None
    vote, count = Counter(votes).most_common(1)[0]
    return vote if 2 * count > len(votes) else None
