"""A model's outputs against gold: `manage.py score crepe-detection|crepe-writing|synqa2-detection --gold FILE ...`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation import console
from annotation.preparing.rows import as_line
from validation.scoring import assumptions, detection, writing
from validation.scoring.files import File, read_assumptions, read_detection, read_writing

Scored = tuple[dict[str, Any], Iterator[dict[str, Any]]]  # what is printed, and what is said of each item


class Command(console.Command):
    help = "Score a model's outputs against gold. Prints JSON, with 95% bootstrap intervals over items."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
        parser.add_argument("--gold", metavar="FILE", required=True, help="rows as export_gold writes them")
        parser.add_argument("--predictions", metavar="FILE", required=True, help="a row with an id for each output")
        parser.add_argument("--per-item", metavar="FILE", help="write here how each item was scored")
        parser.add_argument("--resamples", type=int, default=1000, help="of the bootstrap (1000)")
        parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")

    def handle(
        self, *, kind: str, gold: str, predictions: str, per_item: str | None, resamples: int, seed: int, **_: Any
    ) -> None:
        if resamples < 1 or seed < 0:
            raise CommandError("--resamples must be 1 or more, and --seed not negative.")
        with ExitStack() as stack:
            known, said = (File(name, stack.enter_context(console.opened(name))) for name in (gold, predictions))
            scored, items = KINDS[kind](known, said, resamples, seed)
            if per_item:
                write = stack.enter_context(self.writing(per_item))
                for item in items:
                    write(as_line(item))
        self.print_json(scored)


def _detection(gold: File, predictions: File, resamples: int, seed: int) -> Scored:
    labels = read_detection(gold, predictions)
    known, said = zip(*labels.values(), strict=True)
    scored = detection.score(known, said, resamples=resamples, seed=seed)
    return scored, ({"id": ref, "gold": g, "predicted": p, "right": g == p} for ref, (g, p) in labels.items())


def _writing(gold: File, predictions: File, resamples: int, seed: int) -> Scored:
    written, parts = read_writing(gold, predictions)

    def said(each: writing.Written, part: str) -> dict[str, Any]:
        f1, reference = writing.best_f1(each.outputs[part], each.references[part])
        return {"predicted": each.outputs[part], "unigram_f1": round(f1, 6), "reference": reference}

    items = ({"id": ref, **{part: said(each, part) for part in parts}} for ref, each in written.items())
    return writing.score(list(written.values()), parts, resamples=resamples, seed=seed), items


def _assumptions(gold: File, predictions: File, resamples: int, seed: int) -> Scored:
    answered = read_assumptions(gold, predictions)
    items = (
        {
            "id": ref,
            "question": each.side,
            "kind": each.kind or None,
            "answer": each.answer,
            "read_as": assumptions.parse(each.answer),
            "right": each.is_right,
        }
        for (ref, _), each in answered.items()
    )
    return assumptions.score(list(answered.values()), resamples=resamples, seed=seed), items


KINDS: dict[str, Callable[[File, File, int, int], Scored]] = {
    "crepe-detection": _detection,
    "crepe-writing": _writing,
    "synqa2-detection": _assumptions,
}
