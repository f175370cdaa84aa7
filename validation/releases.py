"""Gold in the splits of a release (see `protocols.release`), refused where two would share what is kept apart."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import Item, Study
from annotation.models.workers import running_code
from annotation.protocols.release import Release, Use
from validation.errors import NoSplit, SharedAcrossSplits, WrongPair

Row = dict[str, Any]
# (item id, payload, gold) -> its rows, each with its split.
Rows = Callable[[int, Mapping[str, Any], Mapping[str, Any]], list[tuple[str, Row]]]


@dataclass(frozen=True)
class Wanted:
    """What of a release. split: "" for all, one after the other. mode: how strictly splits are kept apart, "" for the
    protocol's usual way. labels: also of a split that is published without them.
    """

    split: str = ""
    mode: str = ""
    labels: bool = False


EVERYTHING = Wanted()


def splits(study: Study, wanted: Wanted) -> tuple[str, ...]:
    """Those to write, in order. Raises NoSplit."""
    release = study.protocol.release
    if release is None:
        if wanted != EVERYTHING:
            raise NoSplit(f"{study.protocol.title} is not published in splits: leave out split, mode and labels.")
        return ("",)
    if wanted.split and wanted.split not in release.splits:
        raise NoSplit(f"There is no split {wanted.split!r}, only {', '.join(release.splits)}.")
    if wanted.mode and wanted.mode not in release.modes:
        raise NoSplit(f"There is no mode {wanted.mode!r}, only {', '.join(release.modes)}.")
    return (wanted.split,) if wanted.split else release.splits


def maker(study: Study, wanted: Wanted = EVERYTHING) -> Rows:
    """How an item's gold becomes rows, each with its split. Looks at all gold first. Raises SharedAcrossSplits or
    WrongPair, naming what is wrong.
    """
    protocol = study.protocol
    release = protocol.release
    if release is None:
        return lambda pk, payload, gold: [("", row) for row in protocol.export_rows(payload, gold)]
    numbers = {pk: n for n, pk in enumerate(_work(study).values_list("pk", flat=True))}
    _check(study, release, wanted.mode or next(iter(release.modes)), numbers)

    def rows(pk: int, payload: Mapping[str, Any], gold: Mapping[str, Any]) -> list[tuple[str, Row]]:
        every = release.rows(payload, gold, numbers[pk])
        hidden = () if wanted.labels else release.labelled
        return [(split, release.unlabelled(row) if split in hidden else row) for split, row in every]

    return rows


def rows_of(study: Study, item: Item, gold: Mapping[str, Any]) -> list[Row]:
    """All rows of one item."""
    release = study.protocol.release
    if release is None:
        return study.protocol.export_rows(item.payload, gold)
    number = _work(study).filter(pk__lt=item.pk).count()
    return [row for _, row in release.rows(item.payload, gold, number)]


def _work(study: Study) -> Any:
    """Items are never deleted, so their places in the order of import stay."""
    return study.items.work().order_by("pk")


def _check(study: Study, release: Release, mode: str, numbers: Mapping[int, int]) -> None:
    settled = _work(study).filter(resolution__outcome="settled")
    columns = settled.values_list("pk", "payload", "resolution__gold")

    def uses() -> Iterator[Use]:
        for pk, payload, gold in columns.iterator(chunk_size=2_000):
            if fault := release.fault(release.rows(payload, gold, numbers[pk])):
                raise WrongPair(fault)
            yield from release.uses(payload, gold)

    clash = next(release.clashes(uses(), mode), None)
    if clash is None:
        return
    there, here = clash
    name = _worker(study, int(here.key)) if here.kind == "worker" else repr(here.name)
    said = f"The {here.kind} {name} occurs in {there.split} and in {here.split}, which must not share any."
    able = [m for m in release.modes if not any(release.clashes([there, here], m))]
    raise SharedAcrossSplits(said + (f" The mode {able[0]} allows it." if able else " Nothing was exported."))


def _worker(study: Study, worker: int) -> str:
    number = study.enrolments.values_list("number", flat=True).filter(worker=worker).first()
    return running_code(number) if number is not None else f"{worker}"
