"""What is checked of a claim: the table of PROTOCOLS.md 3.2, and 300 published claims."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols.claims import claim_problems, find_mentions, first_person, is_definition, name_of, spans_of
from annotation.protocols.writing import alike, bag, changed_words, digest, normal

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the published claims lie beside the project")


@pytest.mark.parametrize(
    ("entity", "name"),
    [
        ("Marlboro (cigarette)", "Marlboro"),
        ("The Lord of the Rings (film series)", "The Lord of the Rings"),
        ("Paris", "Paris"),
        ("(500) Days of Summer", "(500) Days of Summer"),
        ("Help! (album)", "Help!"),
        ("(What)", "(What)"),
    ],
)
def test_a_name_loses_the_bracket_at_its_end(entity, name):
    assert name_of(entity) == name


@pytest.mark.parametrize(
    ("claim", "entity", "spans"),
    [
        ("Paris lies in France.", "Paris", [[0, 5]]),
        ("Many love paris and PARIS.", "Paris", [[10, 15], [20, 25]]),
        ("Geese and Gooses fly.", "Goose", [[10, 16]]),
        ("Churches ring.", "Church", [[0, 8]]),
        ("Parisian bread.", "Paris", []),
        ("A comparison.", "Paris", []),
        ("Smokers buy Marlboro.", "Marlboro (cigarette)", [[12, 20]]),
        ("The  lord of\nthe rings has an end.", "The Lord of the Rings (film series)", [[0, 22]]),
        ("Sloth's walk.", "Sloth", [[0, 5]]),
        ("U.S. Route 1 is long, U.S. Route 10 longer.", "U.S. Route 1", [[0, 12]]),
        ("C++ has classes.", "C++", [[0, 3]]),
        ("In Juneau, Alaska.", "Juneau Alaska", []),
    ],
)
def test_an_entity_is_found_by_its_name_in_whole_words(claim, entity, spans):
    assert find_mentions(claim, entity) == spans


def test_marked_words_stand_in_where_the_name_is_not_there_and_only_there():
    assert spans_of("The Big Apple never sleeps.", "New York City", ["big apple"]) == [[4, 13]]
    assert spans_of("New York City never sleeps.", "New York City", ["never"]) == [[0, 13]]
    assert spans_of("The Big Apple never sleeps.", "New York City", ["pear", ""]) == []


@pytest.mark.parametrize(
    ("claim", "entity", "word"),
    [
        ("I went to Paris.", "Paris", "I"),
        ("“We love Paris.”", "Paris", "We"),
        ("my Paris", "Paris", "my"),
        ("Our Paris", "Paris", "Our"),
        ("I've seen Paris.", "Paris", "I"),
        ("In Paris I ate.", "Paris", ""),
        ("Wealth rules Paris.", "Paris", ""),
        ("I, Robot stars a robot.", "I, Robot (film)", ""),
        ("My Fair Lady has songs.", "My Fair Lady", ""),
        ("I saw My Fair Lady.", "My Fair Lady", "I"),
    ],
)
def test_the_first_person_begins_no_claim_unless_it_is_a_name(claim, entity, word):
    assert first_person(claim, entity) == word


@pytest.mark.parametrize(
    ("claim", "entity", "is_one"),
    [
        ("The Police is a best-selling band.", "The Police", True),
        ("the police are the best", "The Police", True),
        ("Dogs were an animal.", "Dog", True),
        ("Marlboro is a cigarette.", "Marlboro (cigarette)", True),
        ("The Police are older than the universe.", "The Police", False),
        ("A dog is an animal.", "Dog", False),
        ("Dog is another word.", "Dog", False),
    ],
)
def test_a_definition_says_only_what_the_entity_is(claim, entity, is_one):
    assert is_definition(claim, entity) is is_one


BLOCKS, WARNS = True, False


@pytest.mark.parametrize(
    ("claim", "entity", "me", "said"),
    [
        ("Paris has bridges.", "Paris", "block", []),
        ("Paris has bridges.", "", "block", []),
        (None, "Paris", "block", [("This must be text.", BLOCKS)]),
        ("a\x00", "Paris", "block", [("This text holds a NUL character", BLOCKS)]),
        (" . ", "Paris", "block", [("Write a sentence here.", BLOCKS)]),
        ("Does Paris sleep?", "Paris", "block", [("Write a statement", BLOCKS)]),
        ("We saw Paris.", "Paris", "block", [("It begins with “We”", BLOCKS)]),
        ("We saw Paris.", "Paris", "warn", [("It begins with “We”", WARNS)]),
        ("It has bridges.", "Paris", "block", [("It does not name “Paris”", BLOCKS)]),
        ("Paris is a city.", "Paris", "block", [("This defines “Paris”", WARNS)]),
    ],
)
def test_what_is_said_about_a_claim(claim, entity, me, said):
    found = claim_problems("true.claim", claim, entity, [], me=me)
    assert [(p.field, p.text[: len(text)], p.blocking) for p, (text, _) in zip(found, said, strict=True)] == [
        ("true.claim", text, blocks) for text, blocks in said
    ]


@needs_data
def test_three_hundred_published_claims_pass_or_fail_as_their_notes_say():
    """Every one has its own span found, or is among those that need marking; marked, it has the published span."""
    rows = [json.loads(line) for line in (DATA / "creak_claims_300.jsonl").read_text().splitlines()]
    counts = Counter()
    for row in rows:
        claim, entity, published = row["sentence"], row["entity"], row["entity_mention_loc"]
        marked = [claim[start:end] for start, end in published]
        found = find_mentions(claim, entity)
        problems = claim_problems("claim", claim, entity, [] if found else marked, me="block")
        counts["in all"] += 1
        counts["found, the published span" if found == published else "found, another" if found else "to mark"] += 1
        counts["marked, the published span"] += not found and spans_of(claim, entity, marked) == published
        counts["first person, blocked"] += any(p.blocking and "first person" in p.text for p in problems)
        counts["definition, warned"] += any(not p.blocking for p in problems)
        counts["blocked"] += any(p.blocking for p in problems)
    counts["wordings"] = len({digest(row["sentence"]) for row in rows})
    assert counts == {
        "in all": 300,
        "found, the published span": 294,
        "found, another": 1,  # "Sloth's", where the name without its "'s" is what names it
        "to mark": 5,  # "Juneau, Alaska" of the entity "Juneau Alaska", and the like
        "marked, the published span": 5,
        "first person, blocked": 2,
        "definition, warned": 1,
        "blocked": 2,
        "wordings": 300,
    }


@needs_data
def test_the_guidelines_own_examples_pass_and_fail_with_their_reasons():
    examples = json.loads((DATA / "creak_guideline_examples.json").read_text())
    about = {"The Police", "Nerd", "Green Day", "Dan Brown", "Goose"}

    def said(claim):
        entity = next((name for name in about if name in claim), "")
        problems = claim_problems("claim", claim, entity, [], me="block")
        return [("blocks" if p.blocking else "warns", p.text.split()[0]) for p in problems]

    good = [each["claim"] for label in ("true", "false") for each in examples["good"][label]]
    assert [said(claim) for claim in good] == [[], [], []]
    checked = {"first person": [("blocks", "It")], "definitional; use an action verb": [("warns", "This")]}
    found = [(each["reason"], said(each["claim"])) for each in examples["bad"]]
    assert found == [(reason, checked.get(reason, [])) for reason, _ in found]
    assert Counter(reason for reason, problems in found if problems) == {
        "first person": 2,
        "definitional; use an action verb": 2,
    }


# --- Wordings -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Paris lies in France.", "  paris  LIES in france", True),
        ("Paris lies in France!", "Paris lies in France ...", True),
        ("Café", "Cafe\u0301.", True),
        ("Paris lies in France.", "Paris lies in France, too.", False),
        ("Paris, France", "Paris France", False),
    ],
)
def test_case_blanks_and_the_end_make_no_other_wording(one, other, same):
    assert (digest(one) == digest(other)) is same


@given(st.text(max_size=60))
def test_a_wording_in_its_normal_form_is_the_same_wording(text):
    assert normal(normal(text)) == normal(text)
    assert digest(normal(text)) == digest(text)


@pytest.mark.parametrize(
    ("one", "other", "is_near"),
    [
        ("a b c d", "a b c d e", True),  # 4 of 5
        ("a b c d", "a b c e", False),  # 3 of 5
        ("a b c d", "d c b a", True),
        ("", "", False),
    ],
)
def test_four_of_five_words_make_near_duplicates(one, other, is_near):
    assert alike(bag(one), bag(other)) is is_near


@pytest.mark.parametrize(
    ("one", "other", "changed"),
    [
        ("U.S. Route 1 connects New York to Florida.", "U.S. Route 1 connects New York to California.", 1),
        ("Koi can cost someone hundreds of dollars.", "Koi typically costs someone hundreds of dollars.", 2),
        ("A nun takes a vow.", "A nun takes a vow!", 0),
        ("A nun takes a vow.", "A nun never takes a vow.", 1),
        ("A nun takes a long vow.", "A nun takes a vow.", 1),
    ],
)
def test_changed_words_are_counted(one, other, changed):
    assert changed_words(one, other) == changed_words(other, one) == changed
