"""Words that two texts do not share, by hand; and what holds for any two."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.differences import MAX_TOKENS, differ, runs

STORED = "Current is stored in power plants."


@pytest.mark.parametrize(
    ("text", "other", "shown"),
    [
        (STORED, STORED, STORED),
        (STORED, "", STORED),
        (STORED, "  ", STORED),
        ("", STORED, ""),
        (STORED, "Current is made in power plants.", "Current is [stored] in power plants."),
        (STORED, "Current is in power plants.", "Current is [stored] in power plants."),
        ("Current is in power plants.", STORED, "Current is in power plants."),
        (STORED, "current is stored in power plants", "Current is stored in power plants[.]"),
        (STORED, "Power plants store current.", "[Current is stored in] power plants."),
        ("It isn't kept", "It is kept", "It [isn't] kept"),
        ("Der Strom  wird\nnie gespeichert", "Der Strom wird gespeichert", "Der Strom  wird\n[nie] gespeichert"),
        ("电 is kept", "电 is made", "电 is [kept]"),
        ("<b>", "<i>", "<[b]>"),
    ],
)
def test_what_the_other_text_does_not_have_is_marked(text, other, shown):
    assert "".join(f"[{run.text}]" if run.is_marked else run.text for run in runs(text, other)) == shown


def test_long_texts_are_not_compared_because_that_would_take_too_long():
    assert differ([runs("a " * MAX_TOKENS, "b " * MAX_TOKENS)])
    assert not differ([runs("a " * MAX_TOKENS, "b " * (MAX_TOKENS + 1))])


@given(st.text(max_size=60), st.text(max_size=60))
def test_nothing_of_a_text_is_lost_and_no_two_runs_could_be_one(text, other):
    found = runs(text, other)
    assert "".join(run.text for run in found) == text
    assert all(a.is_marked != b.is_marked for a, b in pairwise(found))


@given(st.text(max_size=60))
def test_a_text_does_not_differ_from_itself(text):
    assert not differ([runs(text, text)])
