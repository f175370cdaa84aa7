"""Criteria of a rubric, written in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols.criteria import CREPE, Criterion, Value, parse


def values_of(criterion):
    return [value.number for value in criterion.values]


def test_the_preset_has_crepes_four_criteria_with_their_gaps():
    assert {c.name: values_of(c) for c in parse("crepe")} == {
        "fluency": [0, 3],
        "presupposition": [0, 1, 3],
        "correction": [0, 1, 2, 3],
        "consistency": [0, 1, 3],
    }
    assert parse("CREPE") == parse(CREPE)


def test_every_value_of_the_preset_says_what_it_means():
    assert all(value.meaning for criterion in parse("crepe") for value in criterion.values)


def test_meanings_may_hold_commas_and_are_optional():
    assert parse("tone: -1=rude, or worse, 0.5, 2=kind; detail: 1, 2") == (
        Criterion("tone", (Value(-1, "rude, or worse"), Value(0.5, ""), Value(2, "kind"))),
        Criterion("detail", (Value(1, ""), Value(2, ""))),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "name from 1 to 10 criteria, or a preset (crepe); write criteria as"),
        ("fluency", "write criteria as NAME: VALUE=MEANING"),
        ("fluency: good, bad", "fluency: a value is a number, with its meaning after =; it was 'good, bad'."),
        ("fluency: 3", "fluency: give from 2 to 10 values, such as 0=poor, 1=fair, 3=good."),
        ("fluency: 0, 0.0", "fluency: every value can be there once; they were 0, 0."),
        ("fluency: 0, 1; Fluency: 0, 3", "the criterion 'fluency' is there twice."),
        ("fluency: 0, 1e9", "fluency: a value is a number, with its meaning after =; it was '0, 1e9'."),
        ("fluency: 0, 5000", "fluency: a value is a number up to 1000 with at most two decimals; it was '5000'."),
        ("fluency: 0, 0.001", "fluency: a value is a number up to 1000 with at most two decimals; it was '0.001'."),
        ("a.b: 0, 1", "write criteria as NAME: VALUE=MEANING"),
        (";".join(f"c{n}: 0, 1" for n in range(11)), "name from 1 to 10 criteria"),
        (f"{'x' * 31}: 0, 1", "a name has at most 30 letters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_would_be_right(text, said):
    with pytest.raises(ValueError, match=r"\.") as refused:
        parse(text)
    assert said in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    said = ""
    try:
        found = parse(text)
    except ValueError as refused:
        found, said = (), str(refused)
    assert all(len(criterion.values) >= 2 for criterion in found)
    assert bool(found) != said.endswith(".")
