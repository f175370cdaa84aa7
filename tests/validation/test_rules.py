"""Rules over a worker's numbers, as tables: strict comparisons, from so many answers on."""

import pytest

from annotation.protocols.crepe import CREPE
from validation.models import Score
from validation.rules import RULES, first_met, stricter, thresholds_of


def numbers(**given):
    return Score(**{"annotations": 30} | given)


@pytest.mark.parametrize(
    ("rule", "given", "threshold", "why"),
    [
        # CREPE: more than 10% of annotations invalid (App. B), strictly.
        ("revoke_invalid_share", {"invalid": 3, "decided": 30}, 0.10, ""),
        (
            "revoke_invalid_share",
            {"invalid": 4, "decided": 30},
            0.10,
            "4 of 30 answers were found invalid (13.3%); the study allows at most 10%.",
        ),
        ("revoke_invalid_share", {"invalid": 30, "decided": 30}, 0, ""),
        ("revoke_invalid_share", {"invalid": 0, "decided": 0}, 0.1, ""),
        (
            "revoke_invalid_share_of_judged",
            {"judged_invalid": 1, "judged": 2},
            0.4,
            "1 of 2 judged answers were found invalid (50.0%); the study allows at most 40%.",
        ),
        # NOPE: filler accuracy below 70% (App. D); 0.70 itself passes.
        ("revoke_filler_accuracy", {"fillers_right": 7, "fillers": 10}, 0.70, ""),
        (
            "revoke_filler_accuracy",
            {"fillers_right": 69, "fillers": 100},
            0.70,
            "69 of 100 fillers were answered right (69.0%); the study allows at least 70%.",
        ),
        (
            "revoke_gold_accuracy",
            {"gold_right": 0, "gold": 1},
            0.5,
            "0 of 1 hidden questions were answered right (0.0%); the study allows at least 50%.",
        ),
    ],
)
def test_a_rule_is_met_strictly_beyond_its_threshold(rule, given, threshold, why):
    assert RULES[rule].why(numbers(**given), threshold, after=20) == why


def test_nobody_is_judged_before_enough_answers():
    bad = {"invalid": 19, "decided": 19}
    assert not RULES["revoke_invalid_share"].why(numbers(annotations=19, **bad), 0.1, after=20)
    assert RULES["revoke_invalid_share"].why(numbers(annotations=20, **bad), 0.1, after=20)


def test_a_study_switches_rules_on_by_its_settings():
    assert thresholds_of(CREPE.read_options({})) == {"revoke_invalid_share": 0.10}
    assert thresholds_of({}) == {}
    given = CREPE.read_options({"revoke_invalid_share": 0, "revoke_filler_accuracy": "0.7"})
    assert thresholds_of(given) == {"revoke_filler_accuracy": 0.7}


def test_stricter_allows_half_of_what_may_be_wrong():
    assert stricter({"revoke_invalid_share": 0.1, "revoke_filler_accuracy": 0.7}) == {
        "revoke_invalid_share": 0.05,
        "revoke_filler_accuracy": 0.85,
    }


def test_the_first_rule_that_is_met_is_the_reason():
    both = numbers(invalid=9, decided=10, gold=10, gold_right=1)
    assert first_met(both, {"revoke_gold_accuracy": 0.5, "revoke_invalid_share": 0.1}, 20)[0] == "revoke_gold_accuracy"
    assert first_met(numbers(), {"revoke_invalid_share": 0.1}, 20) == ("", "")


def test_no_rule_looks_at_how_somebody_worked():
    looked_at = {name for rule in RULES.values() for name in (rule.count, rule.total)}
    assert not looked_at & {"pasted", "median_seconds", "seconds", "copied", "copies_own", "copies_others"}
