"""CREAK's report on hand-worked sets, and of a study."""

import pytest

from annotation.protocols.creak_review import REASONS
from tests.claims import KEEP, hand_in, make_claim_study, make_claim_worker, reviewed, take, write
from tests.factories import LONG_AGO
from validation import reports
from validation.reports import creak

TRUE, FALSE = ({"label": label, "original": None} for label in ("true", "false"))


def gold(*claims, entity="Paris", writer=1, relabel=None, contrast=None):
    return {"claims": list(claims), "entity": entity, "writer": writer, "relabel": relabel, "contrast": contrast}


def votes(label, majority):
    return {"label": label, "majority": majority}


GOLDS = [
    ("train", gold(TRUE, FALSE)),
    ("train", gold(TRUE | {"original": "Was."}, entity="Rome", writer=2, contrast={"of": "true"})),
    ("dev", gold(TRUE, FALSE, writer=3, relabel=votes("true", "true"))),
    ("dev", gold(FALSE, writer=3, relabel=votes("false", "true"))),
    ("dev", gold(TRUE, FALSE, writer=4, relabel=votes("false", None))),
]


def test_sizes_are_counted_by_split_and_label():
    assert creak.sizes(GOLDS) == {
        "train": {"claims": 3, "true": 2, "false": 1, "edited": 1, "contrast_pairs": 1, "entities": 2},
        "dev": {"claims": 5, "true": 2, "false": 3, "edited": 0, "contrast_pairs": 0, "entities": 1},
        "test": {"claims": 0, "true": 0, "false": 0, "edited": 0, "contrast_pairs": 0, "entities": 0},
    }


def test_what_was_removed_is_counted_by_reason():
    drop = {"decision": "reject", "reason": "outlandish"}
    found = creak.removed([("dev", reviewed()), ("dev", reviewed(drop)), ("test", reviewed(drop, drop))])
    none = dict.fromkeys(REASONS, 0)
    assert found == {
        "train": {"reviewed": 0, "rejected": 0, "rejected_pct": None, "by_reason": none},
        "dev": {"reviewed": 4, "rejected": 1, "rejected_pct": 25.0, "by_reason": none | {"outlandish": 1}},
        "test": {"reviewed": 2, "rejected": 2, "rejected_pct": 100.0, "by_reason": none | {"outlandish": 2}},
    }


def test_majorities_are_held_against_the_writers_label():
    found = creak.relabelled(GOLDS)
    assert (
        found["dev"]
        == found["all"]
        == {
            "judged": 3,
            "agree": 1,
            "no_majority": 1,
            "pct": 50.0,
            "low": 9.45,
            "high": 90.55,
        }
    )
    assert found["train"] == {"judged": 0, "agree": 0, "no_majority": 0, "pct": None, "low": None, "high": None}


def test_the_top_writers_of_a_split_are_named_by_their_codes():
    found = creak.writers(GOLDS, {1: "W001", 2: "W002", 3: "W003", 4: "W004"})
    assert found["dev"] == [
        {"worker": "W003", "claims": 3, "share_pct": 60.0},
        {"worker": "W004", "claims": 2, "share_pct": 40.0},
    ]
    assert found["test"] == []


@pytest.mark.django_db
def test_a_studys_report_has_its_numbers_tables_and_figures():
    study = make_claim_study(splits=["train", "dev"], relabel_share=1)
    write(study, make_claim_worker(study, "ann"))
    write(study, make_claim_worker(study, "ben"))
    drop = {"decision": "reject", "reason": "grammar"}
    eva = make_claim_worker(study, "eva")
    hand_in(take(study, eva, "review"), reviewed(KEEP, drop))
    for code in ("jo", "kim", "lee"):
        hand_in(take(study, make_claim_worker(study, code), "relabel"), {"label": "true"})
    made = reports.make(study, at=LONG_AGO)
    numbers = made.numbers
    assert (numbers["sizes"]["train"]["claims"], numbers["outcomes"]) == (1, {"settled": 1})
    assert numbers["removed"]["train"]["by_reason"]["grammar"] == 1
    assert (numbers["relabel"]["all"]["agree"], numbers["writers"]["train"][0]["worker"]) == (1, "W001")
    assert [table.name for table in made.tables] == ["sizes", "removed", "relabel", "writers", "workers", "times"]
    assert [figure.name for figure in made.figures] == ["labels", "artefacts", "diversity"]
    assert len(list(made.files())) == 1 + 2 * 6 + 2 * 3


@pytest.mark.django_db
def test_an_empty_study_has_a_report_that_says_so():
    made = reports.make(make_claim_study(), at=LONG_AGO)
    assert list(made.notes) == ["No item is settled yet, so there is nothing to count."]
