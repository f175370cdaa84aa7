"""What a CREPE item needs next: the state machine of PROTOCOLS.md 1.4 as a table."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols import CREPE
from annotation.protocols.base import Collect, Counted, Drop, Settle, Unresolved

PAYLOAD = {"id": "q1", "question": "Why do veins look blue?", "comment": "They do not carry blue blood."}
FP1 = [{"presupposition": "Veins carry blue blood.", "correction": "All blood is red."}]
FP2 = [{"presupposition": "Blood in veins is blue.", "correction": "Blood in veins is red."}]
NORMAL = {"label": "normal", "reason": None, "pairs": []}
FILTER = {"label": "filter", "reason": "subjective", "pairs": []}


def false(pairs):
    return {"label": "false presupposition", "reason": None, "pairs": pairs}


def answers(written, verdicts=()):
    """Counted answers with ids 1, 2, ...; verdicts judge the first two."""
    ids = count(1)
    rows = [Counted(next(ids), "generate", answer) for answer in written]
    return rows + [Counted(next(ids), "validate", {"valid": v}, judges=(1, 2)) for v in verdicts]


def step(written, verdicts=(), adjudication="validators"):
    return CREPE.next_step(PAYLOAD, answers(written, verdicts), {"adjudication": adjudication})


@pytest.mark.parametrize(
    ("written", "verdicts", "expected"),
    [
        ([], [], Collect("generate", 2)),
        ([NORMAL], [], Collect("generate", 2)),
        ([FILTER], [], Collect("generate", 2)),
        ([NORMAL, false(FP1)], [], Collect("validate", 2)),
        ([NORMAL, false(FP1)], ["A"], Collect("validate", 2)),
        ([NORMAL, false(FP1)], ["A", "B"], Collect("validate", 3)),
        ([NORMAL, false(FP1)], ["A", "neither"], Collect("validate", 3)),
    ],
)
def test_an_item_collects_until_its_votes_are_in(written, verdicts, expected):
    assert step(written, verdicts) == expected


@pytest.mark.parametrize(
    ("written", "verdicts", "why"),
    [
        ([FILTER, NORMAL], [], "A generator left it out: subjective."),
        ([false(FP1), FILTER], [], "A generator left it out: subjective."),
        (
            [NORMAL, false(FP1)],
            ["neither", "neither"],
            "Both validators gave the same verdict: neither annotation is valid.",
        ),
        (
            [NORMAL, false(FP1)],
            ["neither", "A", "neither"],
            "Two of three validators gave the same verdict: neither annotation is valid.",
        ),
    ],
)
def test_an_item_is_filtered(written, verdicts, why):
    dropped = step(written, verdicts)
    assert (type(dropped), dropped.label, dropped.why) == (Drop, "filter", why)


@pytest.mark.parametrize(
    ("written", "verdicts", "upheld", "judged"),
    [
        ([FILTER, NORMAL], [], {}, False),
        ([NORMAL, NORMAL], [], {1: True, 2: True}, False),
        ([NORMAL, false(FP1)], ["B", "B"], {1: False, 2: True, 3: True, 4: True}, True),
        ([NORMAL, false(FP1)], ["A", "B", "B"], {1: False, 2: True, 3: False, 4: True, 5: True}, True),
        ([NORMAL, false(FP1)], ["neither", "neither"], {1: False, 2: False, 3: True, 4: True}, True),
    ],
)
def test_an_outcome_says_whose_answer_it_upholds(written, verdicts, upheld, judged):
    settled = step(written, verdicts)
    assert (dict(settled.upheld), settled.judged) == (upheld, judged)


@pytest.mark.parametrize(
    ("written", "verdicts", "label", "references"),
    [
        ([NORMAL, NORMAL], [], "normal", []),
        ([false(FP1), false(FP2)], [], "false presupposition", FP1 + FP2),
        ([NORMAL, false(FP1)], ["A", "A"], "normal", []),
        ([NORMAL, false(FP1)], ["B", "B"], "false presupposition", FP1),
        ([false(FP1 + FP2), NORMAL], ["A", "A"], "false presupposition", FP1 + FP2),
        ([NORMAL, false(FP1)], ["A", "B", "B"], "false presupposition", FP1),
        ([NORMAL, false(FP1)], ["neither", "A", "A"], "normal", []),
    ],
)
def test_an_item_settles_with_its_references(written, verdicts, label, references):
    settled = step(written, verdicts)
    assert isinstance(settled, Settle)
    raw = [pair for answer in written for pair in answer["pairs"]]
    assert (settled.label, settled.gold) == (
        label,
        {
            "labels": [label],
            "presuppositions": [pair["presupposition"] for pair in references],
            "corrections": [pair["correction"] for pair in references],
            "raw_labels": [answer["label"] for answer in written],
            "raw_presuppositions": [pair["presupposition"] for pair in raw],
            "raw_corrections": [pair["correction"] for pair in raw],
        },
    )


def test_three_different_verdicts_leave_an_item_unresolved_with_both_labels():
    left = step([NORMAL, false(FP1)], ["A", "B", "neither"])
    assert isinstance(left, Unresolved)
    assert left.gold["labels"] == ["false presupposition", "normal"]
    assert left.gold["presuppositions"] == ["Veins carry blue blood."]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([NORMAL, false(FP1)], Collect("generate", 3)),
        ([NORMAL, false(FP1), FILTER], Drop("filter", "The third annotator left it out: subjective.")),
    ],
)
def test_a_third_annotator_is_asked_when_the_study_says_so(written, expected):
    assert step(written, adjudication="third_annotator") == expected


def test_the_third_annotators_majority_keeps_all_writings_of_that_label():
    settled = step([false(FP1), NORMAL, false(FP2)], adjudication="third_annotator")
    assert isinstance(settled, Settle)
    assert settled.label == "false presupposition"
    assert settled.gold["presuppositions"] == ["Veins carry blue blood.", "Blood in veins is blue."]
    assert settled.gold["raw_labels"] == ["false presupposition", "normal", "false presupposition"]


def test_verdicts_about_other_annotations_do_not_count():
    rows = answers([NORMAL, false(FP1)])
    rows += [
        Counted(9, "validate", {"valid": "A"}, judges=(1, 7)),
        Counted(10, "validate", {"valid": "A"}, judges=(1, 7)),
    ]
    assert CREPE.next_step(PAYLOAD, rows, {"adjudication": "validators"}) == Collect("validate", 2)


ANSWER = st.sampled_from([NORMAL, FILTER, false(FP1), false(FP2)])
VERDICT = st.sampled_from(["A", "B", "neither"])


@given(st.lists(ANSWER, max_size=4), st.lists(VERDICT, max_size=4), st.sampled_from(["validators", "third_annotator"]))
def test_every_history_has_a_next_step_and_normal_gold_has_no_references(written, verdicts, adjudication):
    result = step(written, verdicts, adjudication)
    if isinstance(result, Collect):
        assert result.votes <= 3
    elif isinstance(result, Settle):
        gold = result.gold
        assert (gold["labels"] == ["normal"]) == (gold["presuppositions"] == gold["corrections"] == [])


@given(st.lists(ANSWER, min_size=2, max_size=2), st.lists(VERDICT, max_size=3))
def test_a_later_answer_never_changes_what_was_settled_before(written, verdicts):
    steps = [step(written, verdicts[:n]) for n in range(len(verdicts) + 1)]
    final = next((s for s in steps if not isinstance(s, Collect)), None)
    if final is not None:
        assert steps[-1] == final
