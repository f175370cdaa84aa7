"""The 39 operations as one table: what each answers, what it changes, the same again, and somebody else's."""

import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError
from botocore.session import get_session
from django.db import transaction
from django.utils import timezone

from marketplace import cents, ledger, shapes, work
from marketplace.models import Call, QualificationRequest, QualificationType
from tests.marketplace.market import USUAL, do, inner_client_of, make_requester, make_worker, missing
from tests.marketplace.test_wire import SITE, send, signed
from tests.marketplace.test_work import KEY

pytestmark = pytest.mark.django_db
SHARED = {k: v for k, v in USUAL.items() if k not in ("LifetimeInSeconds", "MaxAssignments", "Question")}
FORM = """<QuestionForm xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd">
<Question><QuestionIdentifier>q1</QuestionIdentifier><QuestionContent><Text>Which?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"""
KEY = KEY.replace("{mapping}", "")
EVENTS = {
    "Destination": "https://example.org/events",
    "Transport": "SQS",
    "Version": "2014-08-15",
    "EventTypes": ["HITExpired"],
}
TEST = {"Test": FORM, "AnswerKey": KEY, "TestDurationInSeconds": 60, "RetryDelayInSeconds": 60, "Keywords": "k"}


@pytest.fixture
def world():
    """One of everything: a HIT with an answer, one that is over, a qualification with a test, asked for and granted."""
    lab = make_requester()
    mturk, worker, other = inner_client_of(lab), make_worker(email="w@example.org"), make_worker("other")
    kind = mturk.create_qualification_type(Name="Q", Description="D", QualificationTypeStatus="Active", **TEST)
    kind = kind["QualificationType"]["QualificationTypeId"]
    needs = [{"QualificationTypeId": kind, "Comparator": "LessThan", "IntegerValues": [9]}]
    mturk.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=worker.worker_id)
    made = mturk.create_hit(**USUAL, QualificationRequirements=needs, RequesterAnnotation="a")["HIT"]
    done = do(worker, made["HITId"])
    over = mturk.create_hit(**{**USUAL, "Title": "Over"})["HIT"]
    mturk.update_expiration_for_hit(HITId=over["HITId"], ExpireAt=0)
    mturk.create_worker_block(WorkerId=other.worker_id, Reason="Spam.")
    bonus = {"WorkerId": worker.worker_id, "AssignmentId": done.assignment_id, "BonusAmount": "0.10", "Reason": "R"}
    mturk.send_bonus(**bonus)
    asked = QualificationRequest.objects.create(
        qualification_type=QualificationType.objects.get(), worker=other, answer="<a/>", at=timezone.now()
    )
    return SimpleNamespace(
        lab=lab,
        mturk=mturk,
        worker=worker.worker_id,
        other=other.worker_id,
        kind=kind,
        hit=made["HITId"],
        type=made["HITTypeId"],
        done=done.assignment_id,
        over=over["HITId"],
        over_type=over["HITTypeId"],
        asked=asked.request_id,
        bonus=bonus,
        later=timezone.now().replace(microsecond=0) + timedelta(hours=5),
    )


ONCE = {"UniqueRequestToken": "t"}
OPEN = {"HIT.HITLayoutId", "QualificationRequirement.LocaleValues"}
TYPE = {"QualificationType.AutoGrantedValue"}
REVIEWS = {"AssignmentReviewPolicy", "HITReviewPolicy", "AssignmentReviewReport", "HITReviewReport", "NextToken"}


@dataclass(frozen=True)
class Case:
    """params: of the call that goes through. again: the code of the same call's refusal, or "". foreign: of the same
    call by another requester. lacks: members of the model that this answer has no value for.
    """

    params: Callable[[SimpleNamespace], dict]
    again: str = ""
    foreign: str = ""
    lacks: frozenset | set = frozenset()


def case(params, **more):
    return Case(params, **more)


