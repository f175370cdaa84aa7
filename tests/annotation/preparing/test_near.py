from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.preparing.near import Near, bands, near_duplicates, ngrams
from annotation.preparing.rows import normalised


def jaccard(one: str, other: str, n: int) -> float:
    first, second = ngrams(normalised(one), n), ngrams(normalised(other), n)
    return len(first & second) / len(first | second)


def test_the_runs_of_a_text():
    assert (ngrams("abcd", 3), ngrams("ab", 3)) == ({"abc", "bcd"}, {"ab"})


# 1 - (1 - 0.8^5)^25 = 0.99995, and with six rows (0.8^6, 21 bands) 0.998
@pytest.mark.parametrize(("similar", "found"), [(0.8, (25, 5)), (1.0, (1, 127)), (0.01, (128, 1))])
def test_bands_are_as_narrow_as_the_threshold_asks(similar, found):
    assert bands(similar) == found


def test_near_duplicates_across_groups_are_named_with_their_similarity():
    texts = ["Why is the sky blue?", "why is  the SKY blue", "Why is the sky so blue?", "How do planes fly?", "?", ""]
    assert near_duplicates(texts, ["train", "test", "test", "train", "dev", "dev"], ngram=3, similar=0.7) == [
        Near(0, 1, 1.0),
        Near(0, 2, 0.7619),  # 16 of 21 runs
    ]
    assert near_duplicates(texts, ["test"] * 6, ngram=3, similar=0.7) == []
    assert near_duplicates(texts, ngram=3, similar=0.7) == [Near(0, 1, 1.0), Near(0, 2, 0.7619)]


def test_a_text_that_is_there_twice_in_a_group_is_named_once():
    texts, groups = ["Same?", "same", "same!", "Same?"], ["train", "train", "test", "dev"]
    assert near_duplicates(texts) == [Near(0, 1, 1.0), Near(0, 2, 1.0), Near(0, 3, 1.0)]
    assert near_duplicates(texts, groups) == [Near(0, 2, 1.0), Near(0, 3, 1.0), Near(2, 3, 1.0)]


def test_nothing_has_no_near_duplicates():
    assert near_duplicates([]) == near_duplicates(["one"]) == near_duplicates(["", " "], ["a", "b"]) == []


sentences = st.lists(st.text("abc d", min_size=3, max_size=14).filter(normalised), max_size=9)


@given(sentences, st.integers(1, 4), st.integers(0, 3), st.data())
def test_every_named_pair_is_similar_enough_and_across(texts, ngram, seed, data):
    groups = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(texts), max_size=len(texts)))
    for pair in near_duplicates(texts, groups, ngram=ngram, similar=0.6, seed=seed):
        assert groups[pair.one] != groups[pair.other]
        assert pair.similarity == round(jaccard(texts[pair.one], texts[pair.other], ngram), 4) >= 0.6


def test_of_many_pairs_hardly_any_is_missed():
    rng = Random(5)
    words = ["".join(rng.choices("abcdefghijklm", k=rng.randint(3, 8))) for _ in range(60)]
    bases = [rng.choices(words, k=8) for _ in range(12)]
    changed = [[rng.choice(words) if rng.random() < 0.06 else word for word in rng.choice(bases)] for _ in range(400)]
    texts = list(dict.fromkeys(" ".join(each) for each in changed))
    true = {(a, b) for a, b in combinations(range(len(texts)), 2) if jaccard(texts[a], texts[b], 4) >= 0.7}
    found = {(pair.one, pair.other) for pair in near_duplicates(texts, similar=0.7)}
    assert len(true) > 100
    assert found <= true
    assert len(true - found) <= 1


@given(sentences, st.randoms(use_true_random=False))
def test_order_does_not_matter(texts, rng):
    texts = list(dict.fromkeys(map(normalised, texts)))
    shuffled = rng.sample(texts, len(texts))
    named = [
        {(frozenset((ordered[p.one], ordered[p.other])), p.similarity) for p in near_duplicates(ordered, similar=0.5)}
        for ordered in (texts, shuffled)
    ]
    assert named[0] == named[1]
