"""The API for staff: who may see what, and what it does."""

from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation import jobs, staff
from annotation.models import Annotation, Enrolment, Job
from tests.annotation.program import Program
from tests.factories import NORMAL_ANSWER, make_items, make_study
from tests.people import answer, make_admin, make_onlooker, make_researcher
from validation.models import Score

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
def study():
    study = make_study(items_per_sitting=2, revoke_after=1)
    make_items(study, 3)
    answer(study, "ann", NORMAL_ANSWER, NORMAL_ANSWER)
    answer(study, "ben", NORMAL_ANSWER, NORMAL_ANSWER)
    call_command("workers", study.slug)
    return study


def program(user):
    return Program(token=staff.sign(user, at=timezone.now()))


@pytest.fixture
def maria(study):
    return program(make_researcher(study))


def test_a_researcher_reads_numbers_and_the_log(study, maria):
    status, body = maria.ask("GET", "studies/crepe-a/workers/")
    assert (status, [w["worker"] for w in body["workers"]]) == (200, ["W001", "W002"])
    assert maria.ask("GET", "studies/crepe-a/workers/W002/")[1] == body["workers"][1]
    assert body["workers"][1] == {
        "worker": "W002",
        "stages": ["generate", "validate"],
        "state": "active",
        "annotations": 2,
        "gold_accuracy": None,
        "filler_accuracy": None,
        "invalid_share": 0.0,
        "invalid_share_of_judged": None,
        "median_seconds": None,
        "share_of_study": 0.5,
    }
    status, log = maria.ask("GET", "studies/crepe-a/events/?worker=W002&what=submitted")
    assert (status, {(e["worker"], e["what"]) for e in log["events"]}) == (200, {("W002", "submitted")})
    assert maria.ask("GET", f"studies/crepe-a/events/?after={log['after']}&worker=W002")[1]["after"] >= log["after"]
    assert maria.ask("GET", "studies/crepe-a/events/?after=x")[0] == 400


def test_revoking_looks_first_then_acts_then_is_undone(study, maria):
    path, body = "studies/crepe-a/workers/W002/", {"reason": "Guessing.", "work": "exclude"}
    status, seen = maria.ask("POST", f"{path}revoke/", body | {"dry_run": True})
    assert (status, seen["state"], seen["effect"]["seats"]) == (200, "active", 2)
    status, done = maria.ask("POST", f"{path}revoke/", body)
    assert (status, done["state"], done["effect"]) == (200, "revoked", seen["effect"])
    assert set(Annotation.objects.filter(worker__code="ben").values_list("uncounted", flat=True)) == {"excluded"}
    assert maria.ask("POST", f"{path}revoke/", body)[0] == 409
    assert maria.ask("POST", f"{path}restore/", {"reason": "A mistake."}) == (
        200,
        {"worker": "W002", "state": "active"},
    )


def test_recollection_is_seen_first_and_done_by_a_job(study, maria):
    Score.objects.filter(enrolment__worker__code="ben").update(decided=2, invalid=2)
    body = {"rules": {"revoke_invalid_share": 0.5}}
    status, seen = maria.ask("POST", "studies/crepe-a/recollect/", body | {"dry_run": True})
    assert (status, seen["effect"]["workers"], seen["job"]) == (200, 1, None)
    status, asked = maria.ask("POST", "studies/crepe-a/recollect/", body)
    assert (status, asked["job"]) == (202, Job.objects.get().pk)
    jobs.run(asked["job"])
    assert Enrolment.objects.get(worker__code="ben").state == "revoked"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("workers/W002/revoke/", {"reason": "x", "work": "burn"}, 400),
        ("workers/W002/revoke/", {"reason": "x"}, 400),
        ("workers/W002/revoke/", {"reason": " ", "work": "keep"}, 422),
        ("workers/W002/revoke/", {"reason": "a\x00b", "work": "keep"}, 400),
        ("workers/W009/revoke/", {"reason": "x", "work": "keep"}, 404),
        ("workers/W002/restore/", {"reason": "x"}, 409),
        ("recollect/", {"rules": {}}, 400),
        ("recollect/", {"rules": {"pasting": 1}}, 422),
        ("recollect/", {"rules": []}, 400),
    ],
)
def test_what_cannot_be_is_refused(study, maria, path, body, status):
    assert maria.ask("POST", f"studies/crepe-a/{path}", body)[0] == status
    assert not Enrolment.objects.exclude(state="active").exists()


def test_an_annotators_token_sees_only_its_own(study):
    ann = Program(Enrolment.objects.get(number=1).worker)
    for method, path in (
        ("GET", "workers/"),
        ("GET", "workers/W001/"),
        ("GET", "events/"),
        ("POST", "workers/W002/revoke/"),
        ("POST", "recollect/"),
    ):
        status, body = ann.ask(method, f"studies/crepe-a/{path}", {} if method == "POST" else None)
        assert (status, body["code"]) == (403, "for_staff")
    status, mine = ann.ask("GET", "studies/crepe-a/me/")
    assert (status, mine["worker"], mine["annotations"], "gold_accuracy" in mine) == (200, "W001", 2, False)
    make_study("other")
    assert ann.ask("GET", "studies/other/me/")[0] == 404


def test_the_team_alone_and_in_it_researchers_alone_act(study):
    stranger, looker = program(make_researcher(name="stranger")), program(make_onlooker(study))
    assert stranger.ask("GET", "studies/crepe-a/workers/")[0] == 404
    assert looker.ask("GET", "studies/crepe-a/workers/")[0] == 200
    body = {"reason": "x", "work": "keep"}
    assert looker.ask("POST", "studies/crepe-a/workers/W002/revoke/", body)[1]["code"] == "for_researchers"
    assert program(make_admin()).ask("POST", "studies/crepe-a/workers/W002/revoke/", body)[0] == 200


def test_a_new_password_makes_the_token_void(study):
    user = make_researcher(study)
    caller = program(user)
    user.set_password("another long pass phrase")
    user.save()
    assert caller.ask("GET", "studies/crepe-a/workers/")[1]["code"] == "token_revoked"
    old = Program(token=staff.sign(user, at=datetime(2020, 1, 1, tzinfo=UTC)))
    assert old.ask("GET", "studies/crepe-a/workers/")[1]["code"] == "token_expired"
    assert Program(token="broken").ask("GET", "studies/crepe-a/workers/")[0] == 401
