"""The release format of CREAK, and what may not be in two splits (PROTOCOLS.md 3.3, 3.5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols.creak_release import RELEASE, fault, unlabelled
from annotation.protocols.release import Use

TRUE = {
    "label": "true",
    "sentence": "Paris has a tower.",
    "explanation": "It was built.",
    "entity_mention_loc": [[0, 5]],
    "certainty": "maybe",
    "original": None,
}
FALSE = TRUE | {"label": "false", "sentence": "Paris swims.", "explanation": "It cannot."}
CONTRAST = {
    "of": "true",
    "label": "false",
    "sentence": "Paris has no tower.",
    "explanation": "It has one.",
    "entity_mention_loc": [[0, 5]],
    "writer": 9,
}


def gold(claims=(TRUE, FALSE), contrast=None):
    return {"entity": "Paris", "en_wiki_pageid": "22989", "writer": 7, "claims": list(claims), "contrast": contrast}


def row(ex_id, claim, **more):
    return {
        "ex_id": ex_id,
        "sentence": claim["sentence"],
        "explanation": claim["explanation"],
        "label": claim["label"],
        "entity": "Paris",
        "en_wiki_pageid": "22989",
        "entity_mention_loc": [[0, 5]],
        **more,
    }


@pytest.mark.parametrize(
    ("split", "claims", "contrast", "expected"),
    [
        ("dev", [TRUE, FALSE], None, [("dev", row("dev_8", TRUE)), ("dev", row("dev_9", FALSE))]),
        ("train", [FALSE], None, [("train", row("train_9", FALSE))]),
        (
            "test",
            [TRUE],
            CONTRAST,
            [
                ("test", row("test_8", TRUE)),
                ("contrast", row("contrast_8", TRUE, pair_id="4")),
                ("contrast", row("contrast_9", CONTRAST, pair_id="4")),
            ],
        ),
    ],
)
def test_an_item_becomes_the_rows_of_its_split_and_a_pair(split, claims, contrast, expected):
    assert RELEASE.rows({"split": split}, gold(claims, contrast), 4) == expected


def test_keys_are_in_the_order_of_the_release_and_a_test_row_keeps_its_label_to_itself():
    (_, full), *_ = RELEASE.rows({"split": "test"}, gold(), 0)
    names = ["ex_id", "sentence", "explanation", "label", "entity", "en_wiki_pageid", "entity_mention_loc"]
    assert list(full) == names
    assert list(unlabelled(full)) == [name for name in names if name not in ("explanation", "label")]
    assert RELEASE.labelled == ("test",)


def pair(*labels, entities=("Paris", "Paris", "Paris")):
    return [
        ("contrast", {"pair_id": "4", "label": label, "entity": name})
        for label, name in zip(labels, entities, strict=False)
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], ""),
        ([("dev", {"label": "true"})], ""),
        (pair("true", "false"), ""),
        (pair("true"), "The contrast pair 4 has 1 members instead of two."),
        (pair("true", "false", "true"), "The contrast pair 4 has 3 members instead of two."),
        (pair("true", "true"), "The two members of the contrast pair 4 have the same label."),
        (
            pair("true", "false", entities=("Paris", "Rome")),
            "The two members of the contrast pair 4 are about different entities.",
        ),
    ],
)
def test_a_pair_has_two_members_opposite_labels_and_one_entity(rows, said):
    assert fault(rows) == said


def uses(*places):
    return [Use(kind, key, key, split) for kind, key, split in places]


ENTITY, WORKER = "entity", "worker"


@pytest.mark.parametrize(
    ("places", "strict", "as_released"),
    [
        ([(ENTITY, "Paris", "train"), (ENTITY, "Paris", "train"), (WORKER, "7", "train")], 0, 0),
        ([(ENTITY, "Paris", "dev"), (ENTITY, "Paris", "test")], 1, 0),
        ([(ENTITY, "Paris", "train"), (ENTITY, "Paris", "test")], 1, 1),
        ([(ENTITY, "Paris", "dev"), (ENTITY, "Paris", "test"), (ENTITY, "Paris", "train")], 3, 2),
        ([(WORKER, "7", "dev"), (WORKER, "7", "test")], 1, 1),
        ([(WORKER, "7", "dev"), (ENTITY, "7", "test")], 0, 0),
    ],
)
def test_dev_and_test_may_share_entities_as_released_and_nobody_else_anything(places, strict, as_released):
    found = [len(list(RELEASE.clashes(uses(*places), mode))) for mode in ("strict", "as_released")]
    assert found == [strict, as_released]


PLACES = st.lists(
    st.tuples(st.sampled_from([ENTITY, WORKER]), st.sampled_from("abc"), st.sampled_from(["train", "dev", "test"]))
)


@given(PLACES, st.randoms(use_true_random=False))
def test_whether_splits_clash_does_not_depend_on_the_order_of_items(places, rng):
    shuffled = list(places)
    rng.shuffle(shuffled)
    for mode in RELEASE.modes:
        before, after = (list(RELEASE.clashes(uses(*some), mode)) for some in (places, shuffled))
        assert len(before) == len(after)


@given(PLACES)
def test_what_strict_lets_through_is_let_through_as_released(places):
    if not list(RELEASE.clashes(uses(*places), "strict")):
        assert list(RELEASE.clashes(uses(*places), "as_released")) == []
    by_split = [[p for p in places if p[2] == split] for split in ("train", "dev", "test")]
    assert [list(RELEASE.clashes(uses(*some), "strict")) for some in by_split] == [[], [], []]


def test_an_entity_is_the_same_by_its_page_and_by_its_name():
    named = RELEASE.uses({"split": "dev"}, gold(contrast=CONTRAST))
    assert [(u.kind, u.key, u.name, u.split) for u in named] == [
        ("worker", "7", "7", "dev"),
        ("worker", "9", "9", "dev"),
        ("entity", "name paris", "Paris", "dev"),
        ("entity", "page 22989", "Paris", "dev"),
    ]
