from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.preparing.creak import BadPool, divide, draw, read_pool, read_shares
from tests.annotation.preparing.telling import Told, numbered

SHARES = read_shares("train=0.8,dev=0.1,test=0.1")


def pool(size):
    return [{"entity": f"E{n}", "en_wiki_pageid": str(n), "description": "", "keywords": []} for n in range(size)]


def names(entities):
    return [entity["entity"] for entity in entities]


def test_an_entity_is_read_once_with_what_is_known_about_it():
    told = Told()
    rows = [
        {"entity": "Bitcoin", "en_wiki_pageid": 28249265, "keywords": ["Digital currency", " ", "Digital currency"]},
        {"entity": "Bitcoin (currency)", "en_wiki_pageid": "28249265"},
        {"entity": "bitcoin", "en_wiki_pageid": "7"},
        {"entity": "Armadillo", "en_wiki_pageid": "8", "description": "An animal."},
        {"entity": "Nowhere"},
        {"en_wiki_pageid": "9"},
    ]
    assert read_pool(numbered(rows), told) == [
        {"entity": "Bitcoin", "en_wiki_pageid": "28249265", "description": "", "keywords": ["Digital currency"]},
        {"entity": "Armadillo", "en_wiki_pageid": "8", "description": "An animal.", "keywords": []},
    ]
    assert told.said == [
        ("pool", 2, "same page id as another entity"),
        ("pool", 3, "same name as another entity"),
        ("pool", 5, "missing field"),
        ("pool", 6, "missing field"),
    ]


def test_strict_splits_share_nothing_and_as_released_all_but_train_share():
    strict = divide(pool(100), SHARES, "strict", 1)
    assert {split: len(part) for split, part in strict.items()} == {"train": 80, "dev": 10, "test": 10}
    assert sorted(name for part in strict.values() for name in names(part)) == sorted(names(pool(100)))
    released = divide(pool(100), SHARES, "as_released", 1)
    assert released["train"] == strict["train"]
    assert released["dev"] == released["test"] == strict["dev"] + strict["test"]


def test_a_split_too_small_for_one_set_is_refused():
    with pytest.raises(BadPool, match="The split dev has 4 of the pool's entities, and a set has 5"):
        list(draw(divide(pool(40), SHARES, "strict", 1), size=5, sets=1, times=None, seed=1))


def test_sets_are_drawn_anew_so_an_entity_comes_back():
    items = list(draw({"train": pool(6)}, size=5, sets=20, times=None, seed=1))
    assert [item["id"] for item in items] == [f"train-{n}" for n in range(1, 21)]
    assert min(Counter(name for item in items for name in names(item["entities"])).values()) > 10


@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 5), st.integers(0, 9))
def test_every_entity_occurs_as_often_as_wanted_and_never_twice_in_a_set(entities, size, times, seed):
    entities = max(entities, size)
    items = list(draw({"dev": pool(entities)}, size=size, sets=None, times=times, seed=seed))
    assert all(len(set(names(item["entities"]))) == size for item in items)
    occurs = Counter(name for item in items for name in names(item["entities"]))
    assert len(items) == -(-entities * times // size)
    assert set(occurs.values()) <= {times, times + 1}
    assert len(occurs) == entities


@given(st.integers(0, 5), st.sampled_from(["strict", "as_released"]))
def test_a_seed_gives_the_same_sets_again_and_another_one_others(seed, mode):
    def drawn(seed):
        return list(draw(divide(pool(60), SHARES, mode, seed), size=5, sets=4, times=None, seed=seed))

    assert drawn(seed) == drawn(seed) != drawn(seed + 1)


@pytest.mark.parametrize("written", ["", "train", "train=0", "train=0.5", "a=0.5,b=x", "a=0.9,b=0.2", "=1", "a=nan"])
def test_shares_that_make_no_sense_are_refused(written):
    with pytest.raises(ValueError, match="shares"):
        read_shares(written)
