"""What a CREAK item needs next: write, review, and on a sample relabel and contrast (PROTOCOLS.md 3.4)."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols import CREAK
from annotation.protocols.base import Collect, Counted, Drop, Settle
from annotation.protocols.creak_samples import sampled
from tests.claims import item, reviewed, written

PAYLOAD = CREAK.read_row(item(1)).payload
ANSWER = CREAK.stage("write").read(PAYLOAD, written(1))[0]
REJECT = {"decision": "reject", "reason": "ambiguous"}
EDIT = {"decision": "edit", "claim": "Paris 1 lies on the river."}
FLIP = {"claim": "Paris 1 lies on a hill.", "explanation": "It is flat there."}


def step(review=None, votes=(), contrast=None, *, payload=PAYLOAD, more=(), **options):
    """After a writing by worker 7, and what came after it."""
    ids = count(1)
    rows = [Counted(next(ids), "write", ANSWER, worker=7)]
    about = (1,)
    if review:
        rows.append(Counted(next(ids), "review", review, (1,), worker=8))
        about = (1, 2)
    rows += [Counted(next(ids), "relabel", {"label": vote}, about, worker=20 + n) for n, vote in enumerate(votes)]
    if contrast:
        rows.append(Counted(next(ids), "contrast", contrast, about, worker=9))
    return CREAK.next_step(payload, [*rows, *more], CREAK.read_options(options))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Collect("review", 1)),
        ({"reviewed_splits": "dev,test", "relabel_share": 1}, Collect("relabel", 3)),
        ({"reviewed_splits": "", "contrast_share": 1}, Collect("contrast", 1)),
        ({"review": reviewed(), "relabel_share": 1}, Collect("relabel", 3)),
        ({"review": reviewed(), "relabel_share": 1, "votes": ["true", "false"]}, Collect("relabel", 3)),
        ({"review": reviewed(), "relabel_share": 1, "relabel_judges": 5, "votes": ["true"] * 4}, Collect("relabel", 5)),
        (
            {"review": reviewed(), "relabel_share": 1, "contrast_share": 1, "votes": ["true"] * 3},
            Collect("contrast", 1),
        ),
    ],
)
def test_an_item_collects_until_all_is_in(given, expected):
    assert step(**given) == expected
    assert CREAK.next_step(PAYLOAD, [], CREAK.read_options({})) == Collect("write", 1)


def test_two_rejected_claims_drop_the_item():
    assert step(reviewed(REJECT, {"decision": "reject", "reason": "grammar"}), relabel_share=1) == Drop(
        "rejected", "Both claims were rejected: ambiguous, grammar.", {1: False}, judged=True
    )


@pytest.mark.parametrize(
    ("given", "label", "why", "upheld", "judged"),
    [
        ({"reviewed_splits": ""}, "both", "Written; this split is not reviewed.", {}, False),
        ({"review": reviewed()}, "both", "Reviewed.", {1: True}, True),
        ({"review": reviewed(EDIT)}, "both", "Reviewed.", {1: True}, True),
        (
            {"review": reviewed(false=REJECT)},
            "true",
            "Reviewed; the false claim was rejected: ambiguous.",
            {1: False},
            True,
        ),
        (
            {"review": reviewed(true=REJECT), "relabel_share": 1, "votes": ["false", "true", "false"]},
            "false",
            "Reviewed; the true claim was rejected: ambiguous; the judges say false, the writer false.",
            {1: False, 3: True, 4: False, 5: True},
            True,
        ),
    ],
)
def test_what_is_left_settles_with_the_reason_and_whose_work_it_upholds(given, label, why, upheld, judged):
    settled = step(**given)
    assert isinstance(settled, Settle)
    assert (settled.label, settled.why, settled.upheld, settled.judged) == (label, why, upheld, judged)


def test_gold_keeps_all_that_an_export_needs():
    settled = step(reviewed(EDIT, REJECT), ["true", "true", "false"], FLIP, relabel_share=1, contrast_share=1)
    assert settled.gold == {
        "entity": "Paris 1",
        "en_wiki_pageid": "101",
        "writer": 7,
        "claims": [
            {
                "label": "true",
                "sentence": "Paris 1 lies on the river.",
                "explanation": "Because of this: Paris 1 lies on a river.",
                "entity_mention_loc": [[0, 7]],
                "certainty": "definitely",
                "original": "Paris 1 lies on a river.",
            }
        ],
        "removed": [{"label": "false", "reason": "ambiguous"}],
        "relabel": {"label": "true", "votes": ["true", "true", "false"], "majority": "true"},
        "contrast": {
            "of": "true",
            "label": "false",
            "sentence": "Paris 1 lies on a hill.",
            "explanation": "It is flat there.",
            "entity_mention_loc": [[0, 7]],
            "writer": 9,
        },
    }


def test_what_is_about_another_writing_does_not_count():
    other = [
        Counted(11, "review", reviewed(), (5,)),
        Counted(12, "relabel", {"label": "true"}, (5,)),
        Counted(13, "contrast", FLIP, (5,)),
    ]
    assert step(more=other) == Collect("review", 1)
    assert step(reviewed(), relabel_share=1, contrast_share=1, more=other) == Collect("relabel", 3)


def test_a_larger_sample_holds_the_smaller_one_and_is_about_its_size():
    payloads = [{"id": f"c{n}"} for n in range(2_000)]
    small, large = ({p["id"] for p in payloads if sampled("relabel", p, share)} for share in (0.1, 0.3))
    assert small < large
    assert 150 < len(small) < 250 < 500 < len(large) < 700


DECISIONS = st.sampled_from([{"decision": "keep"}, EDIT, REJECT])
VOTES = st.lists(st.sampled_from(["true", "false"]), max_size=4)


@given(DECISIONS, DECISIONS, VOTES, st.booleans(), st.booleans())
def test_the_order_of_votes_changes_nothing_but_their_order(true, false, votes, relabels, flips):
    if false is EDIT:
        false = {"decision": "keep"}
    options = {"relabel_share": int(relabels), "contrast_share": int(flips)}

    def made(order):
        settled = step(reviewed(true, false), order, FLIP, **options)
        if not isinstance(settled, Settle):
            return settled
        relabel = settled.gold["relabel"]
        return settled.gold | {"relabel": relabel and relabel | {"votes": sorted(relabel["votes"])}}

    # Of an even number without a majority neither order has one.
    assert made(votes) == made(votes[::-1])


@given(DECISIONS, VOTES, st.booleans())
def test_a_later_answer_never_changes_what_was_settled_before(true, votes, flips):
    review = reviewed(true)
    steps = [step(review, votes[:n], relabel_share=1) for n in range(len(votes) + 1)]
    kinds = [type(s) for s in steps]
    first = next((n for n, kind in enumerate(kinds) if kind is not Collect), None)
    if first is not None:
        assert set(kinds[first:]) == {kinds[first]}
    assert all(s.votes == 3 for s in steps if isinstance(s, Collect))


@given(st.text(min_size=1, max_size=5).filter(str.isalnum), st.integers(1, 99))
def test_other_names_of_entities_and_people_settle_alike(name, worker):
    """Renaming: the same history about another entity, by other people, comes to the same."""
    payload = {"id": "c1", "split": "train", "entities": [{"entity": name, "en_wiki_pageid": "1"}]}
    answer = {
        "entity": name,
        "true": {"claim": f"{name} grows.", "explanation": "x", "certainty": "maybe", "entity_mention_loc": []},
        "false": {"claim": f"{name} swims.", "explanation": "y", "certainty": "maybe", "entity_mention_loc": []},
    }
    rows = [Counted(1, "write", answer, worker=worker), Counted(2, "review", reviewed(), (1,), worker=worker + 1)]
    settled = CREAK.next_step(payload, rows, CREAK.read_options({}))
    assert isinstance(settled, Settle)
    assert (settled.label, settled.gold["writer"], settled.upheld) == ("both", worker, {1: True})
    assert [claim["entity_mention_loc"] for claim in settled.gold["claims"]] == [[[0, len(name)]]] * 2
