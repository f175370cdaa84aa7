"""The boto3 adapter: exactly what it sends, what it makes of answers, and which of our errors every fault becomes."""

import socket
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError, SSLError
from botocore.stub import Stubber

from hits.boto import BotoClient
from hits.client import (
    AlreadyDone,
    BadAccount,
    CallMade,
    InsufficientFunds,
    MTurkClient,
    MTurkError,
    MTurkRefused,
    MTurkUnavailable,
    NewHit,
    NotThere,
    RemoteAssignment,
    RemoteBonus,
    RemoteHit,
    Status,
    Throttled,
    WrongState,
)
from tests.test_imports import ROOT, imports

HIT = "3" + "H" * 29
WORK = "3" + "A" * 29
KIND = "3" + "Q" * 29
WORKER = "AWANDA12345678"
SECRET = "the-secret-key"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
EXTERNAL = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
ANSWERS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"

NEW = NewHit(
    token="t1",
    annotation="unit 7",
    title="Read a sentence",
    description="Say how likely it is.",
    keywords="reading",
    reward=Decimal("0.5"),
    seats=3,
    duration_seconds=600,
    lifetime_seconds=3600,
    auto_approval_seconds=86400,
    url="https://example.org/task?unit=7&lang=en",
    frame_height=640,
    requirements=[{"QualificationTypeId": KIND, "Comparator": "DoesNotExist"}],
)
HIT_ROW = {
    "HITId": HIT,
    "HITTypeId": "3TYPE",
    "RequesterAnnotation": "unit 7",
    "HITStatus": "Assignable",
    "MaxAssignments": 3,
    "Expiration": NOON.astimezone(timezone(2 * HOUR)),
    "Reward": "0.50",
}
REMOTE_HIT = RemoteHit(HIT, "3TYPE", "unit 7", "Assignable", 3, NOON, Decimal("0.50"))
XML = f"""<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="{ANSWERS}">
<Answer><QuestionIdentifier>code</QuestionIdentifier><FreeText>7F &amp; 3K</FreeText></Answer></QuestionFormAnswers>"""
WORK_ROW = {
    "AssignmentId": WORK,
    "HITId": HIT,
    "WorkerId": WORKER,
    "AssignmentStatus": "Submitted",
    "AcceptTime": NOON,
    "SubmitTime": NOON + HOUR,
    "AutoApprovalTime": NOON + 2 * HOUR,
    "Answer": XML,
}
REMOTE_WORK = RemoteAssignment(
    WORK, HIT, WORKER, Status.SUBMITTED, NOON, NOON + HOUR, NOON + 2 * HOUR, {"code": "7F & 3K"}
)
BONUS_ROW = {"WorkerId": WORKER, "AssignmentId": WORK, "BonusAmount": "1.20", "Reason": "thanks", "GrantTime": NOON}
PAGED = {"MaxResults": 100}


@pytest.fixture
def calls():
    return []


def client_of(calls, url="http://127.0.0.1:9/"):
    return BotoClient(url, "AKIAKEY", SECRET, "us-east-1", read_timeout=5, record=calls.append)


@pytest.fixture(scope="module")
def shared():
    client = client_of([])
    yield client
    client.close()


@pytest.fixture
def mturk(shared, calls):
    """One for all tests: making it takes longer than a test."""
    shared.record = calls.append
    return shared


@pytest.fixture
def stub(mturk):
    """Answers calls in turn, and holds each against what was expected."""
    with Stubber(mturk.boto) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def caught(call):
    with pytest.raises(MTurkError) as found:
        call()
    return found.value