TABLE = {
    "AcceptQualificationRequest": case(
        lambda w: {"QualificationRequestId": w.asked, "IntegerValue": 3},
        again="InvalidQualificationRequestState",
        foreign="QualificationRequestDoesNotExist",
    ),
    "ApproveAssignment": case(
        lambda w: {"AssignmentId": w.done, "RequesterFeedback": "Thanks."},
        again="InvalidAssignmentState",
        foreign="AssignmentDoesNotExist",
    ),
    "AssociateQualificationWithWorker": case(
        lambda w: {"QualificationTypeId": w.kind, "WorkerId": w.other}, foreign="QualificationTypeDoesNotExist"
    ),
    "CreateAdditionalAssignmentsForHIT": case(
        lambda w: {"HITId": w.hit, "NumberOfAdditionalAssignments": 2, **ONCE},
        again="DuplicateRequest",
        foreign="HITDoesNotExist",
    ),
    "CreateHIT": case(
        lambda w: {**USUAL, "RequesterAnnotation": "a", **ONCE},
        again="HITAlreadyExists",
        lacks={"HIT.HITLayoutId"},
    ),
    "CreateHITType": case(lambda w: {**SHARED, "Title": "New"}),
    "CreateHITWithHITType": case(
        lambda w: {
            "HITTypeId": w.type,
            "LifetimeInSeconds": 60,
            "Question": USUAL["Question"],
            "RequesterAnnotation": "a",
            **ONCE,
        },
        again="HITAlreadyExists",
        foreign="HITTypeDoesNotExist",
        lacks=OPEN,
    ),
    "CreateQualificationType": case(
        lambda w: {"Name": "New", "Description": "D", "QualificationTypeStatus": "Active", **TEST},
        again="QualificationTypeAlreadyExists",
        lacks=TYPE,
    ),
    "CreateWorkerBlock": case(lambda w: {"WorkerId": w.worker, "Reason": "Spam."}),
    "DeleteHIT": case(lambda w: {"HITId": w.over}, again="InvalidHITState", foreign="HITDoesNotExist"),
    "DeleteQualificationType": case(
        lambda w: {"QualificationTypeId": w.kind},
        again="QualificationTypeDoesNotExist",
        foreign="QualificationTypeDoesNotExist",
    ),
    "DeleteWorkerBlock": case(lambda w: {"WorkerId": w.other}),
    "DisassociateQualificationFromWorker": case(
        lambda w: {"QualificationTypeId": w.kind, "WorkerId": w.worker, "Reason": "R"},
        again="InvalidQualificationState",
        foreign="QualificationTypeDoesNotExist",
    ),
    "GetAccountBalance": case(lambda w: {}),
    "GetAssignment": case(
        lambda w: {"AssignmentId": w.done},
        foreign="AssignmentDoesNotExist",
        lacks=OPEN | {f"Assignment.{name}" for name in ("ApprovalTime", "RejectionTime", "RequesterFeedback")},
    ),
    "GetHIT": case(lambda w: {"HITId": w.hit}, foreign="HITDoesNotExist", lacks=OPEN),
    "GetQualificationScore": case(
        lambda w: {"QualificationTypeId": w.kind, "WorkerId": w.worker},
        foreign="QualificationTypeDoesNotExist",
        lacks={"Qualification.LocaleValue"},
    ),
    "GetQualificationType": case(lambda w: {"QualificationTypeId": w.kind}, lacks=TYPE),
    "ListAssignmentsForHIT": case(
        lambda w: {"HITId": w.hit, "AssignmentStatuses": ["Submitted"]},
        foreign="HITDoesNotExist",
        lacks={f"Assignment.{name}" for name in ("ApprovalTime", "RejectionTime", "RequesterFeedback")},
    ),
    "ListBonusPayments": case(lambda w: {"AssignmentId": w.done}, foreign="AssignmentDoesNotExist"),
    "ListHITs": case(lambda w: {}, lacks=OPEN | {"HIT.RequesterAnnotation"}),
    "ListHITsForQualificationType": case(lambda w: {"QualificationTypeId": w.kind}, lacks=OPEN),
    "ListQualificationRequests": case(
        lambda w: {"QualificationTypeId": w.kind}, foreign="QualificationTypeDoesNotExist"
    ),
    "ListQualificationTypes": case(lambda w: {"MustBeRequestable": True, "MustBeOwnedByCaller": True}, lacks=TYPE),
    "ListReviewPolicyResultsForHIT": case(
        lambda w: {"HITId": w.hit},
        foreign="HITDoesNotExist",
        lacks={f"ListReviewPolicyResultsForHITResponse.{name}" for name in REVIEWS},
    ),
    "ListReviewableHITs": case(
        lambda w: {"HITTypeId": w.over_type},
        foreign="HITTypeDoesNotExist",
        lacks={"HIT.HITLayoutId", "HIT.RequesterAnnotation"},
    ),
    "ListWorkerBlocks": case(lambda w: {}),
    "ListWorkersWithQualificationType": case(
        lambda w: {"QualificationTypeId": w.kind},
        foreign="QualificationTypeDoesNotExist",
        lacks={"Qualification.LocaleValue"},
    ),
    "NotifyWorkers": case(lambda w: {"Subject": "S", "MessageText": "T", "WorkerIds": [w.worker]}),
    "RejectAssignment": case(
        lambda w: {"AssignmentId": w.done, "RequesterFeedback": ""},
        again="InvalidAssignmentState",
        foreign="AssignmentDoesNotExist",
    ),
    "RejectQualificationRequest": case(
        lambda w: {"QualificationRequestId": w.asked},
        again="InvalidQualificationRequestState",
        foreign="QualificationRequestDoesNotExist",
    ),
    "SendBonus": case(lambda w: {**w.bonus, **ONCE}, again="DuplicateRequest", foreign="AssignmentDoesNotExist"),
    "SendTestEventNotification": case(lambda w: {"Notification": EVENTS, "TestEventType": "Ping"}),
    "UpdateExpirationForHIT": case(
        lambda w: {"HITId": w.hit, "ExpireAt": w.later}, again="DuplicateRequest", foreign="HITDoesNotExist"
    ),
    "UpdateHITReviewStatus": case(lambda w: {"HITId": w.over}, again="InvalidHITState", foreign="HITDoesNotExist"),
    "UpdateHITTypeOfHIT": case(lambda w: {"HITId": w.hit, "HITTypeId": w.over_type}, foreign="HITDoesNotExist"),
    "UpdateNotificationSettings": case(
        lambda w: {"HITTypeId": w.type, "Notification": EVENTS}, foreign="HITTypeDoesNotExist"
    ),
    "UpdateQualificationType": case(
        lambda w: {"QualificationTypeId": w.kind, "Description": "Other."},
        foreign="QualificationTypeDoesNotExist",
        lacks=TYPE,
    ),
}
READS = ("Get", "List")
METHODS = {operation: name for name, operation in get_session().create_client(
    "mturk", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
).meta.method_to_api_mapping.items()}  # fmt: skip


