"""The wire itself: signatures, what is no call, paging while rows arrive, throttling."""

import json
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from django.utils import timezone

from marketplace import shapes, signing
from marketplace.errors import SerializationException, ValidationException
from marketplace.models import HIT, Call
from tests.marketplace.market import USUAL, client_of, do, make_requester, make_worker

pytestmark = pytest.mark.django_db(transaction=True)
TARGET = "MTurkRequesterServiceV20170117."


def signed(site, requester, operation="GetAccountBalance", body=b"{}", *, secret="", region="us-east-1", more=()):
    """A request as a client of its own signs it: no SDK, as oTree does."""
    headers = {"X-Amz-Target": TARGET + operation, "Content-Type": "application/x-amz-json-1.1", **dict(more)}
    request = AWSRequest("POST", f"{site}/marketplace/api/", headers=headers, data=body)
    request.headers["Host"] = urlsplit(site).netloc
    credentials = Credentials(requester.access_key, secret or signing.secret_of(requester))
    SigV4Auth(credentials, "mturk-requester", region).add_auth(request)
    return request


SITE = "http://testserver"


def send(client, request, **changes):
    headers = {f"HTTP_{k.upper().replace('-', '_')}": v for k, v in {**dict(request.headers), **changes}.items()}
    kind = headers.pop("HTTP_CONTENT_TYPE", "application/x-amz-json-1.1")
    answer = client.post("/marketplace/api/", request.data, content_type=kind, **headers)
    return answer.status_code, json.loads(answer.content)


def test_a_client_that_signs_by_itself_is_understood_wherever_the_endpoint_lies(client):
    requester = make_requester()
    for region in ("us-east-1", "eu-central-1"):
        status, body = send(client, signed(SITE, requester, region=region))
        assert (status, body["AvailableBalance"]) == (200, "100.00")


def test_a_wrong_secret_a_foreign_key_and_no_signature_are_refused(client):
    requester = make_requester()
    assert send(client, signed(SITE, requester, secret="x" * 40))[1]["__type"] == "InvalidSignatureException"
    nobody = type("Nobody", (), {"access_key": "AKIA" + "X" * 16})()
    assert send(client, signed(SITE, nobody, secret="x"))[1]["__type"] == "UnrecognizedClientException"
    unsigned = signed(SITE, requester)
    assert send(client, unsigned, Authorization="")[1]["__type"] == "MissingAuthenticationTokenException"
    requester.is_active = False
    requester.save()
    assert send(client, signed(SITE, requester))[1]["__type"] == "UnrecognizedClientException"


def test_a_body_or_a_signed_header_that_was_changed_is_refused(client):
    requester = make_requester()
    request = signed(SITE, requester)
    request.data = b'{"MaxResults": 5}'
    assert send(client, request)[1]["__type"] == "InvalidSignatureException"
    request = signed(SITE, requester)
    changed = {"X-Amz-Target": TARGET + "ListHITs"}
    assert send(client, request, **changed)[1]["__type"] == "InvalidSignatureException"


def test_a_signature_is_good_for_five_minutes(client, monkeypatch):
    requester = make_requester()
    request = signed(SITE, requester)
    assert send(client, request)[0] == 200
    assert send(client, request)[0] == 200  # boto3 repeats what it got no answer to
    later = timezone.now() + timedelta(minutes=6)
    monkeypatch.setattr("marketplace.wire.timezone.now", lambda: later)
    assert send(client, request)[1]["__type"] == "RequestExpired"


def test_a_new_key_makes_the_old_secret_useless(live_server):
    requester = make_requester()
    old = client_of(live_server.url, requester)
    requester.key_serial += 1
    requester.save()
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        old.get_account_balance()
    client_of(live_server.url, requester).get_account_balance()


@pytest.mark.parametrize(
    ("operation", "body", "kind"),
    [
        ("DoEverything", b"{}", "UnknownOperationException"),
        ("GetHIT", b"{", "SerializationException"),
        ("GetHIT", b"[]", "SerializationException"),
        ("GetHIT", b"[" * 100_000, "SerializationException"),
        ("GetHIT", b'{"HITId": 7}', "SerializationException"),
        ("GetHIT", b"{}", "ValidationException"),
        ("GetHIT", b'{"HITId": null}', "ValidationException"),
        ("GetHIT", b'{"HITId": "3x"}', "ValidationException"),
        ("ListHITs", b'{"MaxResults": 101}', "ValidationException"),
        ("ListHITs", b'{"MaxResults": true}', "SerializationException"),
        ("ListHITs", b'{"NextToken": "forged"}', "RequestError"),
        ("UpdateExpirationForHIT", b'{"HITId": "3X", "ExpireAt": 1e300}', "SerializationException"),
    ],
)
def test_what_is_no_call_of_the_service_is_refused_by_name(client, operation, body, kind):
    status, answer = send(client, signed(SITE, make_requester(), operation, body))
    assert (status, answer["__type"]) == (400, kind)
    assert answer["Message"]