# --- What is sent, and what comes back ------------------------------------------------------------
ONE_CALL = {
    "balance": (
        lambda m: m.balance(),
        ("get_account_balance", {}, {"AvailableBalance": "10000.00"}),
        Decimal("10000.00"),
    ),
    "create_hit": (
        lambda m: m.create_hit(NEW),
        (
            "create_hit",
            {
                "UniqueRequestToken": "t1",
                "RequesterAnnotation": "unit 7",
                "Title": "Read a sentence",
                "Description": "Say how likely it is.",
                "Keywords": "reading",
                "Reward": "0.50",
                "MaxAssignments": 3,
                "AssignmentDurationInSeconds": 600,
                "LifetimeInSeconds": 3600,
                "AutoApprovalDelayInSeconds": 86400,
                "Question": (
                    f'<ExternalQuestion xmlns="{EXTERNAL}">'
                    "<ExternalURL>https://example.org/task?unit=7&amp;lang=en</ExternalURL>"
                    "<FrameHeight>640</FrameHeight></ExternalQuestion>"
                ),
                "QualificationRequirements": [{"QualificationTypeId": KIND, "Comparator": "DoesNotExist"}],
            },
            {"HIT": HIT_ROW},
        ),
        REMOTE_HIT,
    ),
    "get_hit": (lambda m: m.get_hit(HIT), ("get_hit", {"HITId": HIT}, {"HIT": HIT_ROW}), REMOTE_HIT),
    "add_seats": (
        lambda m: m.add_seats(HIT, 2, token="t2"),
        (
            "create_additional_assignments_for_hit",
            {"HITId": HIT, "NumberOfAdditionalAssignments": 2, "UniqueRequestToken": "t2"},
            {},
        ),
        None,
    ),
    "set_expiry": (
        lambda m: m.set_expiry(HIT, NOON),
        ("update_expiration_for_hit", {"HITId": HIT, "ExpireAt": NOON}, {}),
        None,
    ),
    "delete_hit": (lambda m: m.delete_hit(HIT), ("delete_hit", {"HITId": HIT}, {}), None),
    "get_assignment": (
        lambda m: m.get_assignment(WORK),
        ("get_assignment", {"AssignmentId": WORK}, {"Assignment": WORK_ROW}),
        REMOTE_WORK,
    ),
    "approve": (
        lambda m: m.approve(WORK),
        ("approve_assignment", {"AssignmentId": WORK, "OverrideRejection": False}, {}),
        None,
    ),
    "approve after all": (
        lambda m: m.approve(WORK, "sorry", override=True),
        ("approve_assignment", {"AssignmentId": WORK, "RequesterFeedback": "sorry", "OverrideRejection": True}, {}),
        None,
    ),
    "reject": (
        lambda m: m.reject(WORK, ""),
        ("reject_assignment", {"AssignmentId": WORK, "RequesterFeedback": ""}, {}),
        None,
    ),
    "bonus": (
        lambda m: m.bonus(WORKER, WORK, Decimal("1.2"), "thanks, ref 7F3K", token="t3"),
        (
            "send_bonus",
            {
                "WorkerId": WORKER,
                "AssignmentId": WORK,
                "BonusAmount": "1.20",
                "Reason": "thanks, ref 7F3K",
                "UniqueRequestToken": "t3",
            },
            {},
        ),
        None,
    ),
    "create_qualification": (
        lambda m: m.create_qualification("seen", "Has seen it."),
        (
            "create_qualification_type",
            {"Name": "seen", "Description": "Has seen it.", "QualificationTypeStatus": "Active"},
            {"QualificationType": {"QualificationTypeId": KIND}},
        ),
        KIND,
    ),
    "grant": (
        lambda m: m.grant(KIND, WORKER, 80),
        (
            "associate_qualification_with_worker",
            {"QualificationTypeId": KIND, "WorkerId": WORKER, "IntegerValue": 80, "SendNotification": False},
            {},
        ),
        None,
    ),
    "revoke": (
        lambda m: m.revoke(KIND, WORKER, "gold"),
        (
            "disassociate_qualification_from_worker",
            {"QualificationTypeId": KIND, "WorkerId": WORKER, "Reason": "gold"},
            {},
        ),
        None,
    ),
    "notify": (
        lambda m: m.notify([WORKER, "AGONE"], "News", "There is more."),
        (
            "notify_workers",
            {"WorkerIds": [WORKER, "AGONE"], "Subject": "News", "MessageText": "There is more."},
            {
                "NotifyWorkersFailureStatuses": [
                    {
                        "NotifyWorkersFailureCode": "HardFailure",
                        "NotifyWorkersFailureMessage": "unknown",
                        "WorkerId": "AGONE",
                    }
                ]
            },
        ),
        [("AGONE", "unknown")],
    ),
    "notify, all reached": (
        lambda m: m.notify([WORKER], "News", "There is more."),
        ("notify_workers", {"WorkerIds": [WORKER], "Subject": "News", "MessageText": "There is more."}, {}),
        [],
    ),
}


