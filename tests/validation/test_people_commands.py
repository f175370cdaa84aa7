"""Commands about people: what they print, what they change, how they refuse."""

import json
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotation, Enrolment, Event, Revocation
from tests.factories import NORMAL_ANSWER, make_items, make_study
from tests.people import answer
from validation.models import Score

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
def study():
    study = make_study(items_per_sitting=2, revoke_after=1, pay_per_sitting=1.0)
    make_items(study, 3)
    answer(study, "ann", NORMAL_ANSWER, NORMAL_ANSWER)
    answer(study, "ben", NORMAL_ANSWER, NORMAL_ANSWER)
    return study


def run(capsys, *arguments):
    call_command(*arguments)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_workers_prints_a_line_each_with_the_numbers(study, capsys):
    lines = run(capsys, "workers", "crepe-a")
    assert [line["worker"] for line in lines] == ["W001", "W002"]
    assert set(lines[0]) == {
        "worker",
        "stages",
        "state",
        "annotations",
        "gold_accuracy",
        "filler_accuracy",
        "invalid_share",
        "invalid_share_of_judged",
        "median_seconds",
        "share_of_study",
    }


def test_revoke_says_first_what_it_would_do_and_then_does_that(study, capsys):
    asked = ("revoke", "crepe-a", "W002", "--reason", "Guessing.", "--work", "exclude")
    (seen,) = run(capsys, *asked, "--dry-run")
    assert (seen["annotations"], seen["seats"], seen["cost"]) == (2, 2, 1.0)
    assert not Revocation.objects.exists()
    assert run(capsys, *asked) == [{"worker": "W002", "work": "exclude", "annotations": 2, "items": 2, "seats": 2}]
    with pytest.raises(CommandError, match="W002 was revoked"):
        call_command(*asked)


def test_restore_lets_the_work_count_again_when_asked(study, capsys):
    call_command("revoke", "crepe-a", "ben", "--reason", "Guessing.", "--work", "hold")
    capsys.readouterr()
    (line,) = run(capsys, "restore", "crepe-a", "ben", "--reason", "A mistake.", "--reinstate")
    assert line == {"worker": "W002", "state": "active", "reinstated": 2}
    with pytest.raises(CommandError, match="W002 is not revoked"):
        call_command("restore", "crepe-a", "ben", "--reason", "Again.")


def test_recollect_prints_what_it_costs_and_with_dry_run_changes_nothing(study, capsys):
    call_command("workers", "crepe-a")
    Score.objects.filter(enrolment__worker__code="ben").update(decided=2, invalid=2)
    capsys.readouterr()
    (line,) = run(capsys, "recollect", "crepe-a", "--rule", "revoke_invalid_share=0.5", "--dry-run")
    assert line == {"workers": 1, "annotations": 2, "items_below": 2, "seats": 2, "cost": 1.0}
    assert Enrolment.objects.get(worker__code="ben").state == "active"
    assert run(capsys, "recollect", "crepe-a", "--rule", "revoke_invalid_share=0.5") == [line]
    assert set(Annotation.objects.filter(worker__code="ben").values_list("uncounted", flat=True)) == {"excluded"}


def test_events_prints_those_about_a_worker_or_an_item(study, capsys):
    about = run(capsys, "events", "crepe-a", "--worker", "W001", "--item", "q1")
    assert [line["what"] for line in about] == ["leased", "submitted"]
    assert {(line["worker"], line["item"]) for line in about} == {("W001", "q1")}
    assert len(run(capsys, "events", "crepe-a")) == Event.objects.count()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("workers", "nope"), "There is no study 'nope'"),
        (("revoke", "crepe-a", "W009", "--reason", "x", "--work", "keep"), "There is no worker 'W009' in this study."),
        (("revoke", "crepe-a", "W001", "--reason", " ", "--work", "keep"), "Say why, in a sentence"),
        (("recollect", "crepe-a"), "Give at least one --rule NAME=VALUE"),
        (("recollect", "crepe-a", "--rule", "speed=1"), "There is no rule 'speed'"),
        (("recollect", "crepe-a", "--rule", "speed"), "A setting is written NAME=VALUE"),
        (("events", "crepe-a", "--item", "q9"), "There is no item 'q9'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(study, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command(*arguments)
