import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation.protocols.pairs import differs_in_one_mention, mentions, replace_first

LLOYD = "What is the familial connection between Harry Lloyd and Charles Dickens?"
REDMAYNE = "What is the familial connection between Eddie Redmayne and Charles Dickens?"


@pytest.mark.parametrize(
    ("without", "with_", "x", "replacement", "differs"),
    [
        (LLOYD, REDMAYNE, "Harry Lloyd", "Eddie Redmayne", True),
        (LLOYD, REDMAYNE, "Harry", "Eddie", False),  # more than these differs
        (LLOYD, REDMAYNE, "Charles Dickens", "Eddie Redmayne", False),
        (LLOYD, REDMAYNE, "", "Eddie Redmayne", False),
        (LLOYD, LLOYD, "Harry Lloyd", "Harry Lloyd", False),  # nothing differs
        (LLOYD, REDMAYNE.replace("?", "."), "Harry Lloyd", "Eddie Redmayne", False),  # so does the mark at the end
        (LLOYD, LLOYD.replace("Harry Lloyd", ""), "Harry Lloyd", "", False),
        ("Did Bo meet Bo?", "Did Al meet Bo?", "Bo", "Al", True),
        ("Did Bo meet Bo?", "Did Bo meet Al?", "Bo", "Al", True),
        ("Did Bo meet Bo?", "Did Al meet Al?", "Bo", "Al", False),  # two mentions
        ("Did Ann meet Anna?", "Did Ann meet Boba?", "Ann", "Bob", False),  # part of a word
        ("Did Bo sing?", "Did Al sing?", "Bo", "Al ", False),
        ("When did Bo's wife sing?", "When did Al's wife sing?", "Bo", "Al", True),
        ("Bo", "Al", "Bo", "Al", True),
        ("Did aa sing?", "Did a a a sing?", "aa", "a a a", True),
        ("When did 'N Sync form?", "When did U2 form?", "'N Sync", "U2", True),
        ("Is it Re\u0301union?", "Is it Re\u0301xunion?", "Re", "Rex", False),  # the accent belongs to the word
    ],
)
def test_two_questions_differ_in_one_mention_or_they_do_not(without, with_, x, replacement, differs):
    assert differs_in_one_mention(without, with_, x, replacement) is differs


def test_the_pairs_printed_in_the_paper_differ_in_one_mention():
    file = Path(__file__).parents[4] / "shared/data/synqa2_templates_examples.json"
    if not file.exists():
        pytest.skip("the paper's examples are not in this repository")
    pairs = [(each["original"], each["perturbed"]) for each in json.loads(file.read_text())["examples"]]
    found = [differs_in_one_mention(one["question"], two["question"], one["x"], two["x"]) for one, two in pairs]
    assert found == [True, True, True]


names = st.text("ab A", min_size=1, max_size=4).filter(lambda name: name == name.strip())


@given(st.lists(names, min_size=1, max_size=6), names, names, st.data())
def test_one_replaced_mention_differs_in_one_and_two_do_not(others, x, replacement, data):
    assume(x != replacement)
    words = [f"<{word}>" for word in (*others, x, x)]  # each stands by itself
    words = data.draw(st.permutations(words))
    without = " ".join(words)
    first = replace_first(without, f"<{x}>", f"<{replacement}>")
    assert differs_in_one_mention(without, first, x, replacement)
    both = replace_first(first, f"<{x}>", f"<{replacement}>")
    assert not differs_in_one_mention(without, both, x, replacement)


@given(st.text("ab -", max_size=20), st.text("ab", min_size=1, max_size=2))
def test_mentions_are_the_whole_words(text, name):
    padded = [word for part in text.split(" ") for word in part.split("-")]
    assert len(list(mentions(text, name))) == padded.count(name)


@given(st.text(max_size=20), st.text(max_size=4), st.text(max_size=4))
def test_a_text_without_a_mention_has_none_to_replace(text, name, by):
    replaced = replace_first(text, name, by)
    assert (replaced is None) == (list(mentions(text, name)) == [])