@pytest.mark.parametrize("name", ONE_CALL)
def test_each_method_makes_one_call_with_exactly_these_parameters(mturk, stub, calls, name):
    call, (method, asked, answer), expected = ONE_CALL[name]
    metadata = {"RequestId": "r1", "HTTPStatusCode": 200}
    stub.add_response(method, {**answer, "ResponseMetadata": metadata}, asked)
    assert call(mturk) == expected
    operation = mturk.boto.meta.method_to_api_mapping[method]
    assert calls == [CallMade(operation, calls[0].seconds, "ok", "", "r1")]
    assert 0 <= calls[0].seconds < 5


def test_every_method_of_the_interface_is_written():
    asked = {name for name in vars(MTurkClient) if not name.startswith("_")}
    assert asked - vars(BotoClient).keys() == set()


def test_work_that_is_never_approved_by_itself_has_no_such_time(mturk, stub):
    row = {name: value for name, value in WORK_ROW.items() if name not in ("AutoApprovalTime", "Answer")}
    stub.add_response("get_assignment", {"Assignment": row}, {"AssignmentId": WORK})
    found = mturk.get_assignment(WORK)
    assert (found.approves_at, found.answer) == (None, {})


@pytest.mark.parametrize("amount", ["0.505", "NaN", "Infinity", "0.001"])
def test_money_is_never_rounded(mturk, stub, amount):
    error = caught(lambda: mturk.bonus(WORKER, WORK, Decimal(amount), "thanks", token="t"))
    assert type(error) is MTurkRefused


def test_a_time_without_a_zone_is_refused(mturk, stub):
    assert type(caught(lambda: mturk.set_expiry(HIT, datetime(2026, 5, 4, 12)))) is MTurkRefused


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("<Answer><QuestionIdentifier>q</QuestionIdentifier><FreeText> a\nb </FreeText></Answer>", {"q": " a\nb "}),
        ("<Answer><QuestionIdentifier>q</QuestionIdentifier><FreeText/></Answer>", {"q": ""}),
        (
            "<Answer><QuestionIdentifier>q</QuestionIdentifier><SelectionIdentifier>yes</SelectionIdentifier>"
            "<SelectionIdentifier>no</SelectionIdentifier><OtherSelectionText>x</OtherSelectionText></Answer>",
            {"q": "yes|no|x"},
        ),
        ("<Answer><FreeText>of nothing</FreeText></Answer>", {}),
        ("<!-- nothing -->", {}),
        ("<Answer>", {}),
    ],
)
def test_answers_are_read_by_field_name(mturk, stub, answers, expected):
    xml = f'<QuestionFormAnswers xmlns="{ANSWERS}">{answers}</QuestionFormAnswers>'
    stub.add_response("get_assignment", {"Assignment": {**WORK_ROW, "Answer": xml}})
    assert mturk.get_assignment(WORK).answer == expected


def test_answers_with_entities_of_their_own_are_not_read(mturk, stub):
    bomb = '<!DOCTYPE a [<!ENTITY b "boom">]><a><Answer><QuestionIdentifier>&b;</QuestionIdentifier></Answer></a>'
    stub.add_response("get_assignment", {"Assignment": {**WORK_ROW, "Answer": bomb}})
    assert mturk.get_assignment(WORK).answer == {}


