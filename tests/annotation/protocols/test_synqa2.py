"""Syn-(QA)2 verification: verdicts, their majority, pairs that differ in one mention."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols.base import BadRow, Collect, Counted, Settle, Unresolved
from annotation.protocols.synqa2 import LABELS, SYNQA2, VERDICTS, is_link

ROW = {
    "id": "p1",
    "kind": "single_hop",
    "relation": "founded_by",
    "x": "Bill Gates",
    "replacement": "Tim Cook",
    "y": "Microsoft",
    "question_without": "In which year did Bill Gates found Microsoft?",
    "question_with": "In which year did Tim Cook found Microsoft?",
}
PAYLOAD = SYNQA2.read_row(ROW, "work").payload
STAGE = SYNQA2.stage("verify")
NO_LINK = "A link starts with http:// or https:// and names a site; without one, write a short note."
DIFFER = "the two questions must differ in exactly one mention"
K, H, N, W, U = "keep", "holds", "nonsense", "original wrong", "unsure"


def step(*verdicts, verifiers=2):
    answers = [Counted(n, "verify", {"verdict": v}, (), n) for n, v in enumerate(verdicts, 1)]
    return SYNQA2.next_step(PAYLOAD, answers, {"verifiers": verifiers})


def outcome(step):
    """The verdict, "disputed", or how many votes are wanted."""
    return step.votes if isinstance(step, Collect) else step.gold["verdict"]


@pytest.mark.parametrize(
    ("verifiers", "verdicts", "comes_to"),
    [
        (2, [], 2),
        (2, [K], 2),
        (2, [K, K], K),
        (2, [H, H], H),
        (2, [K, H], 3),
        (2, [K, H, K], K),
        (2, [K, H, H], H),
        (2, [K, H, N], "disputed"),
        (2, [K, U], 3),
        (2, [K, U, K], K),
        (2, [K, U, U], "disputed"),
        (2, [K, U, H], "disputed"),
        (2, [U, U], "disputed"),
        (2, [K, K, H], K),
        (1, [], 1),
        (1, [W], W),
        (1, [U], 2),
        (1, [U, K], 3),
        (1, [U, K, K], K),
        (1, [U, U], "disputed"),
        (3, [K, K], 3),
        (3, [K, K, H], K),
        (3, [K, H, N], "disputed"),
        (3, [U, U, K], "disputed"),
    ],
)
def test_more_than_half_of_up_to_three_verifiers_decide_and_unsure_never_does(verifiers, verdicts, comes_to):
    assert outcome(step(*verdicts, verifiers=verifiers)) == comes_to


def test_gold_says_what_everybody_said_and_nobodys_name():
    answers = [
        Counted(1, "verify", {"verdict": K, "evidence": "https://example.org/x"}, (), 70),
        Counted(2, "verify", {"verdict": K}, (), 71),
    ]
    found = SYNQA2.next_step(PAYLOAD, answers, {"verifiers": 2})
    assert isinstance(found, Settle)
    assert (found.label, found.upheld) == ("kept", {1: True, 2: True})
    assert SYNQA2.export_rows(PAYLOAD, found.gold) == [
        {
            **ROW,
            "verdict": "keep",
            "verdicts": [{"verdict": K, "evidence": "https://example.org/x"}, {"verdict": K, "evidence": None}],
        }
    ]


def test_a_removed_pair_is_settled_with_its_reason_and_a_disputed_one_is_called_so():
    assert [step(v, v).label for v in VERDICTS[:4]] == list(LABELS.values())
    disputed = step(K, H, N)
    assert isinstance(disputed, Unresolved)
    assert (disputed.label, disputed.why) == ("disputed", "No verdict has a majority: 1 keep, 1 holds, 1 nonsense.")


def test_who_was_unsure_is_neither_upheld_nor_not():
    assert step(K, U, K).upheld == {1: True, 3: True}
    assert step(K, H, K).judged


def test_a_person_of_the_team_decides_a_disputed_pair():
    answers = [Counted(n, "verify", {"verdict": v}, (), n) for n, v in enumerate([K, H, N], 1)]
    decided = SYNQA2.step(PAYLOAD, answers, {"verifiers": 2}, "holds")
    assert isinstance(decided, Settle)
    assert (decided.label, decided.gold["verdict"]) == ("removed: assumption holds", "holds")
    assert len(decided.gold["verdicts"]) == 3


@given(st.lists(st.sampled_from(VERDICTS), min_size=3, max_size=3))
def test_three_verdicts_come_to_the_same_in_any_order(verdicts):
    assert len({outcome(step(*order, verifiers=3)) for order in permutations(verdicts)}) == 1


@given(st.lists(st.sampled_from(VERDICTS), max_size=5), st.sampled_from([1, 2, 3]))
def test_what_is_decided_stays_decided_whatever_comes_later(verdicts, verifiers):
    for count in range(len(verdicts) + 1):
        now = step(*verdicts[:count], verifiers=verifiers)
        if not isinstance(now, Collect):
            assert outcome(now) == outcome(step(*verdicts, verifiers=verifiers))
            break
        assert count < now.votes <= 3


@pytest.mark.parametrize(
    ("raw", "clean", "said"),
    [
        ({"verdict": "keep"}, {"verdict": "keep"}, []),
        (
            {"verdict": "keep", "evidence": " https://example.org/a?b=c "},
            {"verdict": "keep", "evidence": "https://example.org/a?b=c"},
            [],
        ),
        (
            {"verdict": "holds", "evidence": "I read it in his biography."},
            {"verdict": "holds", "evidence": "I read it in his biography."},
            [],
        ),
        ({"verdict": "keep", "evidence": ""}, {"verdict": "keep"}, []),
        ({"verdict": "keep", "evidence": "javascript:alert(1)"}, None, [NO_LINK]),
        ({"verdict": "keep", "evidence": "ftp://example.org/a"}, None, [NO_LINK]),
        ({"verdict": "keep", "evidence": "https://"}, None, [NO_LINK]),
        ({"verdict": "keep", "evidence": "x" * 501}, None, ["A note has at most 500 characters; this has 501."]),
        ({"verdict": "keep", "evidence": 3}, None, ["This must be text."]),
        ({"verdict": "yes"}, None, ["The verdict must be one of: keep, holds, nonsense, original wrong, unsure."]),
        ({}, None, ["The verdict must be one of: keep, holds, nonsense, original wrong, unsure."]),
        ({"verdict": "keep", "sure": 1}, None, ["Unknown field 'sure': an answer has verdict and evidence."]),
        ("keep", None, ["An answer is an object with verdict, and evidence where there is some."]),
    ],
)
def test_an_answer_is_a_verdict_with_a_link_or_a_note(raw, clean, said):
    answer, problems = STAGE.read(PAYLOAD, raw)
    assert [p.text for p in problems] == said
    if clean is not None:
        assert answer == clean
        assert STAGE.compose(STAGE.spread(answer)) == answer


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"question_with": "In which year did Tim Cook sell Microsoft?"},
            f"{DIFFER}: 'Bill Gates' in the first is 'Tim Cook' in the second, and everything else is the same",
        ),
        ({"question_with": ROW["question_without"]}, DIFFER),
        ({"replacement": "Steve Jobs"}, DIFFER),
        ({"kind": "double"}, "'kind' must be one of single_hop, multi_hop; it was 'double'"),
        ({"y": ""}, "'y' is missing or not a text"),
        ({"x": None}, "'x' is missing or not a text"),
    ],
)
def test_a_row_that_is_no_pair_is_refused(change, said):
    with pytest.raises(BadRow) as refused:
        SYNQA2.read_row({**ROW, **change}, "work")
    assert str(refused.value).startswith(said)


def test_a_multi_hop_pair_needs_no_relation_and_no_y():
    row = SYNQA2.read_row({**ROW, "kind": "multi_hop", "relation": None, "y": None}, "work")
    assert (row.payload["relation"], row.payload["y"]) == (None, None)


def test_links_of_a_row_are_shown_when_they_are_safe():
    row = {
        **ROW,
        "links": ["https://example.org/x", "javascript:alert(1)"],
        "meta": {"page": "http://example.org/y", "n": 3},
    }
    assert SYNQA2.read_row(row, "work").payload["links"] == ["http://example.org/y", "https://example.org/x"]


@pytest.mark.parametrize(
    "text", ["https://[x/", "http:example.org", "https://example.org/a b", 3, None, "https://a\x00"]
)
def test_what_is_no_link_is_not_shown_as_one(text):
    assert not is_link(text)


def test_an_export_is_taken_again_as_the_same_item():
    gold = step(K, K).gold
    assert SYNQA2.read_row(SYNQA2.export_rows(PAYLOAD, gold)[0], "work").payload == PAYLOAD


@pytest.mark.parametrize("gold", [None, {"verdict": "holds"}])
def test_the_simulated_crowd_gives_answers_that_are_taken(gold):
    for seed in range(20):
        answer = SYNQA2.imagine("verify", PAYLOAD, gold, [], 0.5, Random(seed))
        assert STAGE.read(PAYLOAD, answer) == (answer, [])
