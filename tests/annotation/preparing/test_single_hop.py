import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.preparing.similar import Index
from annotation.preparing.single_hop import Pairs, fill, read_entities, read_templates
from annotation.protocols.pairs import differs_in_one_mention
from tests.annotation.preparing.telling import Told, numbered

DATA = Path(__file__).parents[3] / "data"
TEMPLATES = {"spouse": "When did {x} marry {y}?", "author": "Why did {x} write {y}?"}
COUPLE = {"occupation": ["politician"], "sex": ["male"], "educated_at": ["Yale"], "award_received": ["A", "B"]}


def demo(name, key):
    whole = json.loads((DATA / name).read_text())
    return whole[key]


def pairs_of(entities, **settings):
    told = Told()
    names, values = read_entities(numbered(entities), told)
    return Pairs(names, Index(values), TEMPLATES, **settings), told


def people(*names, **more):
    return [{"entity": name, **COUPLE, **more} for name in names]


# Counted by hand from the file: what both have in common.
@pytest.mark.parametrize(
    ("x", "similarity", "nearest"),
    [
        ("Albert Einstein", 6, {"Max Planck", "Niels Bohr"}),  # male, physicist, theoretical physics, three medals
        ("Lise Meitner", 4, {"Erwin Schrödinger"}),  # physicist, Vienna, its university, a medal
        ("Dorothy Hodgkin", 3, {"Margaret Thatcher", "Marie Curie"}),  # two women chemists with one thing more
        ("Werner Heisenberg", 6, {"Max Planck"}),  # male, physicist, LMU, theoretical physics, two medals
        ("Jane Austen", 2, {"Virginia Woolf"}),  # female, novelist
    ],
)
def test_similarities_of_the_demos_entities_are_those_counted_by_hand(x, similarity, nearest):
    names, values = read_entities(numbered(demo("synqa2_entities.json", "entities")), Told())
    best = Index(values).most_similar(names.index(x))
    assert best.similarity == similarity
    assert {names[place] for place in best.places} == nearest


def test_a_triple_becomes_a_pair_about_the_most_similar_entity():
    entities = [*people("Bill", "George"), {"entity": "Al", "sex": "male", "occupation": ["politician"]}]
    pairs, told = pairs_of(entities)
    assert list(pairs.make(numbered([{"relation": "spouse", "x": "Bill", "y": "Hillary"}]), told)) == [
        {
            "id": "single-1",
            "kind": "single_hop",
            "relation": "spouse",
            "x": "Bill",
            "replacement": "George",
            "y": "Hillary",
            "question_without": "When did Bill marry Hillary?",
            "question_with": "When did George marry Hillary?",
            "similarity": 5,
        }
    ]
    assert told.said == []


def test_nobody_replaces_x_for_whom_the_relation_holds():
    pairs, told = pairs_of(people("Bill", "George", "Hillary"))
    rows = [{"relation": "spouse", "x": x, "y": "Hillary"} for x in ("Bill", "George")]
    assert list(pairs.make(numbered(rows), told)) == []
    assert [row["best"] for row in told.rows] == [{"similarity": 0, "entity": None}] * 2


def test_what_the_entities_say_is_left_to_the_verifiers_unless_it_is_to_be_skipped():
    template = {"award_received": "For what did {x} get the {y}?"}
    triple = {"relation": "award_received", "x": "Bill", "y": "A"}
    replaced = {}
    for skip_known in (False, True):
        pairs, told = pairs_of([*people("Bill", "George"), *people("Al", award_received=["B"])], skip_known=skip_known)
        pairs.templates = template
        replaced[skip_known] = [item["replacement"] for item in pairs.make(numbered([triple]), told)]
    assert replaced == {False: ["George"], True: ["Al"]}