# --- Lists ----------------------------------------------------------------------------------------
def test_lists_go_on_to_the_empty_page_and_give_each_row_once(mturk, stub, calls):
    other = {**HIT_ROW, "HITId": "3OTHER"}
    stub.add_response("list_hits", {"HITs": [HIT_ROW], "NextToken": "n1"}, PAGED)
    stub.add_response("list_hits", {"HITs": [HIT_ROW, other], "NextToken": "n2"}, {**PAGED, "NextToken": "n1"})
    stub.add_response("list_hits", {"HITs": []}, {**PAGED, "NextToken": "n2"})
    assert [hit.hit_id for hit in mturk.hits()] == [HIT, "3OTHER"]
    assert [call.operation for call in calls] == ["ListHITs"] * 3


def test_a_list_ends_where_no_page_follows(mturk, stub):
    stub.add_response("list_hits", {"HITs": [HIT_ROW]}, PAGED)
    assert list(mturk.hits()) == [REMOTE_HIT]


def test_a_list_that_turns_in_a_circle_is_given_up(mturk, stub):
    for asked in (PAGED, {**PAGED, "NextToken": "n1"}):
        stub.add_response("list_hits", {"HITs": [HIT_ROW], "NextToken": "n1"}, asked)
    assert type(caught(lambda: list(mturk.hits()))) is MTurkUnavailable


def test_work_is_listed_once(mturk, stub):
    asked = {"HITId": HIT, **PAGED}
    stub.add_response("list_assignments_for_hit", {"Assignments": [WORK_ROW, WORK_ROW]}, asked)
    assert list(mturk.assignments_of(HIT)) == [REMOTE_WORK]


def test_two_bonuses_that_are_alike_are_two(mturk, stub):
    asked = {"AssignmentId": WORK, **PAGED}
    stub.add_response("list_bonus_payments", {"BonusPayments": [BONUS_ROW], "NextToken": "n"}, asked)
    stub.add_response("list_bonus_payments", {"BonusPayments": [BONUS_ROW]}, {**asked, "NextToken": "n"})
    assert list(mturk.bonuses_of(WORK)) == [RemoteBonus(WORKER, WORK, Decimal("1.20"), "thanks")] * 2


def test_holders_are_those_who_hold_it_now(mturk, stub):
    asked = {"QualificationTypeId": KIND, "Status": "Granted", **PAGED}
    rows = [{"WorkerId": "AONE", "IntegerValue": 80}, {"WorkerId": "ATWO", "IntegerValue": 0}]
    stub.add_response("list_workers_with_qualification_type", {"Qualifications": rows}, asked)
    assert list(mturk.holders(KIND)) == [("AONE", 80), ("ATWO", 0)]


@pytest.mark.parametrize(("name", "found"), [("seen", KIND), ("Seen", "")])
def test_a_qualification_is_found_by_its_exact_name_on_any_page(mturk, stub, name, found):
    asked = {"Query": name, "MustBeRequestable": False, "MustBeOwnedByCaller": True, **PAGED}
    near = {"Name": "seen before", "QualificationTypeId": "3NEAR"}
    types = {"QualificationTypes": [{"Name": "seen", "QualificationTypeId": KIND}]}
    stub.add_response("list_qualification_types", {"QualificationTypes": [near], "NextToken": "n"}, asked)
    stub.add_response("list_qualification_types", types, {**asked, "NextToken": "n"})
    assert mturk.find_qualification(name) == found


# --- What the service refuses ---------------------------------------------------------------------
STAMP = " (1777896000000 s)"
STATE = "It is currently in the state 'Approved'.  This operation can be called with a status of: Submitted"
TYPE_EXISTS = "You have already created a QualificationType with this name."
UNAVAILABLE, UNKNOWN = (MTurkUnavailable, False), (MTurkUnavailable, True)