def outcome(client, operation, params):
    """ "", or the code of the refusal."""
    try:
        getattr(client, METHODS[operation])(**params)
    except client.exceptions.RequestError as refused:
        return refused.response["TurkErrorCode"].removeprefix("AWS.MechanicalTurk.")
    except ClientError as refused:
        return refused.response["Error"]["Code"]
    return ""


def money():
    return [tuple(row) for row in ledger.Account.objects.order_by("pk").values_list("key", "balance")]


@contextmanager
def undone():
    """What happens inside has not happened afterwards: one world serves every row of a table."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_each_answers_in_full_is_recorded_and_again_or_by_another_has_one_outcome(world):
    other, lacks = inner_client_of(make_requester("another")), []

    def check(http_response, parsed, model, **_):
        if "Error" not in parsed:
            lacks[:] = missing(model.output_shape, json.loads(http_response.content), model.name)

    world.mturk.meta.events.register("after-call.mturk", check)
    for operation, row in TABLE.items():
        with undone():
            params, before = row.params(world), money()
            if row.foreign:
                assert outcome(other, operation, params) == row.foreign, operation
                assert (money(), Call.objects.last().effect) == (before, {}), operation
            assert outcome(world.mturk, operation, params) == "", operation
            assert set(lacks) == row.lacks, operation
            call = Call.objects.last()
            assert (call.operation, call.outcome) == (operation, "ok")
            assert bool(call.effect) is not operation.startswith(READS), operation
            after = money()
            assert outcome(world.mturk, operation, params) == row.again, operation
            if row.again:
                assert (money(), Call.objects.last().effect) == (after, {}), operation
            if not row.foreign:
                assert outcome(other, operation, params) == "", operation
            assert ledger.is_balanced(), operation


def test_the_table_has_all_but_the_one_that_is_always_refused(world):
    assert set(shapes.service().operation_names) - set(TABLE) == {"GetFileUploadURL"}
    one = {"AssignmentId": world.done, "QuestionIdentifier": "q"}
    assert outcome(world.mturk, "GetFileUploadURL", one) == "InvalidParameterValue"
    other = inner_client_of(make_requester("another"))
    assert outcome(other, "GetFileUploadURL", one) == "AssignmentDoesNotExist"


def test_another_requester_sees_what_a_qualification_asks_and_never_its_key(world):
    other = inner_client_of(make_requester("another"))
    shown = other.get_qualification_type(QualificationTypeId=world.kind)["QualificationType"]
    assert (shown["Test"], "AnswerKey" in shown) == (FORM, False)
    assert other.list_hits_for_qualification_type(QualificationTypeId=world.kind)["HITs"] == []


def test_what_lacks_a_member_is_told_which(client):
    lab, said = make_requester(), 0
    for name in shapes.service().operation_names:
        needed = shapes.operation(name).input_shape.required_members
        status, answer = send(client, signed(SITE, lab, name))
        if needed:
            named = [n for n in needed if f"Value null at '{n[0].lower()}{n[1:]}'" in answer["Message"]]
            assert (status, answer["__type"], named) == (400, "ValidationException", needed), name
            said += 1
    assert said == 33


DISPOSED, HELD = "in the state 'Disposed'", "This Assignment is currently in the state 'null'"
CALLED = f"{HELD}.  This operation can be called with a status of"


def dispose(w):
    w.mturk.delete_hit(HITId=w.over)
    return {"HITId": w.over}


def granted(w):
    """Somebody new who may accept the HIT."""
    holder = make_worker("holder")
    w.mturk.associate_qualification_with_worker(QualificationTypeId=w.kind, WorkerId=holder.worker_id)
    return holder


def hold(w):
    held = work.accept(granted(w), w.hit, at=timezone.now())
    return {"AssignmentId": held.assignment_id}


def poor(w):
    """Everything but a cent is gone."""
    available = ledger.account("available", requester=w.lab)
    ledger.move(available, ledger.account("fees"), available.balance - 1, "test", at=timezone.now())
    return {}


def rejected(w):
    w.mturk.reject_assignment(AssignmentId=w.done, RequesterFeedback="No.")
    return {"AssignmentId": w.done, "OverrideRejection": True}


def rejected_and_gone(w):
    w.mturk.update_expiration_for_hit(HITId=w.hit, ExpireAt=0)
    given = rejected(w)
    w.mturk.delete_hit(HITId=w.hit)
    return given


def unassignable(w):
    work.accept(granted(w), w.hit, at=timezone.now())
    return {"HITId": w.hit}


def submitted(w):
    w.mturk.update_expiration_for_hit(HITId=w.hit, ExpireAt=0)
    return {"HITId": w.hit}


def spec(**changes):
    return {"Notification": {**EVENTS, **changes}}


def kind(**changes):
    return lambda w: {"Name": "New", "Description": "D", "QualificationTypeStatus": "Active", **changes}


INVALID = "InvalidParameterValue"
NO_TYPE, NO_MONEY, BAD = "QualificationTypeDoesNotExist", "InsufficientFunds", "ParameterValidationError"


REFUSALS = [
        ("CreateHIT", lambda w: {**USUAL, "Description": "x" * 2001}, BAD, "Description must have from 1 to 2000"),
        ("CreateHIT", lambda w: {**USUAL, "Keywords": "x" * 1001}, BAD, "Keywords"),
        ("CreateHIT", lambda w: {k: v for k, v in USUAL.items() if k != "Question"}, BAD, "Exactly one of Question"),
        ("CreateHIT", lambda w: {**USUAL, "HITReviewPolicy": {"PolicyName": "P"}}, INVALID, "HITRev"),
        ("CreateHIT", lambda w: poor(w) | USUAL, NO_MONEY, "insufficient funds"),
        ("CreateHITWithHITType", lambda w: {"HITTypeId": "3X", "LifetimeInSeconds": 60}, "HITTypeDoesNotExist", "3X"),
        ("CreateHITType", lambda w: {**SHARED, "Title": " "}, BAD, "Title"),
        ("GetHIT", lambda w: {"HITId": "3X"}, "HITDoesNotExist", "HIT 3X does not exist."),
        ("UpdateExpirationForHIT", lambda w: dispose(w) | {"ExpireAt": w.later}, "InvalidHITState", DISPOSED),
        ("UpdateHITTypeOfHIT", lambda w: dispose(w) | {"HITTypeId": w.type}, "InvalidHITState", DISPOSED),
        ("UpdateHITTypeOfHIT", lambda w: {"HITId": w.hit, "HITTypeId": "3X"}, "HITTypeDoesNotExist", "3X"),
        (
            "UpdateHITTypeOfHIT",
            lambda w: {"HITId": w.hit, "HITTypeId": w.mturk.create_hit_type(**{**SHARED, "Reward": "99"})["HITTypeId"]},
            NO_MONEY,
            "",
        ),
        ("UpdateHITReviewStatus", lambda w: {"HITId": w.over, "Revert": True}, "InvalidHITState", "'Reviewable'"),
        ("UpdateHITReviewStatus", dispose, "InvalidHITState", DISPOSED),
        ("DeleteHIT", unassignable, "InvalidHITState", "'Unassignable'.  This operation can be called with a status"),
        ("DeleteHIT", submitted, "InvalidHITState", "'Reviewable'.  This operation can be called with a status"),
        (
            "CreateAdditionalAssignmentsForHIT",
            lambda w: poor(w) | {"HITId": w.hit, "NumberOfAdditionalAssignments": 1},
            NO_MONEY,
            "",
        ),
        ("CreateAdditionalAssignmentsForHIT", lambda w: {"HITId": w.hit, "NumberOfAdditionalAssignments": 0}, BAD, "0"),
        (
            "CreateAdditionalAssignmentsForHIT",
            lambda w: dispose(w) | {"NumberOfAdditionalAssignments": 1},
            "InvalidHITState",
            DISPOSED,
        ),
        ("GetAssignment", hold, "InvalidAssignmentState", f"{CALLED}: Reviewable,Approved,Rejected"),
        ("ApproveAssignment", hold, "InvalidAssignmentState", f"{CALLED}: Submitted"),
        ("ApproveAssignment", lambda w: rejected(w) | poor(w), NO_MONEY, ""),
        ("ApproveAssignment", rejected_and_gone, "InvalidAssignmentState", "while the HIT is not deleted"),
        ("RejectAssignment", lambda w: hold(w) | {"RequesterFeedback": ""}, "InvalidAssignmentState", HELD),
        ("SendBonus", lambda w: w.bonus | hold(w), "AssignmentDoesNotExist", "does not exist"),
        ("SendBonus", lambda w: {**w.bonus, "Reason": " "}, BAD, "Reason"),
        ("SendBonus", lambda w: {**w.bonus, "WorkerId": w.other}, INVALID, "did not submit"),
        ("SendBonus", lambda w: poor(w) | w.bonus, NO_MONEY, ""),
        ("ListBonusPayments", lambda w: {"HITId": w.hit, "AssignmentId": w.done}, BAD, "Exactly one"),
        ("ListHITsForQualificationType", lambda w: {"QualificationTypeId": "3X"}, NO_TYPE, "3X"),
        ("UpdateNotificationSettings", lambda w: {"HITTypeId": w.type}, BAD, "At least one"),
        ("UpdateNotificationSettings", lambda w: {"HITTypeId": w.type, "Active": True}, INVALID, "no notification"),
        ("SendTestEventNotification", lambda w: {**spec(Version="1"), "TestEventType": "Ping"}, BAD, "Version"),
        ("SendTestEventNotification", lambda w: {**spec(EventTypes=[]), "TestEventType": "Ping"}, BAD, "EventTypes"),
        ("SendTestEventNotification", lambda w: {**spec(), "TestEventType": "Fire"}, "ValidationException", "enum"),
        ("CreateQualificationType", kind(Name=" "), BAD, "Name has from 1"),
        ("CreateQualificationType", kind(Description="x" * 2001), BAD, "Description has at most 2,000"),
        ("CreateQualificationType", kind(Keywords="x" * 1001), BAD, "Keywords has at most 1,000"),
        ("CreateQualificationType", kind(Test=USUAL["Question"], TestDurationInSeconds=60), BAD, "is a QuestionForm"),
        ("CreateQualificationType", kind(Test=FORM), BAD, "needs its TestDurationInSeconds"),
        ("CreateQualificationType", kind(Test="x" * 66_000, TestDurationInSeconds=60), BAD, "Test has more than"),
        ("CreateQualificationType", kind(AnswerKey=KEY), BAD, "An AnswerKey needs a Test"),
        ("CreateQualificationType", kind(**{**TEST, "AnswerKey": "<a/>"}), BAD, "must be AnswerKey"),
        ("CreateQualificationType", kind(**{**TEST, "AnswerKey": "<a"}), "XMLParseError", "AnswerKey"),
        ("CreateQualificationType", kind(**TEST, AutoGranted=True), BAD, "cannot be AutoGranted"),
        ("CreateQualificationType", kind(RetryDelayInSeconds=-1), BAD, '"-1" is not valid'),
        (
            "UpdateQualificationType",
            lambda w: {"QualificationTypeId": w.kind, "Description": "x" * 2001},
            BAD,
            "Description",
        ),
        ("GetQualificationType", lambda w: {"QualificationTypeId": "3X"}, NO_TYPE, "3X"),
        (
            "GetQualificationScore",
            lambda w: {"QualificationTypeId": w.kind, "WorkerId": w.other},
            "QualificationDoesNotExist",
            "You requested a Qualification that does not exist",
        ),
        (
            "AssociateQualificationWithWorker",
            lambda w: {"QualificationTypeId": w.kind, "WorkerId": "ANOBODY"},
            "WorkerDoesNotExist",
            "ANOBODY",
        ),
        ("DeleteWorkerBlock", lambda w: {"WorkerId": "ANOBODY"}, "WorkerDoesNotExist", "ANOBODY"),
        (
            "NotifyWorkers",
            lambda w: {"Subject": "x" * 201, "MessageText": "x", "WorkerIds": [w.worker]},
            "ValidationException",
            "at 'subject' failed to satisfy constraint",
        ),
        (
            "NotifyWorkers",
            lambda w: {"Subject": "x", "MessageText": "x" * 4097, "WorkerIds": [w.worker]},
            "ValidationException",
            "between 1 and 4096",
        ),
        (
            "NotifyWorkers",
            lambda w: {"Subject": "x", "MessageText": "x", "WorkerIds": [f"A{n}" for n in range(101)]},
            INVALID,
            "From 1 to 100",
        ),
]  # fmt: skip


def test_each_refusal_says_why_and_changes_nothing(world):
    for operation, params, code, text in REFUSALS:
        with undone():
            given, before = params(world), money()
            with pytest.raises(ClientError) as caught:
                getattr(world.mturk, METHODS[operation])(**given)
            error = caught.value.response
            turk = error.get("TurkErrorCode", "").removeprefix("AWS.MechanicalTurk.")
            said = (turk or error["Error"]["Code"], error["Error"]["Message"])
            assert (said[0], text in said[1]) == (code, True), (operation, text, said)
            assert error["ResponseMetadata"]["HTTPStatusCode"] == 400
            assert (money(), Call.objects.last().effect) == (before, {}), (operation, text)


@pytest.mark.parametrize(
    ("reward", "assignments", "masters", "fee"),
    [
        (50, 9, False, 10),
        (50, 10, False, 20),
        (50, 9, True, 13),  # 12.5 cents: half a cent is rounded up
        (50, 10, True, 23),
        (1, 1, False, 1),  # at least a cent
        (0, 1, False, 0),
        (7, 1, False, 1),
        (8, 1, False, 2),
    ],
)
def test_fees_come_to_whole_cents(reward, assignments, masters, fee):
    assert cents.reward_fee(reward, assignments, masters=masters, preset="mturk") == fee
    assert cents.reward_fee(reward, assignments, masters=masters, preset="none") == 0


def test_what_scripts_in_the_field_do_goes_through(world, settings):
    """MTURK.md 9: each line is what a published client sends, and relies on."""
    settings.MARKETPLACE_FEES, mturk = "mturk", world.mturk
    made = mturk.create_hit(**{**USUAL, "Title": "At once", "AutoApprovalDelayInSeconds": 0})["HIT"]
    assert made["QualificationRequirements"] == []
    assert mturk.get_hit(HITId=made["HITId"])["HIT"] == made
    done = do(make_worker("at once"), made["HITId"])
    # An approval of what approves itself: either answer occurs, and it is paid once.
    assert outcome(mturk, "ApproveAssignment", {"AssignmentId": done.assignment_id}) == "InvalidAssignmentState"
    assert ledger.account("owed", worker=done.worker).balance == 50
    # A bonus before the review, a rejection without words, a bonus after it.
    bonus = {**world.bonus, "BonusAmount": "0.02", "Reason": "ref 7F3K"}
    for operation, params in (
        ("SendBonus", bonus),
        ("RejectAssignment", {"AssignmentId": world.done, "RequesterFeedback": ""}),
        ("SendBonus", bonus),
        ("ApproveAssignment", {"AssignmentId": world.done, "OverrideRejection": True}),
    ):
        assert outcome(mturk, operation, params) == "", operation
    assert ledger.account("fees").balance == 10 + 2  # of "At once"; a bonus of 2 cents costs the least there is
    # A type is found by any part of its name at once, asked for without a value, and may have a time without a test.
    given = {"Name": "Been here BEFORE", "Description": "D", "QualificationTypeStatus": "Active"}
    kind = mturk.create_qualification_type(**given, TestDurationInSeconds=600)["QualificationType"]
    listed = mturk.list_qualification_types(Query="here before", MustBeRequestable=True, MustBeOwnedByCaller=True)
    assert [each["QualificationTypeId"] for each in listed["QualificationTypes"]] == [kind["QualificationTypeId"]]
    one = {"QualificationTypeId": kind["QualificationTypeId"], "WorkerId": world.worker}
    mturk.associate_qualification_with_worker(**one)
    assert mturk.get_qualification_score(**one)["Qualification"]["IntegerValue"] == 1
    # Expire, then delete at once.
    mturk.update_expiration_for_hit(HITId=made["HITId"], ExpireAt=datetime(2015, 1, 1))
    assert outcome(mturk, "DeleteHIT", {"HITId": made["HITId"]}) == ""
    assert ledger.is_balanced()
