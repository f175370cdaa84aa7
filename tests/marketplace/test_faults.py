"""Faults on demand: each does what it says, the record tells what really happened, and production refuses them."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from django.utils import timezone

from marketplace import faults
from marketplace.models import HIT, Assignment, Bonus, Call, HITType
from tests.marketplace import market
from tests.marketplace.market import USUAL, client_of, do, make_requester, make_worker

pytestmark = pytest.mark.django_db(transaction=True)


def always(kind, operation="CreateHIT", **more):
    return json.dumps({"operations": {operation: {kind: 1}}, **more})


@pytest.mark.parametrize(
    ("kind", "seen", "outcome", "hits"),
    [
        ("throttle", "ThrottlingException", "ThrottlingException", 0),
        ("error500_before", "ServiceFault", "ServiceFault", 0),
        ("error500_after", "500", "ok", 1),
        ("lost_before", "ConnectionClosedError", "ServiceFault", 0),
        ("lost_after", "ConnectionClosedError", "ok", 1),
        ("cut", "an answer without a HIT", "ok", 1),
        ("hang_before", "ReadTimeoutError", "ServiceFault", 0),
        ("hang_after", "ReadTimeoutError", "ok", 1),
        ("latency", "a HIT", "ok", 1),
    ],
)
def test_each_fault_happens_before_or_after_the_effect(live_server, settings, kind, seen, outcome, hits):
    """What boto3 makes of it, what was done, and that the record tells the two apart."""
    settings.MARKETPLACE_FAULTS = always(kind, hang_seconds=0.6, latency_seconds=0.1)
    patience = 0.3 if "hang" in kind else 30
    mturk = client_of(live_server.url, make_requester(), patience=patience)
    try:
        found = "a HIT" if "HIT" in mturk.create_hit(**USUAL) else "an answer without a HIT"
    except ClientError as error:
        found = error.response["Error"]["Code"]
    except BotoCoreError as error:
        found = type(error).__name__
    market.close_all()  # and wait for the server, which may still be at it
    assert found == seen
    assert HIT.objects.count() == hits
    call = Call.objects.get(operation="CreateHIT")
    assert (call.outcome, call.fault, call.parameters["Title"]) == (outcome, kind, USUAL["Title"])
    assert call.effect == ({"hit": HIT.objects.get().hit_id, "hit_type": HITType.objects.get().type_id} if hits else {})


def test_a_lost_answer_and_boto3s_own_retry_make_two_hits_without_a_token_and_one_with(
    live_server, settings, monkeypatch
):
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))  # it need not be patient
    settings.MARKETPLACE_FAULTS = json.dumps({"seed": 3, "operations": {"CreateHIT": {"lost_after": 0.5}}})
    plan = faults.read(settings.MARKETPLACE_FAULTS)
    plan.calls.clear()
    mturk = client_of(live_server.url, make_requester(deposit=1000_00), attempts=8)
    for _ in range(6):
        mturk.create_hit(**USUAL)
    assert HIT.objects.count() > 6
    HIT.objects.all().delete()
    for n in range(6):
        with suppress(ClientError):  # HITAlreadyExists, though nobody has heard of it
            mturk.create_hit(**USUAL, UniqueRequestToken=f"t{n}")
    assert HIT.objects.count() == 6
    assert Call.objects.filter(outcome="AWS.MechanicalTurk.HITAlreadyExists").exists()


def test_the_same_seed_gives_the_same_faults_and_shares_are_as_asked():
    text = json.dumps({"seed": 5, "operations": {"*": {"throttle": 0.3}, "SendBonus": {"cut": 0.2}}})
    drawn = []
    for _ in range(2):
        plan = faults.read.__wrapped__(text)
        drawn.append([plan.draw("SendBonus") for _ in range(1000)])
    assert drawn[0] == drawn[1]
    assert 250 < drawn[0].count("throttle") < 350
    assert 90 < drawn[0].count("cut") < 190


def test_reads_lag_behind_writes(live_server, settings):
    settings.MARKETPLACE_FAULTS = json.dumps({"lag_seconds": 60})
    mturk, earlier = client_of(live_server.url, make_requester()), timezone.now() - timedelta(minutes=2)
    kind = mturk.create_qualification_type(Name="Q", Description="D", QualificationTypeStatus="Active")
    assert mturk.list_qualification_types(Query="Q", MustBeRequestable=True)["QualificationTypes"] == []
    assert mturk.get_qualification_type(QualificationTypeId=kind["QualificationType"]["QualificationTypeId"])
    hit = mturk.create_hit(**USUAL)["HIT"]["HITId"]
    with pytest.raises(ClientError, match="does not exist"):
        mturk.get_hit(HITId=hit)
    assert mturk.list_hits()["HITs"] == []
    HIT.objects.update(created_at=earlier)
    assert mturk.get_hit(HITId=hit)["HIT"]["HITId"] == hit
    done = do(make_worker(), hit)
    one = {"AssignmentId": done.assignment_id}
    assert mturk.list_assignments_for_hit(HITId=hit)["Assignments"] == []
    for call in (mturk.get_assignment, mturk.approve_assignment):
        with pytest.raises(ClientError, match="in the state 'null'"):
            call(**one)
    with pytest.raises(ClientError, match="does not exist"):
        mturk.send_bonus(**one, WorkerId=done.worker.worker_id, BonusAmount="1", Reason="x")
    Assignment.objects.update(submitted_at=earlier)
    mturk.approve_assignment(**one)
    assert mturk.list_assignments_for_hit(HITId=hit)["NumResults"] == 1


def test_the_clock_can_be_moved_so_that_a_token_is_forgotten(live_server, settings):
    mturk = client_of(live_server.url, make_requester())
    hit = mturk.create_hit(**USUAL)["HIT"]["HITId"]
    done = do(make_worker(), hit)
    given = {
        "WorkerId": done.worker.worker_id,
        "AssignmentId": done.assignment_id,
        "BonusAmount": "0.10",
    }
    mturk.send_bonus(**given, Reason="x", UniqueRequestToken="b")
    settings.MARKETPLACE_FAULTS = json.dumps({"clock_shift": 86_401})
    mturk.send_bonus(**given, Reason="x", UniqueRequestToken="b")
    assert Bonus.objects.count() == 2
    assert mturk.get_assignment(AssignmentId=done.assignment_id)["Assignment"]["AssignmentStatus"] == "Approved"


@pytest.mark.parametrize("text", ["{", '{"operations": {"*": {"fire": 1}}}', '{"colour": 1}', "[]"])
def test_faults_that_cannot_be_read_are_refused(text):
    with pytest.raises(faults.BadFaults):
        faults.read(text)


def test_a_production_configuration_refuses_to_start_with_faults():
    environment = {**os.environ, "DEBUG": "false", "SECRET_KEY": "x" * 50, "MARKETPLACE_FAULTS": always("cut")}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings.base"
    run = subprocess.run([sys.executable, "manage.py", "check"], env=environment, capture_output=True, check=False)
    assert run.returncode != 0
    assert b"refused unless DEBUG=true" in run.stderr