@pytest.mark.parametrize(
    ("kind", "turk", "message", "expected"),
    [
        ("RequestError", "InsufficientFunds", "You have too little.", InsufficientFunds),
        ("RequestError", "HITDoesNotExist", f"HIT {HIT} does not exist.", NotThere),
        ("RequestError", "HitDoesNotExist", f"HIT {HIT} does not exist.", NotThere),
        ("RequestError", "AssignmentDoesNotExist", f"Assignment {WORK} does not exist.", NotThere),
        ("RequestError", "QualificationTypeDoesNotExist", "It does not exist.", NotThere),
        ("RequestError", "QualificationDoesNotExist", "You requested what does not exist.", NotThere),
        ("RequestError", "InvalidParameterValue", f"Assignment {WORK} does not exist", NotThere),
        ("RequestError", "InvalidAssignmentState", STATE, WrongState),
        ("RequestError", "InvalidHITState", "Not now.", WrongState),
        ("RequestError", "InvalidQualificationState", "It is Revoked.", WrongState),
        ("RequestError", "", STATE, WrongState),
        ("RequestError", "HitAlreadyExists", f'The HIT with ID "{HIT}" already exists.', AlreadyDone),
        ("RequestError", "HITAlreadyExists", "It exists.", AlreadyDone),
        ("RequestError", "DuplicateRequest", 'The idempotency token "t" has already been processed.', AlreadyDone),
        ("RequestError", "QualificationTypeAlreadyExists", TYPE_EXISTS, AlreadyDone),
        ("RequestError", "", TYPE_EXISTS, AlreadyDone),
        ("RequestError", "InvalidMaximumAssignmentsIncrease", "Fewer than 10.", MTurkRefused),
        ("ParameterValidationError", "", 'The value "X" is not valid for the parameter Y.', MTurkRefused),
        ("ValidationException", "", "1 validation error detected: Value '0.9752' at 'bonusAmount'", MTurkRefused),
        ("SerializationException", "", "not JSON", MTurkRefused),
        ("UnknownOperationException", "", "no such operation", MTurkRefused),
    ],
)
def test_each_refusal_is_ours_by_its_code(mturk, stub, calls, kind, turk, message, expected):
    code = f"AWS.MechanicalTurk.{turk}" if turk else ""
    stub.add_client_error(
        "create_hit",
        kind,
        message + STAMP,
        http_status_code=400,
        response_meta={"RequestId": "r2"},
        modeled_fields={"TurkErrorCode": code} if turk else None,
    )
    error = caught(lambda: mturk.create_hit(NEW))
    assert (type(error), error.sentence, error.code) == (expected, message, code or kind)
    assert calls == [CallMade("CreateHIT", calls[0].seconds, "refused", code or kind, "r2")]


@pytest.mark.parametrize(
    ("message", "remote_id"),
    [
        (f'The HIT with ID "{HIT}" already exists.', HIT),
        (f"Hit {HIT} was made with token {NEW.token * 12}", HIT),
        ("There is one.", ""),
        (f"Either {HIT} or {WORK}.", ""),
    ],
)
def test_the_hit_that_a_used_token_made_is_read_out_of_the_sentence(mturk, stub, message, remote_id):
    stub.add_client_error("create_hit", "RequestError", message, modeled_fields={"TurkErrorCode": "x.HitAlreadyExists"})
    assert caught(lambda: mturk.create_hit(NEW)).remote_id == remote_id


def test_a_token_that_looks_like_an_id_is_not_taken_for_the_hit(mturk, stub):
    new = NewHit(**{**vars(NEW), "token": "T" * 30})
    code = {"TurkErrorCode": "x.HitAlreadyExists"}
    stub.add_client_error("create_hit", "RequestError", f"{new.token} was used", modeled_fields=code)
    stub.add_client_error("create_hit", "RequestError", f"{new.token} has made {HIT}", modeled_fields=code)
    assert [caught(lambda: mturk.create_hit(new)).remote_id for _ in range(2)] == ["", HIT]


