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
from marketplace.models import HIT, Bonus, Call
from tests.marketplace.market import USUAL, client_of, do, make_requester, make_worker

pytestmark = pytest.mark.django_db(transaction=True)


def always(kind, operation="CreateHIT", **more):
    return json.dumps({"operations": {operation: {kind: 1}}, **more})


@pytest.mark.parametrize(
    ("kind", "hits"),
    [
        ("throttle", 0),
        ("error500_before", 0),
        ("error500_after", 1),
        ("lost_before", 0),
        ("lost_after", 1),
        ("cut", 1),
        ("hang_before", 0),
        ("hang_after", 1),
        ("latency", 1),
    ],
)
def test_each_fault_happens_before_or_after_the_effect(live_server, settings, kind, hits):
    settings.MARKETPLACE_FAULTS = always(kind, hang_seconds=0.1, latency_seconds=0.1)
    mturk = client_of(live_server.url, make_requester())
    try:
        answered = "HIT" in mturk.create_hit(**USUAL)
    except (ClientError, BotoCoreError):
        answered = False
    assert answered == (kind == "latency")
    assert HIT.objects.count() == hits
    recorded = Call.objects.filter(operation="CreateHIT", outcome="ok")
    assert [(call.fault, "hit" in call.effect) for call in recorded] == [(kind, True)] * hits


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
    mturk = client_of(live_server.url, make_requester())
    hit = mturk.create_hit(**USUAL)["HIT"]["HITId"]
    with pytest.raises(ClientError, match="does not exist"):
        mturk.get_hit(HITId=hit)
    assert mturk.list_hits()["HITs"] == []
    HIT.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    assert mturk.get_hit(HITId=hit)["HIT"]["HITId"] == hit
    do(make_worker(), hit)
    assert mturk.list_assignments_for_hit(HITId=hit)["Assignments"] == []


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
