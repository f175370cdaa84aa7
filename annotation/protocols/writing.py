"""Checks of short written sentences that several protocols share."""

import re
from collections.abc import Set
from difflib import SequenceMatcher
from hashlib import blake2b
from unicodedata import normalize

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


# --- Alike --------------------------------------------------------------------------------------

ALIKE = 0.8
MOST = 300  # words of a text that are looked at


def bag(text: str) -> frozenset[str]:
    """The words of a text, in lower case, without order and repetition."""
    return frozenset(words(text.lower())[:MOST])


def alike(one: Set[str], other: Set[str]) -> bool:
    """Whether two bags of words have a Jaccard similarity of at least ALIKE; texts without words are like nothing."""
    both = len(one & other)
    return bool(both) and both >= ALIKE * (len(one) + len(other) - both) - 1e-9


def normal(text: str) -> str:
    """What two wordings of one sentence share: case, blanks and the punctuation at the end make no difference."""
    return re.sub(r"[\s.!?…]+$", "", " ".join(normalize("NFC", text).casefold().split()))


def digest(text: str) -> str:
    """Of the normal form, 32 hexadecimal digits: the same for the same sentence."""
    return blake2b(normal(text).encode(), digest_size=16).hexdigest()


def changed_words(text: str, other: str) -> int:
    """How many words were changed between two texts: added, taken out, or replaced (which is one)."""
    matcher = SequenceMatcher(None, words(text), words(other), autojunk=False)
    return sum(max(b - a, d - c) for what, a, b, c, d in matcher.get_opcodes() if what != "equal")