@pytest.mark.parametrize(
    ("kind", "status", "expected", "outcome"),
    [
        ("ThrottlingException", 400, (Throttled, False), "throttled"),
        ("ThrottlingException", 503, (Throttled, False), "throttled"),
        ("429", 429, (Throttled, False), "throttled"),
        ("ServiceFault", 500, UNKNOWN, "unknown"),
        ("ServiceFault", 400, UNKNOWN, "unknown"),
        ("503", 503, UNKNOWN, "unknown"),
        ("505", 505, UNKNOWN, "unknown"),
        ("InternalFailure", 500, UNKNOWN, "unknown"),
        ("404", 404, UNKNOWN, "unknown"),
    ],
)
def test_a_failing_service_is_to_be_tried_again(mturk, stub, calls, kind, status, expected, outcome):
    stub.add_client_error("approve_assignment", kind, "Rate exceeded", http_status_code=status)
    error = caught(lambda: mturk.approve(WORK))
    assert (type(error), error.may_have_happened) == expected
    assert [call.outcome for call in calls] == [outcome]


@pytest.mark.parametrize(
    ("kind", "message", "word"),
    [
        ("InvalidSignatureException", "The request signature we calculated does not match", "secret key"),
        ("InvalidSignatureException", "Signature expired: 20260504T120000Z", "clocks"),
        ("RequestExpired", "too late", "clocks"),
        ("UnrecognizedClientException", "The security token included in the request is invalid.", "access key"),
        ("MissingAuthenticationTokenException", "Missing Authentication Token", "access key"),
        ("AccessDeniedException", "User: arn:aws:iam::1:user/x is not authorized", "does not let"),
    ],
)
def test_credentials_that_are_not_taken_are_told_in_a_sentence(mturk, stub, kind, message, word):
    stub.add_client_error("get_account_balance", kind, message)
    error = caught(mturk.balance)
    assert (type(error), error.code) == (BadAccount, kind)
    assert word in error.sentence


def test_what_boto3_refuses_is_refused(mturk, calls):
    assert type(caught(lambda: mturk.get_hit(7))) is MTurkRefused
    assert [(call.outcome, call.code) for call in calls] == [("refused", "ParamValidationError")]


def refuse(stub, method, code, message):
    stub.add_client_error(
        method, "RequestError", message + STAMP, modeled_fields={"TurkErrorCode": f"AWS.MechanicalTurk.{code}"}
    )


def test_a_hit_that_is_deleted_already_is_deleted(mturk, stub, calls):
    allowed = "This operation can be called with a status of: Reviewing, Reviewable"
    refuse(stub, "delete_hit", "InvalidHITState", f"This HIT is currently in the state 'Disposed'.  {allowed}")
    mturk.delete_hit(HIT)
    refuse(stub, "delete_hit", "InvalidHITState", f"This HIT is currently in the state 'Assignable'.  {allowed}")
    assert type(caught(lambda: mturk.delete_hit(HIT))) is WrongState
    refuse(stub, "delete_hit", "HITDoesNotExist", "HIT X does not exist.")
    assert type(caught(lambda: mturk.delete_hit(HIT))) is NotThere
    assert [call.outcome for call in calls] == ["refused"] * 3


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("InvalidAssignmentState", "This operation can be called with a status of: Reviewable,Approved,Rejected"),
        ("InvalidAssignmentState", "currently in the state 'null'. It can be called with a status of: null"),
        ("AssignmentDoesNotExist", f"Assignment {WORK} does not exist."),
    ],
)
def test_work_that_is_not_submitted_is_not_there(mturk, stub, code, message):
    refuse(stub, "get_assignment", code, message)
    error = caught(lambda: mturk.get_assignment(WORK))
    assert (type(error), error.code) == (NotThere, f"AWS.MechanicalTurk.{code}")


