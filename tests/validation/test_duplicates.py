"""Texts that are much alike: what counts as alike, and that keys let alike texts meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation import duplicates

WORDS = st.lists(st.sampled_from([f"word{n}" for n in range(40)]), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Power plants store current.", "power plants store CURRENT", True),
        ("Current is stored by power plants.", "By power plants, current is stored!", True),
        ("a b c d e f g h i", "a b c d e f g h j", True),  # 8 of 10 words
        ("a b c d e f g h", "a b c d e f g j", False),  # 7 of 9
        ("Power plants store current.", "Veins carry blue blood.", False),
        ("", "", False),
        ("!", "!", False),
    ],
)
def test_alike_are_bags_that_share_four_of_five_words(one, other, alike):
    assert duplicates.alike(duplicates.bag(one), duplicates.bag(other)) == alike


def test_texts_with_the_same_words_have_the_same_keys_and_no_words_no_keys():
    assert duplicates.keys(duplicates.bag("a b c")) == duplicates.keys(duplicates.bag("C, b; A a"))
    assert duplicates.keys(duplicates.bag("?")) == []


def test_keys_are_the_same_for_ever():
    # They are stored: another hash would hide every copy of what was written before.
    assert duplicates.keys(duplicates.bag("Power plants store current."))[:2] == [
        -7302808987639811199,
        3182089272335658124,
    ]


@given(WORDS)
def test_keys_fit_a_signed_column(words):
    assert all(-(2**63) <= key < 2**63 for key in duplicates.keys(duplicates.bag(" ".join(words))))


@given(WORDS, WORDS)
def test_alike_is_symmetric(one, other):
    a, b = (duplicates.bag(" ".join(words)) for words in (one, other))
    assert duplicates.alike(a, b) == duplicates.alike(b, a)


def test_nearly_all_alike_texts_share_a_key_and_few_others_do():
    pairs = [(f"{n} " + " ".join(f"w{n}x{i}" for i in range(18)), n) for n in range(200)]
    near = sum(_meet(text, text.replace(f"w{n}x3", "other")) for text, n in pairs)
    far = sum(_meet(text, f"{n} " + " ".join(f"v{n}x{i}" for i in range(18))) for text, n in pairs)
    assert near >= 195  # 19 of 20 words shared: Jaccard 0.9
    assert far <= 2


def _meet(one, other):
    return bool(set(duplicates.keys(duplicates.bag(one))) & set(duplicates.keys(duplicates.bag(other))))
