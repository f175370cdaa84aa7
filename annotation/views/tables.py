"""Tables whose order, filters and length are in the address."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict

ROWS = 25  # at once; more on demand


@dataclass(frozen=True)
class Heading:
    """A column's title. `url` sorts by it ("" where one cannot), `order` is the value of aria-sort."""

    label: str
    url: str
    order: str = "none"


def headings(query: QueryDict, columns: Mapping[str, str], sort: str) -> list[Heading]:
    """columns: sort key -> title; a key that begins with "_" does not sort. `sort`: the present key, "-" reverses."""
    found = []
    for key, label in columns.items():
        order = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
        url = "" if key.startswith("_") else changed(query, sort=f"-{key}" if order == "ascending" else key)
        found.append(Heading(label, url, order))
    return found


def changed(query: QueryDict, **values: str | None) -> str:
    """The query with some values replaced or, for None, left out; what was shown more of is folded again."""
    copy = query.copy()
    copy.pop("page", None)
    for name, value in values.items():
        copy.pop(name, None)
        if value:
            copy[name] = value
    return f"?{copy.urlencode()}"


def page_number(query: QueryDict) -> int:
    """From 1; anything else that is written there is 1."""
    given = query.get("page", "")
    return max(1, int(given)) if given.isdecimal() and len(given) < 7 else 1