def test_the_same_expiry_again_is_done_already(mturk, stub):
    refuse(stub, "update_expiration_for_hit", "Any", f'The idempotency token "{HIT}2026" has already been processed')
    error = caught(lambda: mturk.set_expiry(HIT, NOON))
    assert (type(error), error.remote_id) == (AlreadyDone, "")


# --- What goes wrong on the way -------------------------------------------------------------------
def test_an_answer_that_lacks_what_was_asked_for_leaves_it_open(mturk, stub, calls):
    for answer in ({}, {"HIT": {"HITId": HIT}}):
        stub.add_response("create_hit", answer)
        error = caught(lambda: mturk.create_hit(NEW))
        assert (type(error), error.may_have_happened) == UNKNOWN
    assert [call.outcome for call in calls] == ["unknown"] * 2


@contextmanager
def answering(raw):
    """A server on a port of its own, which reads one request and sends these bytes; None resets the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(65536)
                head, _, body = request.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                while len(body) < length:
                    body += connection.recv(65536)
                if raw is None:
                    reset = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")  # linger for no time
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                else:
                    connection.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread.join(timeout=5)


def http(body, *, status="200 OK", length=None, more=""):
    length = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}\r\n{body}".encode()


CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
REFUSAL = '{"__type": "RequestError", "Message": "m", "TurkErrorCode": "AWS.MechanicalTurk.InvalidHITState"}'
WAYS = {
    "whole": (http("{}", more="x-amzn-RequestId: r3\r\n"), "ok"),
    "whole in chunks": (f"{CHUNKED}0\r\n\r\n".encode(), "ok"),
    "whole without a length": (b"HTTP/1.1 200 OK\r\n\r\n{}", "ok"),
    "nothing, and says so": (http(""), "ok"),
    "a refusal": (http(REFUSAL, status="400 Bad Request"), "refused"),
    "a refusal cut": (http(REFUSAL[:40], status="400 Bad Request"), "unknown"),
    "a refusal shorter than its length": (http(REFUSAL, status="400 Bad Request", length=500), "unknown"),
    "nothing without a length": (b"HTTP/1.1 200 OK\r\n\r\n", "unknown"),
    "nothing of something": (http("", length=2), "unknown"),
    "half of the body": (http("{", length=2), "unknown"),
    "half, and the length of half": (http("{"), "unknown"),
    "shorter than its length": (http("{}", length=20), "unknown"),
    "chunks that end early": (CHUNKED.encode(), "unknown"),
    "half of the head": (b"HTTP/1.1 200 OK\r\nContent-Le", "unknown"),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n", "unknown"),
    "no answer": (b"", "unknown"),
    "reset": (None, "unknown"),
    "a list": (http("[]"), "unknown"),
    "a page with 200": (http("<html>Log in</html>"), "unknown"),
    "a page with 302": (http("<html></html>", status="302 Found", more="Location: /login\r\n"), "unknown"),
    "a page with 404": (http("<html></html>", status="404 Not Found"), "unknown"),
    "a page with 503": (http("<!doctype html>", status="503 Service Unavailable"), "unknown"),
    "nothing with 502": (http("", status="502 Bad Gateway"), "unknown"),
    "an error without a type": (http('{"message": "no"}', status="403 Forbidden"), "unknown"),
    "a page with 429": (http("slow down", status="429 Too Many Requests"), "throttled"),
}


@pytest.mark.parametrize("way", WAYS)
def test_only_a_whole_answer_counts_as_one(calls, way):
    raw, outcome = WAYS[way]
    with answering(raw) as url:
        mturk = client_of(calls, url)
        with suppress(MTurkError):
            mturk.delete_hit(HIT)
        mturk.close()
    assert [(call.operation, call.outcome) for call in calls] == [("DeleteHIT", outcome)]
    assert calls[0].request_id == ("r3" if way == "whole" else "")


def test_nothing_can_have_happened_where_no_connection_was_made(calls, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    mturk = client_of(calls, f"http://127.0.0.1:{port}/")
    refused = caught(lambda: mturk.delete_hit(HIT))

    def unknown(*_, **__):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    nameless = caught(lambda: mturk.delete_hit(HIT))
    mturk.close()
    assert [(type(error), error.may_have_happened) for error in (refused, nameless)] == [UNAVAILABLE] * 2
    assert [call.outcome for call in calls] == ["unavailable"] * 2


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectTimeoutError(endpoint_url="http://x"), UNAVAILABLE),
        (ReadTimeoutError(endpoint_url="http://x"), UNKNOWN),
        (SSLError(endpoint_url="http://x", error="alert"), UNKNOWN),
        (RuntimeError("what nobody thought of"), UNKNOWN),
    ],
)
def test_errors_on_the_way_say_whether_it_can_have_happened(error, expected):
    def broken(**_):
        raise error

    mturk = client_of([])
    mturk.boto.meta.events.register("before-send.mturk", broken)
    found = caught(lambda: mturk.approve(WORK))
    assert (type(found), found.may_have_happened, found.code) == (*expected, type(error).__name__)


# --- The client itself ----------------------------------------------------------------------------
def test_what_is_recorded_holds_no_secret_and_nobodys_name(mturk, stub, calls):
    stub.add_response("send_bonus", {})
    mturk.bonus(WORKER, WORK, Decimal("1.00"), "for Wanda", token="t")
    refuse(stub, "send_bonus", "Any", f"Worker {WORKER} did not submit it.")
    caught(lambda: mturk.bonus(WORKER, WORK, Decimal("1.00"), "for Wanda", token="t"))
    assert not any(word in repr(calls) for word in (SECRET, WORKER, WORK, "Wanda", "AKIAKEY"))


def test_a_record_that_fails_hides_nothing(mturk, stub, caplog):
    def broken(_):
        raise OSError("disk full")

    mturk.record = broken
    stub.add_response("get_account_balance", {"AvailableBalance": "1.00"})
    assert mturk.balance() == Decimal("1.00")
    assert "GetAccountBalance (ok) was not recorded" in caplog.text


def test_whoever_stops_a_call_leaves_it_open(calls):
    def stopped(**_):
        raise KeyboardInterrupt

    mturk = client_of(calls)
    mturk.boto.meta.events.register("before-send.mturk", stopped)
    with pytest.raises(KeyboardInterrupt):
        mturk.approve(WORK)
    assert [call.outcome for call in calls] == ["unknown"]


def test_boto3_repeats_nothing_and_goes_where_it_is_told_whatever_the_environment_says(monkeypatch):
    for name, value in {
        "AWS_RETRY_MODE": "adaptive",
        "AWS_MAX_ATTEMPTS": "9",
        "AWS_ENDPOINT_URL": "http://elsewhere.example",
        "AWS_ENDPOINT_URL_MTURK": "http://elsewhere.example",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_SESSION_TOKEN": "another's",
    }.items():
        monkeypatch.setenv(name, value)
    mturk = BotoClient(None, "AKIAKEY", SECRET, "us-east-1", read_timeout=7, connections=3)
    meta = mturk.boto.meta
    mturk.close()
    assert meta.endpoint_url == "https://mturk-requester.us-east-1.amazonaws.com"
    assert meta.config.retries == {"total_max_attempts": 1, "mode": "standard"}
    assert (meta.config.connect_timeout, meta.config.read_timeout, meta.config.max_pool_connections) == (5, 7, 3)


def test_boto3_is_spoken_in_one_file_of_the_round_trip():
    files = (path for app in ("annotation", "config", "hits", "validation") for path in (ROOT / app).rglob("*.py"))
    speaking = [path for path in files if any(name.startswith(("boto3", "botocore")) for name in imports(path))]
    assert speaking == [ROOT / "hits/boto.py"]
