"""All 39 operations through unmodified boto3 against a running server, and what botocore makes of the answers."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError
from django.utils import timezone

from marketplace import ledger, shapes, work
from marketplace.models import HIT, Assignment, Call, Grant, HITType, Notice
from marketplace.operations import OPERATIONS
from tests.marketplace.market import EXTERNAL, HTML, USUAL, client_of, do, hit_of, make_requester, make_worker, missing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lab():
    return make_requester()


@pytest.fixture
def mturk(live_server, lab):
    """A client whose every answer is held against the model: nothing unknown, nothing of a wrong type."""
    client = client_of(live_server.url, lab)
    client.meta.events.register("after-call.mturk", _check)
    return client


def _check(http_response, parsed, model, **_):
    """The body as it came: botocore leaves out what it does not know."""
    if "Error" not in parsed:
        missing(model.output_shape, json.loads(http_response.content), model.name)


def refused(call, code, text="", turk=""):
    """The call is refused with this error code (and TurkErrorCode), saying that."""
    with pytest.raises(ClientError) as caught:
        call()
    error = caught.value.response
    assert error["Error"]["Code"] == code, error["Error"]
    assert text in error["Error"]["Message"]
    if turk:
        assert error["TurkErrorCode"] == f"AWS.MechanicalTurk.{turk}"
    return error


def make_hit(mturk, **changes):
    return mturk.create_hit(**{**USUAL, **changes})["HIT"]


def test_every_operation_of_the_model_is_here():
    assert set(OPERATIONS) == set(shapes.service().operation_names)
    assert len(OPERATIONS) == 39


# --- HITs -----------------------------------------------------------------------------------------


def test_a_hit_is_made_and_shown_as_it_was_made(mturk, lab):
    made = make_hit(mturk, RequesterAnnotation="batch 7", MaxAssignments=3)
    shown = mturk.get_hit(HITId=made["HITId"])["HIT"]
    assert shown == made
    assert {name: shown[name] for name in ("HITStatus", "HITReviewStatus", "Reward", "RequesterAnnotation")} == {
        "HITStatus": "Assignable",
        "HITReviewStatus": "NotReviewed",
        "Reward": "0.50",
        "RequesterAnnotation": "batch 7",
    }
    assert shown["QualificationRequirements"] == []
    assert shown["Question"] == EXTERNAL
    assert [shown[f"NumberOfAssignments{n}"] for n in ("Pending", "Available", "Completed")] == [0, 3, 0]
    assert mturk.get_account_balance()["AvailableBalance"] == "98.50"
    assert mturk.get_account_balance()["OnHoldBalance"] == "1.50"


def test_the_same_properties_are_the_same_type_and_group(mturk):
    shared = {k: v for k, v in USUAL.items() if k not in ("LifetimeInSeconds", "MaxAssignments", "Question")}
    first, again = (mturk.create_hit_type(**shared)["HITTypeId"] for _ in range(2))
    other = mturk.create_hit_type(**{**shared, "Reward": "0.51"})["HITTypeId"]
    assert first == again != other
    assert make_hit(mturk)["HITTypeId"] == first
    made = mturk.create_hit_with_hit_type(HITTypeId=first, LifetimeInSeconds=60, Question=HTML)["HIT"]
    assert (made["HITGroupId"], made["MaxAssignments"]) == (make_hit(mturk)["HITGroupId"], 1)


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"Reward": "0.505"}, "ValidationException", "Value '0.505' at 'reward' failed to satisfy constraint"),
        ({"Title": "x" * 129}, "ParameterValidationError", "Title must have from 1 to 128 characters"),
        ({"LifetimeInSeconds": 29}, "ParameterValidationError", "LifetimeInSeconds: 30 to 31536000"),
        ({"AssignmentDurationInSeconds": 29}, "ParameterValidationError", "AssignmentDurationInSeconds"),
        ({"AutoApprovalDelayInSeconds": 2592001}, "ParameterValidationError", "AutoApprovalDelayInSeconds"),
        ({"MaxAssignments": 0}, "ParameterValidationError", "MaxAssignments"),
        ({"RequesterAnnotation": "x" * 256}, "ParameterValidationError", "RequesterAnnotation"),
        ({"Question": "<a"}, "RequestError", "error parsing the XML"),
        ({"Question": "<a/>"}, "ParameterValidationError", "must be ExternalQuestion"),
        ({"Question": EXTERNAL.replace("https:", "http:")}, "ParameterValidationError", "it must be https"),
        ({"Question": EXTERNAL.replace("600", "tall")}, "ParameterValidationError", "FrameHeight"),
        ({"Question": EXTERNAL.replace("item", "x" * 66_000)}, "ParameterValidationError", "at most 65,535"),
        ({"HITLayoutId": "3LAYOUT"}, "RequestError", "HITLayout 3LAYOUT does not exist"),
        ({"AssignmentReviewPolicy": {"PolicyName": "P"}}, "RequestError", "not carried out"),
        ({"Reward": "1000.00"}, "RequestError", "insufficient funds"),
    ],
)
def test_a_hit_that_cannot_be_is_refused_and_costs_nothing(mturk, changes, code, text):
    refused(lambda: make_hit(mturk, **changes), code, text)
    assert mturk.get_account_balance()["AvailableBalance"] == "100.00"
    assert not HIT.objects.exists()


def test_a_request_token_works_once_a_day_and_names_what_it_made(mturk, lab):
    made = make_hit(mturk, UniqueRequestToken="one")
    refused(lambda: make_hit(mturk, UniqueRequestToken="one"), "RequestError", made["HITId"], "HITAlreadyExists")
    make_hit(mturk, UniqueRequestToken="two")
    lab.tokens.update(at=timezone.now() - timedelta(hours=24))
    assert make_hit(mturk, UniqueRequestToken="one")["HITId"] != made["HITId"]
    assert HIT.objects.count() == 3


def test_a_refused_call_does_not_use_its_token_up(mturk):
    refused(
        lambda: make_hit(mturk, UniqueRequestToken="one", Reward="1000.00"), "RequestError", turk="InsufficientFunds"
    )
    make_hit(mturk, UniqueRequestToken="one")


def test_nobody_sees_another_requesters_hits(mturk, live_server):
    other = client_of(live_server.url, make_requester("other"))
    hit = make_hit(mturk)
    for call in (
        lambda: other.get_hit(HITId=hit["HITId"]),
        lambda: other.delete_hit(HITId=hit["HITId"]),
        lambda: other.list_assignments_for_hit(HITId=hit["HITId"]),
        lambda: other.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0),
    ):
        refused(call, "RequestError", "does not exist", "HITDoesNotExist")
    refused(
        lambda: other.create_hit_with_hit_type(HITTypeId=hit["HITTypeId"], LifetimeInSeconds=60, Question=HTML),
        "RequestError",
        turk="HITTypeDoesNotExist",
    )
    assert other.list_hits()["NumResults"] == 0


def test_a_hit_expires_is_extended_and_taken_down(mturk):
    hit = make_hit(mturk)["HITId"]
    refused(lambda: mturk.delete_hit(HITId=hit), "RequestError", "in the state 'Assignable'", "InvalidHITState")
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=datetime(2015, 1, 1, tzinfo=UTC))
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Reviewable"
    later = timezone.now().replace(microsecond=0) + timedelta(hours=2)
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=later)
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Assignable"
    refused(
        lambda: mturk.update_expiration_for_hit(HITId=hit, ExpireAt=later), "RequestError", "already been processed"
    )
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    mturk.delete_hit(HITId=hit)
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Disposed"
    refused(lambda: mturk.delete_hit(HITId=hit), "RequestError", "in the state 'Disposed'", "InvalidHITState")
    assert mturk.get_account_balance() | {"ResponseMetadata": 0} == {
        "AvailableBalance": "100.00",
        "OnHoldBalance": "0.00",
        "ResponseMetadata": 0,
    }
    assert mturk.list_hits()["NumResults"] == 0


def test_more_assignments_but_never_ten_of_fewer(mturk):
    few, many = make_hit(mturk, MaxAssignments=9)["HITId"], make_hit(mturk, MaxAssignments=10)["HITId"]
    more = mturk.create_additional_assignments_for_hit
    refused(
        lambda: more(HITId=few, NumberOfAdditionalAssignments=1),
        "RequestError",
        turk="InvalidMaximumAssignmentsIncrease",
    )
    more(HITId=many, NumberOfAdditionalAssignments=5, UniqueRequestToken="t")
    refused(
        lambda: more(HITId=many, NumberOfAdditionalAssignments=5, UniqueRequestToken="t"), "RequestError", "processed"
    )
    assert mturk.get_hit(HITId=many)["HIT"]["MaxAssignments"] == 15
    assert mturk.get_account_balance()["OnHoldBalance"] == "12.00"
    HIT.objects.update(created_at=timezone.now() - timedelta(days=366))
    refused(lambda: more(HITId=many, NumberOfAdditionalAssignments=1), "RequestError", turk="HITTooOldForExtension")


def test_reviewing_is_a_bookmark(mturk):
    hit = make_hit(mturk)["HITId"]
    refused(lambda: mturk.update_hit_review_status(HITId=hit), "RequestError", turk="InvalidHITState")
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    assert mturk.list_reviewable_hits()["NumResults"] == 1
    mturk.update_hit_review_status(HITId=hit)
    assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Reviewing"
    assert mturk.list_reviewable_hits()["NumResults"] == 0
    assert mturk.list_reviewable_hits(Status="Reviewing")["HITs"][0]["HITId"] == hit
    mturk.update_hit_review_status(HITId=hit, Revert=True)
    assert mturk.list_reviewable_hits(HITTypeId=mturk.get_hit(HITId=hit)["HIT"]["HITTypeId"])["NumResults"] == 1


def test_another_type_changes_what_is_held(mturk):
    hit = make_hit(mturk, MaxAssignments=4)["HITId"]
    shared = {k: v for k, v in USUAL.items() if k not in ("LifetimeInSeconds", "MaxAssignments", "Question")}
    dear = mturk.create_hit_type(**{**shared, "Reward": "2.00"})["HITTypeId"]
    mturk.update_hit_type_of_hit(HITId=hit, HITTypeId=dear)
    assert mturk.get_account_balance()["OnHoldBalance"] == "8.00"
    assert mturk.get_hit(HITId=hit)["HIT"]["Reward"] == "2.00"


def test_lists_by_qualification_and_review_results(mturk):
    made = mturk.create_qualification_type(Name="Q", Description="D", QualificationTypeStatus="Active")
    wanted = made["QualificationType"]["QualificationTypeId"]
    needs = [{"QualificationTypeId": wanted, "Comparator": "Exists"}]
    hit = make_hit(mturk, QualificationRequirements=needs)
    make_hit(mturk)
    assert [h["HITId"] for h in mturk.list_hits_for_qualification_type(QualificationTypeId=wanted)["HITs"]] == [
        hit["HITId"]
    ]
    assert mturk.list_review_policy_results_for_hit(HITId=hit["HITId"])["HITId"] == hit["HITId"]
    assert hit["QualificationRequirements"] == [{**needs[0], "RequiredToPreview": False, "ActionsGuarded": "Accept"}]


# --- Assignments ----------------------------------------------------------------------------------


def test_work_is_submitted_listed_approved_and_paid(mturk):
    hit, worker = make_hit(mturk)["HITId"], make_worker()
    done = do(worker, hit, "<yes> & no")
    listed = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    assert [(a["AssignmentId"], a["WorkerId"], a["AssignmentStatus"]) for a in listed] == [
        (done.assignment_id, worker.worker_id, "Submitted")
    ]
    assert "<FreeText>&lt;yes&gt; &amp; no</FreeText>" in listed[0]["Answer"]
    assert listed[0]["AutoApprovalTime"] - listed[0]["SubmitTime"] == timedelta(hours=1)
    mturk.approve_assignment(AssignmentId=done.assignment_id, RequesterFeedback="Thanks.")
    shown = mturk.get_assignment(AssignmentId=done.assignment_id)
    assert (shown["Assignment"]["AssignmentStatus"], shown["Assignment"]["RequesterFeedback"]) == (
        "Approved",
        "Thanks.",
    )
    assert shown["HIT"]["NumberOfAssignmentsCompleted"] == 1
    said = "This operation can be called with a status of: Submitted"
    refused(lambda: mturk.approve_assignment(AssignmentId=done.assignment_id), "RequestError", said)
    reject = {"AssignmentId": done.assignment_id, "RequesterFeedback": "No."}
    refused(lambda: mturk.reject_assignment(**reject), "RequestError", said, "InvalidAssignmentState")
    assert ledger.account("owed", worker=worker).balance == 50
    assert ledger.is_balanced()


def test_a_rejection_gives_the_money_back_and_can_be_overridden(mturk):
    hit, worker = make_hit(mturk)["HITId"], make_worker()
    done = do(worker, hit)
    mturk.reject_assignment(AssignmentId=done.assignment_id, RequesterFeedback="")
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.50"
    refused(lambda: mturk.approve_assignment(AssignmentId=done.assignment_id), "RequestError", "'Rejected'")
    mturk.approve_assignment(AssignmentId=done.assignment_id, OverrideRejection=True)
    assert ledger.account("owed", worker=worker).balance == 50
    worker.refresh_from_db()
    assert (worker.approved, worker.rejected) == (1, 0)
    other = do(make_worker("wim"), hit)
    mturk.reject_assignment(AssignmentId=other.assignment_id, RequesterFeedback="No.")
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(days=31))
    refused(
        lambda: mturk.approve_assignment(AssignmentId=other.assignment_id, OverrideRejection=True),
        "RequestError",
        "for 30 days",
    )


def test_work_in_somebodys_hands_is_invisible(mturk):
    hit = make_hit(mturk)["HITId"]
    held = work.accept(make_worker(), hit, at=timezone.now())
    assert mturk.list_assignments_for_hit(HITId=hit)["NumResults"] == 0
    refused(
        lambda: mturk.get_assignment(AssignmentId=held.assignment_id),
        "RequestError",
        "status of: Reviewable,Approved,Rejected",
    )
    refused(lambda: mturk.approve_assignment(AssignmentId=held.assignment_id), "RequestError", "'null'")
    assert mturk.get_hit(HITId=hit)["HIT"]["NumberOfAssignmentsPending"] == 1
    refused(
        lambda: mturk.get_assignment(AssignmentId="3NONE"), "RequestError", "does not exist", "AssignmentDoesNotExist"
    )


def test_statuses_filter_assignments(mturk):
    hit = make_hit(mturk, MaxAssignments=3)["HITId"]
    done = [do(make_worker(f"w{n}"), hit) for n in range(3)]
    mturk.approve_assignment(AssignmentId=done[0].assignment_id)
    mturk.reject_assignment(AssignmentId=done[1].assignment_id, RequesterFeedback="No.")
    found = {
        status: [
            a["AssignmentId"]
            for a in mturk.list_assignments_for_hit(HITId=hit, AssignmentStatuses=[status])["Assignments"]
        ]
        for status in ("Approved", "Rejected", "Submitted")
    }
    assert found == dict(zip(("Approved", "Rejected", "Submitted"), ([d.assignment_id] for d in done), strict=True))
    refused(
        lambda: mturk.list_assignments_for_hit(HITId=hit, AssignmentStatuses=["Lost"]),
        "ValidationException",
        "enum value set",
    )


def test_files_are_not_taken(mturk):
    done = do(make_worker(), make_hit(mturk)["HITId"])
    refused(
        lambda: mturk.get_file_upload_url(AssignmentId=done.assignment_id, QuestionIdentifier="q"),
        "RequestError",
        "no files",
    )


# --- Money ----------------------------------------------------------------------------------------


def test_a_bonus_is_paid_once_per_token(mturk):
    hit, worker = make_hit(mturk)["HITId"], make_worker()
    done = do(worker, hit)
    given = {"WorkerId": worker.worker_id, "AssignmentId": done.assignment_id, "BonusAmount": "1.25", "Reason": "Good."}
    mturk.send_bonus(**given, UniqueRequestToken="b")
    refused(lambda: mturk.send_bonus(**given, UniqueRequestToken="b"), "RequestError", "already been processed")
    paid = mturk.list_bonus_payments(AssignmentId=done.assignment_id)["BonusPayments"]
    assert [(p["BonusAmount"], p["Reason"], p["WorkerId"]) for p in paid] == [("1.25", "Good.", worker.worker_id)]
    assert mturk.list_bonus_payments(HITId=hit)["NumResults"] == 1
    refused(lambda: mturk.send_bonus(**{**given, "BonusAmount": "1.255"}), "ValidationException", "'bonusAmount'")
    refused(lambda: mturk.send_bonus(**{**given, "BonusAmount": "0"}), "ParameterValidationError", "BonusAmount")
    refused(lambda: mturk.send_bonus(**{**given, "BonusAmount": "1000"}), "RequestError", turk="InsufficientFunds")
    refused(
        lambda: mturk.send_bonus(**{**given, "WorkerId": make_worker("x").worker_id}), "RequestError", "did not submit"
    )
    refused(lambda: mturk.list_bonus_payments(), "ParameterValidationError", "Exactly one")
    assert ledger.account("owed", worker=worker).balance == 125


@pytest.mark.parametrize(("assignments", "hold"), [(1, "0.60"), (10, "7.00")])
def test_fees_as_amazon_took_them(live_server, settings, assignments, hold):
    settings.MARKETPLACE_FEES = "mturk"
    mturk = client_of(live_server.url, make_requester())
    hit = make_hit(mturk, MaxAssignments=assignments)["HITId"]
    assert mturk.get_account_balance()["OnHoldBalance"] == hold
    worker = make_worker()
    done = do(worker, hit)
    mturk.approve_assignment(AssignmentId=done.assignment_id)
    assert ledger.account("owed", worker=worker).balance == 50
    assert ledger.is_balanced()


# --- Qualifications -------------------------------------------------------------------------------


def make_type(mturk, **changes):
    given = {"Name": "Reads well", "Description": "A test.", "QualificationTypeStatus": "Active", "Keywords": "reading"}
    return mturk.create_qualification_type(**{**given, **changes})["QualificationType"]


def test_a_qualification_type_is_made_found_changed_and_deleted(mturk, live_server):
    made = make_type(mturk, TestDurationInSeconds=60)
    wanted = made["QualificationTypeId"]
    assert mturk.get_qualification_type(QualificationTypeId=wanted)["QualificationType"] == made
    refused(lambda: make_type(mturk), "RequestError", "You have already created a QualificationType with this name.")
    found = mturk.list_qualification_types(Query="READS", MustBeRequestable=True, MustBeOwnedByCaller=True)
    assert [t["QualificationTypeId"] for t in found["QualificationTypes"]] == [wanted]
    changed = mturk.update_qualification_type(QualificationTypeId=wanted, QualificationTypeStatus="Inactive")
    assert changed["QualificationType"]["IsRequestable"] is False
    assert mturk.list_qualification_types(MustBeRequestable=True)["NumResults"] == 0
    other = client_of(live_server.url, make_requester("other"))
    refused(lambda: other.delete_qualification_type(QualificationTypeId=wanted), "RequestError", "does not exist")
    mturk.delete_qualification_type(QualificationTypeId=wanted)
    refused(lambda: mturk.get_qualification_type(QualificationTypeId=wanted), "RequestError", "does not exist")
    make_type(mturk)


def test_a_qualification_is_granted_scored_revoked(mturk):
    wanted, worker = make_type(mturk)["QualificationTypeId"], make_worker()
    one = {"QualificationTypeId": wanted, "WorkerId": worker.worker_id}
    refused(lambda: mturk.get_qualification_score(**one), "RequestError", "does not exist")
    mturk.associate_qualification_with_worker(**one, SendNotification=False)
    mturk.associate_qualification_with_worker(**one, IntegerValue=7)
    assert mturk.get_qualification_score(**one)["Qualification"]["IntegerValue"] == 7
    assert mturk.list_workers_with_qualification_type(QualificationTypeId=wanted)["NumResults"] == 1
    mturk.disassociate_qualification_from_worker(**one, Reason="Enough.")
    refused(lambda: mturk.get_qualification_score(**one), "RequestError", "status of: Granted")
    revoked = mturk.list_workers_with_qualification_type(QualificationTypeId=wanted, Status="Revoked")
    assert revoked["Qualifications"][0]["Status"] == "Revoked"


def test_requests_for_a_qualification_are_accepted_and_rejected(mturk):
    kind = make_type(mturk)["QualificationTypeId"]
    from marketplace.models import QualificationRequest, QualificationType

    found = QualificationType.objects.get(qualification_type_id=kind)
    asked = [
        QualificationRequest.objects.create(qualification_type=found, worker=make_worker(f"w{n}"), at=timezone.now())
        for n in range(2)
    ]
    listed = mturk.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
    assert [r["QualificationRequestId"] for r in listed] == [r.request_id for r in asked]
    mturk.accept_qualification_request(QualificationRequestId=asked[0].request_id, IntegerValue=3)
    mturk.reject_qualification_request(QualificationRequestId=asked[1].request_id, Reason="No.")
    assert Grant.objects.get().value == 3
    again = {"QualificationRequestId": asked[1].request_id}
    refused(lambda: mturk.accept_qualification_request(**again), "RequestError", "rejected before")
    assert mturk.list_qualification_requests()["NumResults"] == 0


# --- Workers, events ------------------------------------------------------------------------------


def test_a_blocked_worker_accepts_nothing(mturk):
    hit, worker = make_hit(mturk)["HITId"], make_worker()
    mturk.create_worker_block(WorkerId=worker.worker_id, Reason="Spam.")
    assert mturk.list_worker_blocks()["WorkerBlocks"] == [{"WorkerId": worker.worker_id, "Reason": "Spam."}]
    with pytest.raises(work.NotQualified):
        work.accept(worker, hit, at=timezone.now())
    mturk.delete_worker_block(WorkerId=worker.worker_id, Reason="")
    mturk.delete_worker_block(WorkerId=worker.worker_id)
    do(worker, hit)
    refused(
        lambda: mturk.create_worker_block(WorkerId="ANOBODY", Reason="x"), "RequestError", turk="WorkerDoesNotExist"
    )


def test_letters_go_to_workers_whose_work_was_reviewed(mturk, mailoutbox):
    hit = make_hit(mturk)["HITId"]
    known, new = make_worker(email="wanda@example.org"), make_worker("wim")
    mturk.approve_assignment(AssignmentId=do(known, hit).assignment_id)
    failed = mturk.notify_workers(Subject="New work", MessageText="Come.", WorkerIds=[known.worker_id, new.worker_id])
    assert [f["WorkerId"] for f in failed["NotifyWorkersFailureStatuses"]] == [new.worker_id]
    assert [(m.subject, m.to) for m in mailoutbox] == [("New work", ["wanda@example.org"])]
    assert mailoutbox[0].body == "Come.\n\nSent for the requester lab."


def test_events_wait_for_whoever_asked_for_them(mturk):
    made = make_hit(mturk)
    spec = {
        "Destination": "https://example.org/events",
        "Transport": "SNS",
        "Version": "2014-08-15",
        "EventTypes": ["AssignmentSubmitted", "HITExpired"],
    }
    mturk.update_notification_settings(HITTypeId=made["HITTypeId"], Notification=spec, Active=True)
    do(make_worker(), made["HITId"])
    mturk.update_notification_settings(HITTypeId=made["HITTypeId"], Active=False)
    do(make_worker("wim"), made["HITId"])
    mturk.send_test_event_notification(Notification=spec, TestEventType="Ping")
    assert [n.event["EventType"] for n in Notice.objects.all()] == ["AssignmentSubmitted", "Ping"]


@pytest.mark.parametrize(
    ("transport", "destination", "is_taken"),
    [
        ("SQS", "https://example.org/events", True),
        ("SNS", "ftp://example.org/events", False),
        ("SNS", "https://[2001:db8::1/events", False),
        ("SNS", "events@example.org", False),
        ("Email", "events@example.org", True),
        ("Email", "https://example.org/events", False),
        ("Email", "mailto:events@example.org", False),
        ("Email", "events@example.org, more@example.org", False),
        ("Email", "events@example.org\nBcc: more@example.org", False),
        ("Email", "nobody", False),
    ],
)
def test_events_go_to_addresses_that_fit_their_transport(mturk, transport, destination, is_taken):
    spec = {"Destination": destination, "Transport": transport, "Version": "2014-08-15", "EventTypes": ["HITExpired"]}
    made = make_hit(mturk)
    for call in (
        lambda: mturk.send_test_event_notification(Notification=spec, TestEventType="Ping"),
        lambda: mturk.update_notification_settings(HITTypeId=made["HITTypeId"], Notification=spec),
    ):
        if is_taken:
            call()
        else:
            refused(call, "RequestError", turk="InvalidTransportEndpoint")
    assert [n.destination for n in Notice.objects.all()] == [destination] * is_taken
    assert (HITType.objects.get().notification is not None) == is_taken


def test_every_call_is_recorded_with_what_it_did(mturk):
    hit = make_hit(mturk)["HITId"]
    refused(lambda: make_hit(mturk, Reward="1000.00"), "RequestError")
    mturk.get_hit(HITId=hit)
    calls = [(c.operation, c.outcome, "hit" in c.effect) for c in Call.objects.all()]
    assert calls == [
        ("CreateHIT", "ok", True),
        ("CreateHIT", "AWS.MechanicalTurk.InsufficientFunds", False),
        ("GetHIT", "ok", False),
    ]
    assert hit_of(hit).hit_id == hit