def test_unknown_members_are_left_alone(client):
    status, _ = send(client, signed(SITE, make_requester(), "ListHITs", b'{"Colour": "blue"}'))
    assert status == 200


def test_errors_of_the_model_read_as_the_services_did():
    with pytest.raises(ValidationException) as caught:
        shapes.read(shapes.operation("SendBonus"), {"WorkerId": "B", "BonusAmount": "0.9752", "AssignmentId": "3A"})
    assert caught.value.message == (
        "3 validation errors detected: Value 'B' at 'workerId' failed to satisfy constraint: Member must satisfy "
        "regular expression pattern: ^A[A-Z0-9]+$; Value '0.9752' at 'bonusAmount' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: ^[0-9]+(\\.)?[0-9]{0,2}$; Value null at 'reason' failed "
        "to satisfy constraint: Member must not be null"
    )
    with pytest.raises(SerializationException):
        shapes.read(shapes.operation("SendBonus"), {"WorkerId": ["A"]})


def test_a_fault_of_ours_is_one_that_boto3_repeats(live_server, monkeypatch):
    def broken(asked):
        raise ZeroDivisionError

    monkeypatch.setitem(__import__("marketplace.operations").operations.OPERATIONS, "GetAccountBalance", broken)
    with pytest.raises(ClientError) as caught:
        client_of(live_server.url, make_requester()).get_account_balance()
    assert caught.value.response["Error"]["Code"] == "ServiceFault"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500


def test_too_many_calls_are_throttled_and_boto3_gets_through_by_itself(live_server, settings):
    settings.MARKETPLACE_CALLS_PER_SECOND = 3
    requester = make_requester()
    impatient = client_of(live_server.url, requester)
    for _ in range(3):
        impatient.get_account_balance()
    with pytest.raises(ClientError, match="ThrottlingException"):
        impatient.get_account_balance()
    client_of(live_server.url, requester, attempts=8).get_account_balance()


# --- Pages ----------------------------------------------------------------------------------------


def pages(call, name, **params):
    """Every page, the empty one at the end as well."""
    token, found = None, []
    while True:
        page = call(**params, **({"NextToken": token} if token else {}))
        found.append(page[name])
        assert page["NumResults"] == len(page[name])
        assert ("NextToken" in page) == bool(page[name])
        if not page[name]:
            return found
        token = page["NextToken"]
        assert 1 <= len(token) <= 255


def test_250_rows_in_pages_while_rows_arrive(live_server):
    requester = make_requester(deposit=1000_00)
    mturk = client_of(live_server.url, requester)
    first = mturk.create_hit(**USUAL)["HIT"]
    row = HIT.objects.get()

    def more(count):
        for _ in range(count):
            row.pk, row.hit_id = None, HIT._meta.get_field("hit_id").get_default()
            row.save(force_insert=True)

    more(249)
    seen, token, rounds = [], None, 0
    while True:
        page = mturk.list_hits(MaxResults=100, **({"NextToken": token} if token else {}))
        seen += [hit["HITId"] for hit in page["HITs"]]
        if not page["HITs"]:
            break
        token, rounds = page["NextToken"], rounds + 1
        more(3 if rounds < 3 else 0)
    assert len(seen) == len(set(seen)) == 256
    assert seen[0] == first["HITId"]
    assert [len(p) for p in pages(mturk.list_hits, "HITs", MaxResults=100)][:2] == [100, 100]
    assert len(mturk.list_hits()["HITs"]) == 10


def test_a_token_is_good_for_its_own_call_only(live_server):
    requester = make_requester()
    mturk = client_of(live_server.url, requester)
    hits = [mturk.create_hit(**USUAL)["HIT"]["HITId"] for _ in range(2)]
    do(make_worker(), hits[0])
    token = mturk.list_assignments_for_hit(HITId=hits[0])["NextToken"]
    other = client_of(live_server.url, make_requester("other"))
    for call in (
        lambda: mturk.list_assignments_for_hit(HITId=hits[1], NextToken=token),
        lambda: mturk.list_hits(NextToken=token),
        lambda: other.list_hits(NextToken=mturk.list_hits()["NextToken"]),
    ):
        with pytest.raises(ClientError, match="not one of this call"):
            call()


def test_assignments_come_in_the_order_of_submission(live_server):
    mturk = client_of(live_server.url, make_requester())
    hit = mturk.create_hit(**{**USUAL, "MaxAssignments": 5})["HIT"]["HITId"]
    done = [do(make_worker(f"w{n}"), hit).assignment_id for n in range(5)]
    found = pages(mturk.list_assignments_for_hit, "Assignments", HITId=hit, MaxResults=2)
    assert [len(page) for page in found] == [2, 2, 1, 0]
    assert [a["AssignmentId"] for page in found for a in page] == done


def test_no_secret_and_no_whole_question_is_in_the_record_of_calls(live_server):
    requester = make_requester()
    client_of(live_server.url, requester).create_hit(**{**USUAL, "Description": "x" * 2000})
    kept = json.dumps(Call.objects.get().parameters)
    assert signing.secret_of(requester) not in kept
    assert len(kept) < 2500
