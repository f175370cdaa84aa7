"""Checks of a claim about an entity (PROTOCOLS.md 3.2)."""

import re
from collections.abc import Sequence

from annotation.protocols.base import Problem, text_problem
from annotation.protocols.writing import words

FIRST_PERSON = re.compile(r"\W*(I|we|my|our)\b", re.IGNORECASE)
Spans = list[list[int]]  # [start, end) in characters


def name_of(entity: str) -> str:
    """The name without what tells it apart from others of that name: "Marlboro (cigarette)" -> "Marlboro"."""
    return re.sub(r"(?<=\S)\s*\([^()]*\)\s*$", "", entity).strip()


def _pattern(name: str, *, plural: bool) -> re.Pattern[str]:
    spaced = r"\s+".join(re.escape(word) for word in name.split())
    return re.compile(rf"(?<!\w){spaced}{'(?:s|es)?' if plural else ''}(?!\w)", re.IGNORECASE)


def find_mentions(claim: str, entity: str) -> Spans:
    """Where a claim names the entity: as whole words, in upper or lower case, also in the plural."""
    return [[m.start(), m.end()] for m in _pattern(name_of(entity), plural=True).finditer(claim)]


def find_marked(claim: str, mention: str) -> Spans:
    """Where the words are that somebody says mean the entity."""
    return [[m.start(), m.end()] for m in _pattern(mention, plural=False).finditer(claim)] if mention.strip() else []


def spans_of(claim: str, entity: str, mentions: Sequence[str] = ()) -> Spans:
    """The entity's own name, or else the first of the marked words that are there."""
    found = [find_mentions(claim, entity), *(find_marked(claim, mention) for mention in mentions)]
    return next(filter(None, found), [])


def first_person(claim: str, entity: str) -> str:
    """The word of the first person that a claim begins with, or ""; the name of an entity is none ("I, Robot")."""
    found = FIRST_PERSON.match(claim)
    if not found or any(start <= found.start(1) < end for start, end in find_mentions(claim, entity)):
        return ""
    return found[1]


def is_definition(claim: str, entity: str) -> bool:
    """Whether it only says what the entity is, as in "X is a ..."."""
    named = re.escape(name_of(entity))
    return bool(re.match(rf"\W*{named}(?:s|es)?\s+(is|are|was|were)\s+(a|an|the)\b", claim, re.IGNORECASE))


def claim_problems(field: str, claim: object, entity: str, mentions: Sequence[str], *, me: str) -> list[Problem]:
    """What there is to say about the text of a claim. field: its path in the answer.

    entity: "" while none is chosen. mentions: words marked as meaning it, the worker's own first. me: what the first
    person meets, "block" or "warn".
    """
    if problem := text_problem(claim):
        return [Problem(field, problem)]
    text, problems = str(claim).strip(), []
    if not words(text):
        return [Problem(field, "Write a sentence here.")]
    if text.endswith("?"):
        problems.append(Problem(field, "Write a statement, not a question: it ends with a question mark."))
    if word := first_person(text, entity):
        said = f"It begins with “{word}”. A claim is about the world, not about you: leave out the first person."
        problems.append(Problem(field, said, blocking=me == "block"))
    if entity and not spans_of(text, entity, mentions):
        said = f"It does not name “{name_of(entity)}”. Name it, or write which words of the claim mean it."
        problems.append(Problem(field, said))
    if entity and is_definition(text, entity):
        said = f"This defines “{name_of(entity)}”. Say what it does or what happens to it, with an action verb."
        problems.append(Problem(field, said, blocking=False))
    return problems