def test_triples_are_dropped_with_their_reasons():
    pairs, told = pairs_of([*people("Bill", "George"), {"entity": "Zoe", "sex": ["female"]}], limit=2)
    triples = [
        {"relation": "spouse", "x": "Bill", "y": "H"},
        {"relation": "spouse", "x": "Bill", "y": "H"},
        {"relation": "spouse", "x": "Nobody", "y": "H"},
        {"relation": "child", "x": "Bill", "y": "C"},
        {"relation": "spouse", "x": "Zoe", "y": "L"},
        {"relation": "spouse", "x": "Bill", "y": "M"},
        {"relation": "spouse", "x": "", "y": "M"},
        {"relation": "author", "x": "Bill", "y": "My Life"},
    ]
    items = list(pairs.make(numbered(triples), told))
    assert [item["id"] for item in items] == ["single-1", "single-8"]
    assert sorted(said[1:] for said in told.said) == [
        (2, "duplicate"),
        (3, "unknown entity"),
        (4, "no template"),
        (5, "best below the threshold"),
        (6, "over the limit"),
        (7, "missing field"),
    ]


def test_a_replacement_that_stands_in_no_whole_word_is_dropped():
    pairs, told = pairs_of(people("Bill", "George"))
    pairs.templates = {"spouse": "When did un{x} marry {y}?"}
    assert list(pairs.make(numbered([{"relation": "spouse", "x": "Bill", "y": "H"}]), told)) == []
    assert told.said == [("triples", 1, "differs in more than one mention")]


def test_properties_may_have_wikidatas_numbers_or_blanks_and_others_do_not_count():
    rows = [
        {"entity": "A", "P106": ["writer"], "place of birth": "Ulm", "member of political party": ["X"], "eyes": ["2"]},
        {"entity": "A"},
        {"entity": " "},
    ]
    told = Told()
    names, values = read_entities(numbered(rows), told)
    assert (names, values) == (
        ["A"],
        [{("occupation", "writer"), ("place_of_birth", "Ulm"), ("political_party", "X")}],
    )
    assert told.said == [("entities", 2, "same name as another entity"), ("entities", 3, "missing field")]


def test_a_template_has_both_places_once_and_is_the_first_of_its_relation():
    rows = [
        {"relation": "spouse", "template": "When did {x} marry {y}?"},
        {"relation": "spouse", "template": "Where did {x} marry {y}?"},
        {"relation": "self", "template": "When did {x} marry {x}?"},
        {"relation": "none"},
        {"template": "{x} {y}"},
    ]
    told = Told()
    assert read_templates(numbered(rows), told) == {"spouse": "When did {x} marry {y}?"}
    assert [said[1:] for said in told.said] == [
        (2, "another template of its relation came first"),
        (3, "does not hold {x} and {y} once each"),
        (4, "missing field"),
        (5, "missing field"),
    ]


def test_names_may_hold_braces():
    assert fill("Did {x} see {y}?", "{y}", "{x}") == "Did {y} see {x}?"


entities = st.lists(
    st.tuples(st.sampled_from(["Ann", "Bo", "Cy", "Di", "Ed"]), st.sets(st.sampled_from("abcde"), max_size=5)),
    max_size=5,
    unique_by=lambda entity: entity[0],
)
triples = st.lists(
    st.fixed_dictionaries(
        {
            "relation": st.sampled_from(["spouse", "author"]),
            "x": st.sampled_from(["Ann", "Bo", "Cy", "Nobody"]),
            "y": st.sampled_from(["Ed", "Di", "Book"]),
        }
    ),
    max_size=10,
)


@given(entities, triples, st.integers(0, 3))
def test_every_triple_is_a_pair_that_differs_in_one_mention_or_is_dropped_once(entities, triples, seed):
    rows = [{"entity": name, "occupation": sorted(values)} for name, values in entities]
    pairs, told = pairs_of(rows, threshold=2, limit=3, seed=seed)
    items = list(pairs.make(numbered(triples), told))
    made = [int(item["id"].removeprefix("single-")) for item in items]
    assert sorted(made + [row for _, row, _ in told.said]) == list(range(1, len(triples) + 1))
    values = dict(entities)
    for item in items:
        without, with_, x, new = (item[n] for n in ("question_without", "question_with", "x", "replacement"))
        assert differs_in_one_mention(without, with_, x, new)
        assert item["similarity"] == len(values[x] & values[new]) >= 2
        assert {"relation": item["relation"], "x": new, "y": item["y"]} not in triples
        assert new not in (x, item["y"])
