"""Syn-(QA)2's multi-hop pairs: a HotpotQA question, and the same one with a distractor's title for a true page's.

Exactly one mention is replaced: the title and the distractor that share most categories (PROTOCOLS.md 4.2).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from annotation.preparing.rows import Tell, good_rows, text, texts
from annotation.protocols.base import BadRow
from annotation.protocols.pairs import differs_in_one_mention, mentions, replace_first
from annotation.reading import Row

QUESTIONS, CATEGORIES = "hotpot", "categories"  # as the report names the files
TYPES = ("bridge", "comparison")
BRACKET = re.compile(r"\s*\([^()]*\)\s*$")

Categories = Mapping[str, frozenset[str]]  # page title -> its categories


@dataclass(frozen=True)
class Swap:
    """A title that the question mentions, a distractor for it, and how many categories they share."""

    title: str
    distractor: str
    similarity: int


def make(
    questions: Iterable[Row], categories: Categories, *, threshold: int = 1, seed: int = 0, tell: Tell
) -> Iterator[dict[str, Any]]:
    """Items in the questions' order; every other question is told."""
    rows: dict[str, int] = {}
    for number, row in good_rows(questions, QUESTIONS, tell):
        ref = text(row, "_id", "id")
        try:
            question, supporting, context = _read(row)
        except BadRow as error:
            tell(QUESTIONS, number, ref or None, "not in HotpotQA's format", detail=str(error))
            continue
        if ref in rows:
            tell(QUESTIONS, number, ref, "id used twice", first=rows[ref])
            continue
        rows[ref] = number
        mentioned = [title for title in supporting if next(mentions(question, spoken(title)), None) is not None]
        distractors = [title for title in context if title not in supporting and not _is_in(title, question)]
        swaps = _swaps(mentioned, distractors, categories)
        best = max((swap.similarity for swap in swaps), default=0)
        if not mentioned:
            tell(QUESTIONS, number, ref, "no supporting title in the question", titles=supporting)
        elif not distractors:
            tell(QUESTIONS, number, ref, "no distractor that the question does not mention already")
        elif best == 0:
            tell(QUESTIONS, number, ref, "no distractor shares a category", titles=mentioned)
        elif best < threshold:
            tell(QUESTIONS, number, ref, "best below the threshold", best=best)
        else:
            swap = Random(f"{seed} {ref}").choice([swap for swap in swaps if swap.similarity == best])
            item = _item(ref, row, question, swap)
            if differs_in_one_mention(question, item["question_with"], item["x"], item["replacement"]):
                yield item
            else:
                tell(QUESTIONS, number, ref, "differs in more than one mention", titles=[swap.title, swap.distractor])


def _swaps(mentioned: Iterable[str], distractors: Iterable[str], categories: Categories) -> list[Swap]:
    """Every title with every distractor that is spoken otherwise."""
    nothing: frozenset[str] = frozenset()
    return [
        Swap(title, other, len(categories.get(title, nothing) & categories.get(other, nothing)))
        for title in mentioned
        for other in distractors
        if spoken(title) != spoken(other)
    ]


def _item(ref: str, row: Mapping[str, Any], question: str, swap: Swap) -> dict[str, Any]:
    x, replacement = spoken(swap.title), spoken(swap.distractor)
    return {
        "id": f"multi-{ref}",
        "kind": "multi_hop",
        "relation": row.get("type") if row.get("type") in TYPES else None,
        "x": x,
        "replacement": replacement,
        "y": text(row, "answer"),
        "question_without": question,
        "question_with": replace_first(question, x, replacement) or question,
        "similarity": swap.similarity,
        "meta": {"title": swap.title, "replacement_title": swap.distractor},
    }


def spoken(title: str) -> str:
    """A page's title as a sentence has it: without the brackets that tell pages of one name apart."""
    return BRACKET.sub("", title) or title


def _is_in(title: str, question: str) -> bool:
    return next(mentions(question, spoken(title)), None) is not None


def _read(row: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    """Question, titles of the true pages, titles of all pages; each title once. Raises BadRow."""
    for name in ("question", "answer"):
        if not text(row, name):
            raise BadRow(f"'{name}' is missing or not a text")
    if not text(row, "_id", "id"):
        raise BadRow("'_id' is missing")
    return text(row, "question"), _titles(row, "supporting_facts"), _titles(row, "context")


def _titles(row: Mapping[str, Any], name: str) -> list[str]:
    listed = row.get(name)
    if not isinstance(listed, list) or not all(
        isinstance(each, list) and each and isinstance(each[0], str) and each[0].strip() for each in listed
    ):
        raise BadRow(f"'{name}' must be a list of lists that begin with a title")
    return list(dict.fromkeys(each[0].strip() for each in listed))


def read_categories(pages: Iterable[Row], tell: Tell) -> dict[str, frozenset[str]]:
    """Title -> categories, of which each is kept once in memory; another row of the same title is told."""
    found: dict[str, frozenset[str]] = {}
    rows: dict[str, int] = {}
    known: dict[str, str] = {}
    for number, row in good_rows(pages, CATEGORIES, tell):
        title = text(row, "title")
        if not title or not isinstance(row.get("categories"), list):
            missing = "categories" if title else "title"
            tell(CATEGORIES, number, title or None, "missing field", fields=[missing])
        elif title in rows:
            tell(CATEGORIES, number, title, "same title as another page", first=rows[title])
        else:
            rows[title] = number
            found[title] = frozenset(known.setdefault(each, each) for each in texts(row, "categories"))
    return found
