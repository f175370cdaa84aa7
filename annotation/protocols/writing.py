"""Checks of short written sentences that several protocols share."""

import re
from difflib import SequenceMatcher

WORD = re.compile(r"\w+(?:['’]\w+)*")
SENTENCE_START = re.compile(r"(?:^|[.!?]\s+)[\"“'(]*(\w+)")
PRONOUNS = frozenset({"he", "she", "it", "they", "this", "these"})


def words(text: str) -> list[str]:
    """Lower-cased words without punctuation."""
    return WORD.findall(text.lower())


def copied_share(text: str, source: str) -> float:
    """Share of the words of `text` that are one contiguous run of `source`, from 0 to 1."""
    mine, theirs = words(text), words(source)
    if not mine:
        return 0.0
    run = SequenceMatcher(None, mine, theirs, autojunk=False).find_longest_match().size
    return run / len(mine)


def starts_with_pronoun(text: str) -> str:
    """The first pronoun that opens a sentence, as written, or ''."""
    return next((w for w in SENTENCE_START.findall(text) if w.lower() in PRONOUNS), "")
