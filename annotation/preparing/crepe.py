"""Question/comment pairs out of dumps of a forum (PROTOCOLS.md 1.1).

A question keeps its highest-scored reply; of equally scored ones the first in the file. A reply is a comment on the
question itself, not on another comment. Both files may have Reddit's names or plain ones.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from annotation.preparing.near import Near
from annotation.preparing.rows import Tell, good_rows, normalised, text
from annotation.protocols.writing import WORD
from annotation.reading import Row

Splits = Mapping[str, tuple[date, date]]  # name -> its first and last day, UTC; the first name is the training side

SPLITS = "train=2011-01-01..2018-12-31,dev=2019-01-01..2019-06-30,test=2019-07-01..2019-12-31"  # Table 1
EXCEPT = "hell,damn"  # App. A
GONE = {"[removed]", "[deleted]", "[removed by moderator]", "[deleted by user]"}
PREFIX = re.compile(r"^t\d_")  # the kind of thing an id of Reddit's names: t1 a comment, t3 a question
QUESTIONS, COMMENTS = "questions", "comments"  # as the report names the files


@dataclass
class Question:
    """A question that passed, and the best reply so far. row: its place in the file."""

    row: int
    ref: str
    question: str
    split: str
    posted_at: str
    score: int | float
    comment: str = ""
    comment_ref: str = ""
    comment_row: int = 0
    comment_score: int | float = -math.inf

    def as_item(self) -> dict[str, Any]:
        return {
            "id": self.ref,
            "question": self.question,
            "comment": self.comment,
            "split": self.split,
            "posted_at": self.posted_at,
            "score": self.score,
            "meta": {"comment_id": self.comment_ref or None, "comment_score": self.comment_score},
        }


def prepare(
    questions: Iterable[Row],
    comments: Iterable[Row],
    *,
    splits: Splits,
    min_score: float,
    words: Collection[str],
    exceptions: Collection[str],
    tell: Tell,
) -> list[Question]:
    """Questions in their order, each with its best reply; every other row is told. Comments are read once.

    words: questions with one of these are dropped, unless it is in `exceptions`; whole words, in any case.
    """
    unwanted = {word.casefold() for word in words} - {word.casefold() for word in exceptions}
    asked, dropped = _asked(questions, splits, min_score, finder(unwanted), tell)
    _answer(asked, dropped, comments, tell)
    answered = []
    for question in asked.values():
        if question.comment:
            answered.append(question)
        else:
            tell(QUESTIONS, question.row, question.ref, "no comment")
    return _distinct(answered, list(splits), tell)


def _asked(
    questions: Iterable[Row], splits: Splits, min_score: float, find: Callable[[str], str], tell: Tell
) -> tuple[dict[str, Question], set[str]]:
    """The questions that pass, by id; and the ids of the others."""
    asked: dict[str, Question] = {}
    dropped: set[str] = set()
    for number, row in good_rows(questions, QUESTIONS, tell):
        ref = plain_ref(text(row, "id", "name"))
        if ref in asked:
            tell(QUESTIONS, number, ref, "id used twice", first=asked[ref].row)
            continue
        question, score, posted = text(row, "title", "question"), number_of(row.get("score")), _posted(row)
        split = posted and next((name for name, (first, last) in splits.items() if first <= posted.date() <= last), "")
        if not ref or not question or score is None or posted is None:
            missing = {"id": ref, "title": question, "score": score, "created_utc": posted}
            tell(
                QUESTIONS,
                number,
                ref or None,
                "missing field",
                fields=[n for n, v in missing.items() if v in ("", None)],
            )
        elif GONE & {question.lower(), text(row, "selftext").lower()}:
            tell(QUESTIONS, number, ref, "removed or deleted")
        elif not split:
            tell(QUESTIONS, number, ref, "posted outside every split", posted_at=posted.isoformat())
        elif score < min_score:
            tell(QUESTIONS, number, ref, "score below the threshold", score=score)
        elif word := find(question):
            tell(QUESTIONS, number, ref, "holds a word of the list", word=word)
        else:
            asked[ref] = Question(number, ref, question, split, posted.isoformat(), score)
            continue
        if ref:
            dropped.add(ref)
    return asked, dropped


def _answer(asked: Mapping[str, Question], dropped: Collection[str], comments: Iterable[Row], tell: Tell) -> None:
    """Give every question its best reply."""
    for number, row in good_rows(comments, COMMENTS, tell):
        ref, body, score = plain_ref(text(row, "id", "name")), text(row, "body", "comment"), number_of(row.get("score"))
        parent, thread = text(row, "parent_id"), text(row, "question_id", "link_id", "parent_id")
        question = asked.get(plain_ref(thread))
        if not thread or not body or score is None:
            missing = {"link_id": thread, "body": body, "score": score}
            tell(
                COMMENTS,
                number,
                ref or None,
                "missing field",
                fields=[n for n, v in missing.items() if v in ("", None)],
            )
        elif parent.startswith("t1_") or (parent and plain_ref(parent) != plain_ref(thread)):
            tell(COMMENTS, number, ref or None, "reply to a comment")
        elif question is None:
            known = plain_ref(thread) in dropped
            tell(COMMENTS, number, ref or None, "its question was dropped" if known else "its question is not there")
        elif body.lower() in GONE:
            tell(COMMENTS, number, ref or None, "removed or deleted")
        elif score > question.comment_score:
            if question.comment:
                _lost(question.comment_row, question.comment_ref, question, tell)
            question.comment, question.comment_ref = body, ref
            question.comment_row, question.comment_score = number, score
        else:
            _lost(number, ref, question, tell)


def _lost(row: int, ref: str, question: Question, tell: Tell) -> None:
    tell(COMMENTS, row, ref or None, "another comment has a higher score", question=question.ref)


def _distinct(questions: Sequence[Question], splits: Sequence[str], tell: Tell) -> list[Question]:
    """One of each exact duplicate, normalised: of the last split that has it, there the first of the file."""
    kept: dict[str, Question] = {}
    for question in sorted(questions, key=lambda q: (-splits.index(q.split), q.row)):
        first = kept.setdefault(normalised(question.question), question)
        if first is not question:
            where = "in its split" if first.split == question.split else "in another split"
            tell(QUESTIONS, question.row, question.ref, f"exact duplicate {where}", kept=first.ref, split=first.split)
    return sorted(kept.values(), key=lambda q: q.row)


def drop_near(questions: Sequence[Question], near: Iterable[Near], training: str, tell: Tell) -> list[Question]:
    """The questions without those of the training split that are near duplicates of one in another split."""
    kept: dict[int, int] = {}  # dropped -> in whose favour
    for pair in near:
        for one, other in ((pair.one, pair.other), (pair.other, pair.one)):
            if questions[one].split == training:
                kept.setdefault(one, other)
    for place in sorted(kept):
        question = questions[place]
        tell(QUESTIONS, question.row, question.ref, "near duplicate in another split", kept=questions[kept[place]].ref)
    return [question for place, question in enumerate(questions) if place not in kept]


def read_splits(written: str) -> dict[str, tuple[date, date]]:
    """ "train=2011-01-01..2018-12-31,dev=..." -> first and last day of each. Raises ValueError with what is wrong."""
    splits: dict[str, tuple[date, date]] = {}
    for part in written.split(","):
        name, _, days = part.strip().partition("=")
        try:
            first, last = (date.fromisoformat(day) for day in days.split(".."))
        except ValueError:
            raise ValueError(f"a split is written NAME=FIRST-DAY..LAST-DAY, as in {SPLITS}; it was {part!r}") from None
        if not name or name in splits or first > last:
            raise ValueError(f"the split {part!r} has no name, a name that was used, or ends before it begins")
        splits[name] = (first, last)
    in_order = sorted((*span, name) for name, span in splits.items())
    for (_, last, name), (first, _, after) in pairwise(in_order):
        if first <= last:
            raise ValueError(f"the splits {name} and {after} overlap")
    return splits


def finder(words: Collection[str]) -> Callable[[str], str]:
    """A function that finds one of `words` (in lower case) that is in a text as a whole word, or "".

    Single words are looked up among the text's words; what holds blanks or signs is searched for.
    """
    single = {word for word in words if WORD.fullmatch(word)}
    others = sorted({word for word in words if word} - single)
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, others)) + r")(?!\w)") if others else None

    def find(written: str) -> str:
        folded = written.casefold()
        if found := single & {*WORD.findall(folded), *re.findall(r"\w+", folded)}:  # "damn's" is two words too
            return min(found)
        searched = pattern.search(folded) if pattern else None
        return searched[0] if searched else ""

    return find


def plain_ref(ref: str) -> str:
    return PREFIX.sub("", ref)


def number_of(value: object) -> int | float | None:
    """A finite number, or the text of one; a float without a fraction becomes whole."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _posted(row: Mapping[str, Any]) -> datetime | None:
    """When, in UTC: seconds since 1970, or an ISO date or time (in UTC where it names no zone)."""
    value = row.get("created_utc", row.get("posted_at"))
    seconds = number_of(value)
    try:
        if seconds is not None:
            return datetime.fromtimestamp(seconds, UTC)
        when = datetime.fromisoformat(value.strip() if isinstance(value, str) else "")
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
