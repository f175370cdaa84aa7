"""Minimal pairs: two questions that differ in one entity mention (PROTOCOLS.md 4.2)."""

from collections.abc import Iterator
from unicodedata import combining


def mentions(text: str, name: str) -> Iterator[int]:
    """Where `name` begins in `text` as a whole: not inside a longer word, as "Ann" is in "Anna". Case matters."""
    start = text.find(name) if name else -1
    while start >= 0:
        if is_whole(text, start, start + len(name)):
            yield start
        start = text.find(name, start + 1)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on across either end of text[start:end], which is not empty."""
    return not any(0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at]) for at in (start, end))


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or bool(combining(character))


def replace_first(text: str, name: str, by: str) -> str | None:
    """The text with its first mention of `name` replaced; None without one."""
    start = next(mentions(text, name), None)
    return None if start is None else text[:start] + by + text[start + len(name) :]


def differs_in_one_mention(without: str, with_: str, x: str, replacement: str) -> bool:
    """Whether the two differ in exactly one thing: one mention of `x` in the first is `replacement` in the second.

    Other mentions of `x`, in both alike, do not matter. False where both names are the same, for then nothing differs.
    """
    if not replacement or x == replacement or len(with_) - len(without) != len(replacement) - len(x):
        return False
    return any(
        with_[:start] == without[:start]
        and with_.startswith(replacement, start)
        and with_[start + len(replacement) :] == without[start + len(x) :]
        and is_whole(with_, start, start + len(replacement))
        for start in mentions(without, x)
    )
