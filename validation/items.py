"""Finding items: by text, by where they stand, by what became of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import OrderBy
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils.safestring import SafeString

from annotation import overview
from annotation.models import Annotation, Item, Study
from annotation.overview import PLACES, swatch
from annotation.views.tables import changed
from validation.models import Resolution

DECIDED = F("resolution__at")
SORTS = {
    "ref": [F("ref")],
    "state": [F("state"), F("stage")],
    "label": [F("resolution__label")],
    "answers": [F("answers")],
    "decided": [DECIDED],
}
COLUMNS = {
    "ref": "Item",
    "_text": "Text",
    "state": "State",
    "label": "Label",
    "answers": "Answers",
    "decided": "Decided",
}


class ItemFilter(forms.Form):
    """What the address asks for; an unknown value is refused with a sentence."""

    q = forms.CharField(required=False, max_length=200, label="Search items")
    state = forms.ChoiceField(required=False, choices=[("", ""), *((name, name) for name in PLACES)])
    stage = forms.ChoiceField(required=False)
    role = forms.ChoiceField(required=False, choices=[("", ""), *Item.Role.choices])
    label = forms.CharField(required=False, max_length=60)
    sort = forms.ChoiceField(required=False, choices=[("", ""), *((f"{s}{n}", n) for n in SORTS for s in ("", "-"))])

    def __init__(self, study: Study, data: QueryDict) -> None:
        super().__init__(data)
        stages = self.fields["stage"]
        stages.choices = [("", ""), *((s.name, s.title) for s in study.protocol.stages)]  # type: ignore[attr-defined]


def matching(study: Study, wanted: Mapping[str, str]) -> QuerySet[Item]:
    """The items asked for."""
    return Item.objects.filter(_condition(study, wanted), study=study)


def in_order(items: QuerySet[Item], sort: str) -> QuerySet[Item]:
    """By a key of SORTS ("-" reverses; else as imported), each with its number of counted `answers`."""
    counted = Annotation.objects.filter(item=OuterRef("pk"), uncounted="").order_by().values("item")
    answers = Coalesce(Subquery(counted.annotate(n=Count("*")).values("n")), 0)
    return items.select_related("resolution").annotate(answers=answers).order_by(*_order(sort))


def stretch(items: QuerySet[Item], sort: str, start: int, stop: int) -> QuerySet[Item]:
    """Some of them in order, from `start` to before `stop`.

    Items are wide, so their ids are sorted alone; and to sort by answers all are counted at once, not item by item.
    """
    ids = items.values("pk")
    if sort.removeprefix("-") == "answers":
        ids = ids.annotate(answers=Count("annotations", filter=Q(annotations__uncounted="")))
    return in_order(Item.objects.filter(pk__in=ids.order_by(*_order(sort)).values("pk")[start:stop]), sort)


def _order(sort: str) -> list[OrderBy | str]:
    fields = SORTS.get(sort.removeprefix("-"), [])
    is_reversed = sort.startswith("-")
    return [*(f.desc(nulls_last=True) if is_reversed else f.asc(nulls_last=True) for f in fields), "pk"]


def _condition(study: Study, wanted: Mapping[str, str]) -> Q:
    condition = Q()
    if state := wanted.get("state"):
        condition &= overview.standing_at(state, study.protocol)
    if text := wanted.get("q"):
        heading = overview.heading_of(study.protocol)
        condition &= Q(ref__icontains=text) | Q(**{f"payload__{heading}__icontains": text})
    exact = {"stage": "stage", "role": "role", "label": "resolution__label"}
    return condition & Q(**{column: wanted[name] for name, column in exact.items() if wanted.get(name)})


# --- One row ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """An item as the table shows it."""

    item: Item
    text: str
    place: str
    stage: str
    label: str
    resolution: Resolution | None
    swatch: SafeString | str


def rows(study: Study, items: QuerySet[Item]) -> list[Row]:
    return [_row(study, item) for item in items]


def _row(study: Study, item: Item) -> Row:
    protocol = study.protocol
    place = overview.place_of(item, protocol)
    resolution = getattr(item, "resolution", None)
    return Row(
        item=item,
        text=overview.words_of(item, protocol),
        place=PLACES[place][0] if place else item.get_role_display().lower(),
        stage=protocol.stage(item.stage).title if item.stage else "",
        label=resolution.label if resolution else "",
        resolution=resolution,
        swatch=swatch(place) if place else "",
    )


def csv_rows(study: Study, items: QuerySet[Item]) -> Iterator[tuple[Any, ...]]:
    """The whole table as shown, however long."""
    yield ("item", overview.heading_of(study.protocol), "role", "state", "stage", "label", "answers", "decided")
    for item in items.iterator(chunk_size=2_000):
        row = _row(study, item)
        decided = row.resolution.at.isoformat() if row.resolution else ""
        yield (item.ref, row.text, item.role, row.place, row.stage, row.label, item.answers, decided)  # type: ignore[attr-defined]


# --- Filter chips -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chip:
    """One filter: `url` turns it on, or off when it is on."""

    label: str
    url: str
    is_on: bool
    count: int | None = None
    swatch: SafeString | str = ""


def facets(study: Study, query: QueryDict) -> dict[str, list[Chip]]:
    """The chips of every filter; one of which there is only one choice is left out."""
    counts = overview.progress_of([study])[study.pk]
    others = study.items.filter(role__in=[role for role in Item.Role.values if role != Item.Role.WORK])
    roles = dict(others.values_list("role").annotate(n=Count("*")).order_by("role"))
    if work := sum(counts.values()):
        roles[Item.Role.WORK] = work
    closed = Resolution.objects.filter(study=study).exclude(label="")
    labels = dict(closed.values_list("label").annotate(n=Count("*")).order_by("label"))
    found = {
        "state": [_chip(query, "state", p, words, counts[p], swatch(p)) for p, (words, *_) in PLACES.items()],
        "stage": [_chip(query, "stage", s.name, s.title) for s in study.protocol.stages],
        "role": [_chip(query, "role", role, role, count) for role, count in roles.items()],
        "label": [_chip(query, "label", label, label, count) for label, count in labels.items()],
    }
    return {name: chips for name, chips in found.items() if len(chips) > 1 or any(c.is_on for c in chips)}


def _chip(
    query: QueryDict, name: str, value: str, label: str, count: int | None = None, swatch: SafeString | str = ""
) -> Chip:
    is_on = query.get(name) == value
    return Chip(label, changed(query, **{name: None if is_on else value}), is_on, count, swatch)
