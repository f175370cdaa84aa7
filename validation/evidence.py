"""Everything that is known about one item, as a line of time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from annotation import overview
from annotation.differences import Run, differ, runs
from annotation.models import Annotation, Event, Item, Study
from annotation.protocols.base import Answer, Stage
from validation import releases
from validation.models import Resolution

LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class Said:
    """An answer in words: what it comes to, and each question with what was chosen or written.

    beside: the letter of the annotation whose texts these differ from in the marked words, or "".
    """

    headline: str
    lines: Sequence[tuple[str, Sequence[Run]]]
    beside: str = ""


@dataclass(frozen=True)
class Judged:
    """An annotation that a verdict is about: its letter, who wrote it, where on the page it is."""

    letter: str
    who: str
    annotation: Annotation
    headline: str


@dataclass(frozen=True)
class Moment:
    """One event. `kind` chooses its look: "answer", "turn" (the item moved) or "step"."""

    at: datetime
    title: str
    kind: str
    who: str = ""
    why: str = ""
    annotation: Annotation | None = None
    said: Said | None = None
    judged: Sequence[Judged] = ()

    @property
    def minutes(self) -> str:
        return (
            f"{self.annotation.active_seconds / 60:.1f}" if self.annotation and self.annotation.active_seconds else ""
        )


@dataclass(frozen=True)
class Evidence:
    """The card: the source, what happened, what came of it."""

    item: Item
    resolution: Resolution | None
    stands: str
    swatch: str
    moments: Sequence[Moment]
    rest: Mapping[str, str]  # of the payload, besides what workers see
    gold_row: str


def evidence_of(study: Study, item: Item) -> Evidence:
    """Five queries. item: with its resolution."""
    annotations = list(item.annotations.select_related("assignment").order_by("submitted_at", "pk"))
    events = list(Event.objects.filter(item=item).order_by("pk"))
    workers = [a.worker_id for a in annotations] + [e.worker_id for e in events if e.worker_id]
    line = _Line(study, item, annotations, overview.running_codes(study, workers))
    moments = [Moment(item.created_at, "Imported", "step")]
    moments += [line.moment(e) for e in events]
    moments += [line.answer(a, a.submitted_at) for a in line.untold()]
    place = overview.place_of(item, study.protocol)
    resolution: Resolution | None = getattr(item, "resolution", None)
    return Evidence(
        item=item,
        resolution=resolution,
        stands=overview.PLACES[place][0].capitalize() if place else f"{item.get_role_display()} item, never collected",
        swatch=overview.swatch(place) if place else "",
        moments=sorted(moments, key=lambda m: m.at),
        rest=dict(sorted(_rest(item.payload, study.protocol.shown))),  # databases keep orders of their own
        gold_row=_gold_row(study, item, resolution),
    )


def _rest(payload: Mapping[str, Any], shown: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What no worker sees; an object's keys one by one."""
    for key, value in payload.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}: {inner}", _plain(v)) for inner, v in value.items())
        elif key not in shown:
            yield key, _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _gold_row(study: Study, item: Item, resolution: Resolution | None) -> str:
    """The lines an export would hold, laid out for reading; "" without gold."""
    if resolution is None or resolution.gold is None:
        return ""
    rows = releases.rows_of(study, item, resolution.gold)
    return "\n".join(json.dumps(row, ensure_ascii=False, indent=2) for row in rows)


