"""Syn-(QA)2's single-hop pairs: a true triple's question, and the same about a similar entity (PROTOCOLS.md 4.1)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from annotation.preparing.rows import Tell, good_rows, text, texts
from annotation.preparing.similar import Best, Index, Value, values_of
from annotation.protocols.pairs import differs_in_one_mention
from annotation.reading import Row

# App. A; in files also by their number in Wikidata, or with blanks.
PROPERTIES = {
    "occupation": "P106",
    "sex": "P21",
    "place_of_birth": "P19",
    "educated_at": "P69",
    "notable_work": "P800",
    "field_of_work": "P101",
    "political_party": "P102",
    "award_received": "P166",
}
OTHER_NAMES = {
    "sex_or_gender": "sex",
    "member_of_political_party": "political_party",
    "party": "political_party",
    "award": "award_received",
    **{number.lower(): name for name, number in PROPERTIES.items()},
}
THRESHOLD, LIMIT = 3, 200
TRIPLES, ENTITIES, TEMPLATES = "triples", "entities", "templates"  # as the report names the files

Triple = tuple[str, str, str]  # relation, x, y


@dataclass
class Pairs:
    """The work, one triple after the other.

    skip_known: whether nobody replaces x whose own values say that the relation holds, where it is one of PROPERTIES.
    """

    names: list[str]
    index: Index
    templates: Mapping[str, str]
    threshold: int = THRESHOLD
    limit: int = LIMIT
    seed: int = 0
    skip_known: bool = False

    def make(self, triples: Iterable[Row], tell: Tell) -> Iterator[dict[str, Any]]:
        """Items in the triples' order; every other triple is told. The triples are read before the first item."""
        places = {name: place for place, name in enumerate(self.names)}
        usable, true = self._usable(triples, places, tell)
        for number, (relation, x, y) in usable:
            excluded = true[relation, y] | ({places[y]} if y in places else set())  # nobody is married to themselves
            if self.skip_known:
                excluded |= set(self.index.having.get((_property(relation), y), ()))
            best = self.index.most_similar(places[x], excluded)
            if best.similarity < self.threshold:
                tell(TRIPLES, number, x, "best below the threshold", relation=relation, y=y, best=self._named(best))
                continue
            tie = Random(f"{self.seed} {relation} {x} {y}").randrange(len(best.places))
            item = self._item(number, relation, x, y, self.names[best.places[tie]], best.similarity)
            if differs_in_one_mention(item["question_without"], item["question_with"], x, item["replacement"]):
                yield item
            else:
                tell(TRIPLES, number, x, "differs in more than one mention", relation=relation, y=y)

    def _usable(
        self, triples: Iterable[Row], places: Mapping[str, int], tell: Tell
    ) -> tuple[list[tuple[int, Triple]], dict[tuple[str, str], set[int]]]:
        """Distinct triples to be used, with their rows; and whom each relation holds for: (relation, y) -> places."""
        usable: list[tuple[int, Triple]] = []
        rows: dict[Triple, int] = {}
        true: dict[tuple[str, str], set[int]] = {}
        used: Counter[str] = Counter()
        for number, row in good_rows(triples, TRIPLES, tell):
            relation, x, y = triple = (text(row, "relation"), text(row, "x"), text(row, "y"))
            if not all(triple):
                missing = [name for name in ("relation", "x", "y") if not text(row, name)]
                tell(TRIPLES, number, x or None, "missing field", fields=missing)
                continue
            about = {"relation": relation, "y": y}
            if x in places:
                true.setdefault((relation, y), set()).add(places[x])
            if triple in rows:
                tell(TRIPLES, number, x, "duplicate", **about, first=rows[triple])
                continue
            rows[triple] = number
            if x not in places:
                tell(TRIPLES, number, x, "unknown entity", **about)
            elif relation not in self.templates:
                tell(TRIPLES, number, x, "no template", **about)
            elif used[relation] == self.limit:
                tell(TRIPLES, number, x, "over the limit", **about, limit=self.limit)
            else:
                used[relation] += 1
                usable.append((number, triple))
        return usable, true

    def _named(self, best: Best) -> dict[str, Any]:
        """The best there was, for the report; of several the first in the file of entities."""
        return {"similarity": best.similarity, "entity": self.names[best.places[0]] if best.similarity else None}

    def _item(self, number: int, relation: str, x: str, y: str, replacement: str, similarity: int) -> dict[str, Any]:
        template = self.templates[relation]
        return {
            "id": f"single-{number}",
            "kind": "single_hop",
            "relation": relation,
            "x": x,
            "replacement": replacement,
            "y": y,
            "question_without": fill(template, x, y),
            "question_with": fill(template, replacement, y),
            "similarity": similarity,
        }


def read_entities(entities: Iterable[Row], tell: Tell) -> tuple[list[str], list[frozenset[Value]]]:
    """Names, and the values each has; another row with the same name is told."""
    rows: dict[str, int] = {}
    values: list[frozenset[Value]] = []
    for number, row in good_rows(entities, ENTITIES, tell):
        name = text(row, "entity")
        if not name:
            tell(ENTITIES, number, None, "missing field", fields=["entity"])
        elif name in rows:
            tell(ENTITIES, number, name, "same name as another entity", first=rows[name])
        else:
            rows[name] = number
            known = {_property(key): key for key in row}
            values.append(values_of({each: texts(row, known[each]) for each in PROPERTIES if each in known}))
    return list(rows), values


@lru_cache(1_000)
def _property(key: str) -> str:
    plain = key.strip().lower().replace(" ", "_")
    return OTHER_NAMES.get(plain, plain)


def read_templates(templates: Iterable[Row], tell: Tell) -> dict[str, str]:
    """Relation -> its question, with {x} and {y} in it once each; of several the first."""
    found: dict[str, str] = {}
    for number, row in good_rows(templates, TEMPLATES, tell):
        relation, template = text(row, "relation"), text(row, "template")
        if not relation or not template:
            missing = "template" if relation else "relation"
            tell(TEMPLATES, number, relation or None, "missing field", fields=[missing])
        elif not template.count("{x}") == template.count("{y}") == 1:
            tell(TEMPLATES, number, relation, "does not hold {x} and {y} once each")
        elif relation in found:
            tell(TEMPLATES, number, relation, "another template of its relation came first")
        else:
            found[relation] = template
    return found


def fill(template: str, x: str, y: str) -> str:
    """The question; whatever the names hold, braces too."""
    return re.sub(r"\{([xy])\}", lambda place: x if place[1] == "x" else y, template)
