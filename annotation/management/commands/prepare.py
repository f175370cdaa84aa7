"""Items out of raw material: `manage.py prepare crepe|creak|synqa2-single|synqa2-multi|near-duplicates ...`."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandError, CommandParser

from annotation import console
from annotation.preparing import creak, crepe, multi_hop, single_hop
from annotation.preparing.near import near_duplicates
from annotation.preparing.rows import Report, as_line, good_rows, rows, text
from annotation.preparing.similar import Index
from annotation.reading import BadFile, Row

T = TypeVar("T")
Made = Iterator[dict[str, Any]]  # items; what more the summary says is added to `more` on the way

OFTEN = 1_000  # rows between two steps of the progress


class Command(console.Command):
    help = (
        "Make items for a study out of files (JSONL, CSV or JSON, gzip too). The same files and --seed give the same "
        "items. Prints as JSON how many were made, and how many rows were dropped for which reason."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
        for name, add in ARGUMENTS.items():
            about = (add.__doc__ or "").partition("\n")[0]
            kind = kinds.add_parser(name, help=about, description=about)
            add(kind)
            kind.add_argument("--out", metavar="FILE", required=True, help="write what is made here")
            kind.add_argument("--report", metavar="FILE", help="write every dropped row with its reason here")
            kind.add_argument("--seed", type=seed, default=0, help="decides what is left to chance (0 unless given)")

    def handle(self, *, kind: str, out: str, report: str | None, **options: Any) -> None:
        if "-" in (out, report):
            raise CommandError("Name a file to write to: standard output is for the summary.")
        if report and Path(report).resolve() == Path(out).resolve():
            raise CommandError("--out and --report name the same file.")
        make = getattr(self, "make_" + kind.replace("-", "_"))
        made: Counter[str] = Counter()
        more: dict[str, Any] = {}
        with ExitStack() as stack:
            write = stack.enter_context(self.writing(out))
            tell = Report(stack.enter_context(self.writing(report)) if report else lambda line: None)
            for item in make(tell=tell, more=more, **options):
                made[item.get("split", "")] += 1
                write(as_line(item))
        dropped = sum(sum(reasons.values()) for reasons in tell.reasons.values())
        found = {"items": made.total(), "dropped": dropped, "reasons": tell.reasons, **more}
        if set(made) - {""}:
            found["splits"] = dict(sorted(made.items()))
        self.print_json({"kind": kind, "out": out, **found})

    def make_crepe(self, *, tell: Report, more: dict[str, Any], **given: Any) -> Made:
        splits = understood("--splits", crepe.read_splits, given["splits"])
        words = _lines(given["words"]) if given["words"] else []
        with following(given["questions"]) as questions, following(given["comments"]) as comments:
            found = crepe.prepare(
                questions,
                comments,
                splits=splits,
                min_score=given["min_score"],
                words=words,
                exceptions=given["exceptions"].split(","),
                tell=tell,
            )
        with console.Progress("comparing", len(found), " questions") as progress:
            near = near_duplicates(
                [question.question for question in found],
                [question.split for question in found],
                **_how(given),
                progress=progress,
            )
        for pair in near:
            one, other = found[pair.one], found[pair.other]
            ids, names = [one.ref, other.ref], [one.split, other.split]
            tell.write(as_line({"near": ids, "splits": names, "similarity": pair.similarity}))
        more["near_duplicates"] = len(near)
        if given["drop_near"]:
            found = crepe.drop_near(found, near, next(iter(splits)), tell)
        yield from (question.as_item() for question in found)

    def make_creak(self, *, tell: Report, more: dict[str, Any], **given: Any) -> Made:
        shares = understood("--splits", creak.read_shares, given["splits"])
        with following(given["pool"]) as pool:
            entities = creak.read_pool(pool, tell)
        parts = creak.divide(entities, shares, given["mode"], given["seed"])
        more["entities"] = {split: len(part) for split, part in parts.items()}
        yield from creak.draw(parts, size=given["size"], sets=given["sets"], times=given["times"], seed=given["seed"])

    def make_synqa2_single(self, *, tell: Report, more: dict[str, Any], **given: Any) -> Made:
        with following(given["templates"], "templates") as templates:
            questions = single_hop.read_templates(templates, tell)
        with following(given["entities"], "entities") as entities:
            names, values = single_hop.read_entities(entities, tell)
        index = Index(values)
        pairs = single_hop.Pairs(names, index, questions, given["threshold"], given["limit"])
        pairs.seed, pairs.skip_known = given["seed"], given["skip_known"]
        with (
            following(given["triples"], "true_triples") as triples,
            console.Progress("searching", unit=" triples") as done,
        ):
            for item in pairs.make(triples, tell):
                done(index.searched)
                yield item
        more["entity_pairs_compared"] = index.compared
        more["without_index"] = index.searched * max(0, len(names) - 1)

    def make_synqa2_multi(self, *, tell: Report, more: dict[str, Any], **given: Any) -> Made:
        with following(given["categories"]) as pages:
            categories = multi_hop.read_categories(pages, tell)
        with following(given["hotpot"]) as questions:
            yield from multi_hop.make(
                questions, categories, threshold=given["threshold"], seed=given["seed"], tell=tell
            )

    def make_near_duplicates(self, *, tell: Report, more: dict[str, Any], **given: Any) -> Made:
        field, split_field = given["field"], given["split_field"]
        refs, texts, splits = [], [], []
        with following(given["file"]) as compared:
            for number, row in good_rows(compared, "rows", tell):
                ref, written, split = (text(row, name) for name in (given["id_field"], field, split_field or ""))
                if not written or (split_field and not split):
                    tell("rows", number, ref or None, "missing field", fields=[split_field if written else field])
                    continue
                refs.append(ref or str(number))
                texts.append(written)
                splits.append(split)
        with console.Progress("comparing", len(texts), " texts") as progress:
            near = near_duplicates(texts, splits if split_field else None, **_how(given), progress=progress)
        more["rows"] = len(texts)
        for pair in near:
            places = (pair.one, pair.other)
            yield {
                "near": [refs[place] for place in places],
                "splits": [splits[place] or None for place in places],
                "similarity": pair.similarity,
                "texts": [texts[place] for place in places],
            }


# --- Arguments of each kind ------------------------------------------------------------------------


def crepe_arguments(parser: argparse.ArgumentParser) -> None:
    """Pair questions with their best comments, in splits by date."""
    parser.add_argument(
        "questions", metavar="QUESTIONS", help="id, title (or question), score, created_utc (or posted_at)"
    )
    parser.add_argument(
        "comments", metavar="COMMENTS", help="link_id (or question_id, parent_id), body (or comment), score"
    )
    parser.add_argument("--min-score", type=float, default=0, help="of a question; the paper does not tell its own")
    parser.add_argument("--words", metavar="FILE", help="a word on each line; questions with one of them are dropped")
    parser.add_argument(
        "--except", dest="exceptions", default=crepe.EXCEPT, help=f"words that are fine ({crepe.EXCEPT} unless given)"
    )
    parser.add_argument(
        "--splits", default=crepe.SPLITS, help=f"first and last day, in UTC; the first is for training ({crepe.SPLITS})"
    )
    parser.add_argument(
        "--drop-near", action="store_true", help="drop near duplicates of other splits from the one for training"
    )
    near_arguments(parser)


def creak_arguments(parser: argparse.ArgumentParser) -> None:
    """Draw sets of entities from a pool, divided among the splits first."""
    parser.add_argument("pool", metavar="POOL", help="entity, en_wiki_pageid, description, keywords")
    number = parser.add_mutually_exclusive_group(required=True)
    number.add_argument("--sets", type=positive, metavar="N", help="so many sets for each split")
    number.add_argument("--times", type=positive, metavar="K", help="sets in which every entity occurs so many times")
    parser.add_argument("--size", type=positive, default=creak.SIZE, help=f"entities in a set ({creak.SIZE})")
    parser.add_argument("--splits", default=creak.SPLITS, help=f"shares of the entities ({creak.SPLITS})")
    parser.add_argument(
        "--mode", choices=creak.MODES, default="strict", help="as_released lets all splits but train share entities"
    )


def single_arguments(parser: argparse.ArgumentParser) -> None:
    """Make question pairs from true triples by replacing x with the most similar entity."""
    parser.add_argument("triples", metavar="TRIPLES", help="relation, x, y")
    names = ", ".join(single_hop.PROPERTIES)
    parser.add_argument("entities", metavar="ENTITIES", help=f"entity, and lists of its values: {names}")
    parser.add_argument("templates", metavar="TEMPLATES", help="relation, template with {x} and {y}")
    parser.add_argument(
        "--threshold", type=positive, default=single_hop.THRESHOLD, help="least number of shared values (3)"
    )
    parser.add_argument(
        "--limit", type=positive, default=single_hop.LIMIT, help="triples of each relation, the first ones (200)"
    )
    parser.add_argument(
        "--skip-known",
        action="store_true",
        help="replace by nobody of whom ENTITIES says that the relation holds, where it is one of those values",
    )


def multi_arguments(parser: argparse.ArgumentParser) -> None:
    """Make question pairs from HotpotQA by replacing a true page's title with a distractor's."""
    parser.add_argument("hotpot", metavar="HOTPOT", help="HotpotQA's questions in the distractor setting")
    parser.add_argument("categories", metavar="CATEGORIES", help="title, categories")
    parser.add_argument("--threshold", type=positive, default=1, help="least number of shared categories (1)")


def near_duplicates_arguments(parser: argparse.ArgumentParser) -> None:
    """Name texts that are nearly the same in different splits."""
    parser.add_argument("file", metavar="FILE", help="rows with a text")
    parser.add_argument("--field", default="question", help="the text that is compared (question)")
    parser.add_argument("--split-field", help="only texts that differ in it are compared; all unless given")
    parser.add_argument("--id-field", default="id", help="what a row is called (id; else its number)")
    near_arguments(parser)


def near_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ngram", type=positive, default=4, help="characters in a run that both may have (4)")
    parser.add_argument(
        "--similar", type=share, default=0.8, help="least share of runs that both have, of all that one has (0.8)"
    )


ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "crepe": crepe_arguments,
    "creak": creak_arguments,
    "synqa2-single": single_arguments,
    "synqa2-multi": multi_arguments,
    "near-duplicates": near_duplicates_arguments,
}


def seed(written: str) -> int:
    number = int(written)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to {2**32 - 1}; it was {written}")
    return number


def positive(written: str) -> int:
    number = int(written)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more; it was {written}")
    return number


def share(written: str) -> float:
    number = float(written)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most 1; it was {written}")
    return number


# --- Files ---------------------------------------------------------------------------------------


@contextmanager
def following(name: str, key: str = "") -> Iterator[Iterable[Row]]:
    """The rows of a file (see `rows`), with progress. Raises CommandError, naming the file."""
    with console.opened(name) as file, console.reading(file) as progress:
        try:
            yield _told(rows(file, key), progress)
        except BadFile as error:
            raise CommandError(f"{name}: {error.sentence}") from error
        except OSError as error:
            raise CommandError(f"Cannot read {name}: {error.strerror}.") from error


def _told(numbered: Iterable[Row], progress: Callable[[int], None]) -> Iterator[Row]:
    for done, row in enumerate(numbered, 1):
        if done % OFTEN == 0:
            progress(done)
        yield row


def understood(option: str, read: Callable[[str], T], written: str) -> T:
    """What an option says. Raises CommandError with what would be right."""
    try:
        return read(written)
    except ValueError as error:
        raise CommandError(f"{option}: {error}.") from error


def _lines(name: str) -> list[str]:
    with console.opened(name) as file:
        try:
            return [word for line in file.read().decode("utf-8-sig").splitlines() if (word := line.strip())]
        except UnicodeDecodeError as error:
            raise CommandError(f"{name} is not UTF-8.") from error


def _how(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("ngram", "similar", "seed")}