class _Line:
    """Turns events into moments, with the answers where they belong."""

    def __init__(self, study: Study, item: Item, annotations: Sequence[Annotation], codes: Mapping[int, str]) -> None:
        self.protocol, self.payload, self.codes = study.protocol, item.payload, codes
        self.by_worker = {a.worker_id: a for a in annotations}  # nobody meets an item twice
        self.by_id = {a.pk: a for a in annotations}
        self.letters = self._lettered(annotations)
        self.told: set[int] = set()

    def _lettered(self, annotations: Sequence[Annotation]) -> dict[int, str]:
        """Annotation id -> its letter among the counted ones of its stage, the earlier submitted first."""
        letters: dict[int, str] = {}
        for stage in self.protocol.stages:
            ids = [a.pk for a in annotations if a.stage == stage.name and not a.uncounted and not stage.judges]
            letters |= dict(zip(ids, LETTERS, strict=False))
        return letters

    def moment(self, event: Event) -> Moment:
        if event.what.startswith("submitted") and (annotation := self.by_worker.get(event.worker_id or 0)):
            return self.answer(annotation, event.at, event.why)
        who = self.codes[event.worker_id] if event.worker_id else event.actor
        if event.what.startswith("moved to "):
            return Moment(event.at, self._turn(event), "turn", "", event.why)
        if event.what in Item.State.values:
            return Moment(event.at, overview.PLACES[overview.CLOSED[event.what]][0].capitalize(), "turn", "", event.why)
        return Moment(event.at, event.what.capitalize(), "step", who, event.why)

    def _turn(self, event: Event) -> str:
        stage = self.protocol.stage(event.what.removeprefix("moved to "))
        return "Contested" if stage.compares else f"{'On' if stage.judges else 'Back'} to “{stage.title}”"

    def answer(self, annotation: Annotation, at: datetime, why: str = "") -> Moment:
        self.told.add(annotation.pk)
        stage = self._stage(annotation)
        letter = self.letters.get(annotation.pk, "")
        title = "Verdict" if stage.judges and not stage.writings else f"Written ({letter})" if letter else "Written"
        if annotation.uncounted:
            title += f", not counted: {annotation.uncounted}"
        judged = [
            Judged(letter, self.codes[a.worker_id], a, say(self._stage(a), a.answer).headline)
            for letter, a in zip(LETTERS, map(self.by_id.get, annotation.assignment.judges), strict=False)
            if a
        ]
        other = self._beside(annotation) if letter else None
        said = say(stage, annotation.answer, other.answer if other else None)
        if other and differ([shown for _, shown in said.lines]):
            said = replace(said, beside=self.letters[other.pk])
        return Moment(at, title, "answer", self.codes[annotation.worker_id], why, annotation, said, judged)

    def _stage(self, annotation: Annotation) -> Stage:
        """As the item asked it of this annotation."""
        judged = [a.answer for a in map(self.by_id.get, annotation.assignment.judges) if a]
        return self.protocol.stage(annotation.stage).fitted(self.payload, judged)

    def _beside(self, annotation: Annotation) -> Annotation | None:
        """The one to compare with: the first of the same stage, for which it is the second."""
        same = [a for a in self.by_id.values() if a.stage == annotation.stage and a.pk in self.letters]
        return next((a for a in same if a.pk != annotation.pk), None)

    def untold(self) -> list[Annotation]:
        """Answers that no event tells of."""
        return [a for a in self.by_id.values() if a.pk not in self.told]


def say(stage: Stage, answer: Answer, other: Answer | None = None) -> Said:
    """The answer in the words of the page it was given on, its texts marked where those of `other` differ."""
    fields, theirs = stage.spread(answer), stage.spread(other) if other else {}
    lines: list[tuple[str, Sequence[Run]]] = []
    for question in stage.relevant(fields):
        chosen = [c.label for c in question.choices if c.value == fields.get(question.name)]
        if question.scale:
            chosen = [f"{question.scale.rating(int(fields[question.name])):.2f} {question.scale.unit}"]
        elif not (question.choices or question.parts) and (written := fields.get(question.name)):
            chosen = [written]
        lines += [(question.text, [Run(label)]) for label in chosen]
        for column in question.columns:
            value = fields.get(f"{question.name}.{column.name}")
            meant = [f"{c.value} {c.label}".strip() for c in column.choices if c.value == value]
            lines += [(f"{question.text}: {column.text}", [Run(label)]) for label in meant]
        for group in question.groups:
            texts = [(label, runs(fields.get(name, ""), theirs.get(name, ""))) for name, _, label in group]
            lines += [(label, text) for label, text in texts if text]
    is_one = len(stage.questions) == 1 and lines
    headline = lines[0][1][0].text if is_one else stage.summary(answer)
    return Said(headline, lines if len(stage.questions) > 1 else [])
