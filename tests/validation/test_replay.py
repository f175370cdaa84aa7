"""Replaying a study under other options says what would differ, and changes nothing."""

import json
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command

from annotation import submission
from annotation.models import Event, Item
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, NORMAL_ANSWER, make_items, make_sitting, make_study
from validation.queries import agreement_of
from validation.replay import replay
from validation.verifying import alpha_of_raw_rows

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def answer(study, code, *answers, stage="generate"):
    sitting = make_sitting(study, code, stage=stage, at=NOON)
    given = dict(zip([a.pk for a in sitting.assignments.all()], answers, strict=True))
    submission.submit(sitting, given, at=NOON)


@pytest.fixture
def study():
    """q1 agreed, q2 filtered, q3 settled by two validators, q4 not begun."""
    study = make_study(items_per_sitting=3)
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER, FILTER_ANSWER, NORMAL_ANSWER)
    answer(study, "ben", NORMAL_ANSWER, NORMAL_ANSWER, FALSE_ANSWER)
    for code in ("cat", "dan"):
        answer(study, code, {"valid": "B"}, stage="validate")
    return study


def test_the_same_options_give_the_same_gold(study):
    assert replay(study, {}) == {
        "study": "crepe-a",
        "options": study.options,
        "items": 4,
        "same": 4,
        "settled": 2,
        "dropped": 1,
        "unresolved": 0,
        "needs_more": 1,
        "differences": [],
    }


def test_a_third_annotator_would_have_been_asked_where_validators_decided(study):
    before = list(Item.objects.values()), Event.objects.count()
    result = replay(study, {"adjudication": "third_annotator"})
    assert {name: result[name] for name in ("same", "settled", "dropped", "unresolved", "needs_more")} == {
        "same": 3,
        "settled": 1,
        "dropped": 1,
        "unresolved": 0,
        "needs_more": 2,
    }
    assert [(d["id"], d["from"]["label"], d["to"]) for d in result["differences"]] == [
        ("q3", "false presupposition", {"outcome": "needs_more", "stage": "generate", "votes": 3})
    ]
    assert (list(Item.objects.values()), Event.objects.count()) == before


def test_replay_by_command_prints_json_and_refuses_what_it_does_not_know(study, capsys):
    call_command("replay", "crepe-a", "--set", "adjudication=third_annotator")
    assert json.loads(capsys.readouterr().out)["needs_more"] == 2
    with pytest.raises(CommandError, match="Unknown setting 'mood'"):
        call_command("replay", "crepe-a", "--set", "mood=good")


def test_agreement_by_command_prints_the_numbers_and_verifies_them(study, capsys):
    call_command("agreement", "crepe-a", "--verify")
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == [
        "study",
        "stage",
        "question",
        "level",
        "items",
        "annotations",
        "workers",
        "percent_agreement",
        "fleiss_kappa",
        "krippendorff_alpha",
        "verified",
    ]
    assert (printed["stage"], printed["question"], printed["items"], printed["annotations"]) == (
        "generate",
        "label",
        3,
        6,
    )
    assert printed["percent_agreement"] == 0.5  # q1 agreed, q3 not; q2 was filtered and is left out
    assert printed["fleiss_kappa"]["left_out"] == 1
    assert printed["verified"]["difference"] < 1e-12


def test_alpha_from_raw_rows_is_undefined_where_ours_is(study):
    assert agreement_of(study, "validate", "valid").krippendorff_alpha.value is None
    assert alpha_of_raw_rows(study, "validate", "valid") is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stage", "paint"], "no stage 'paint'; it has generate, validate"),
        (["--question", "mood"], "no question 'mood'; it has label"),
    ],
)
def test_agreement_by_command_names_what_there_is(study, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("agreement", "crepe-a", *arguments)
