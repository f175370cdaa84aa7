"""What is sent by mistake or on purpose: one defined answer each, never a fault of ours, and nothing changed by it."""

import hashlib
import json

import pytest

from marketplace import ledger
from marketplace.models import HIT, Call
from tests.marketplace.market import USUAL, inner_client_of, make_requester
from tests.marketplace.test_wire import SITE, send, signed

pytestmark = pytest.mark.django_db
CREATE = {**USUAL, "Reward": "0.50"}
BONUS = {"WorkerId": "A1", "AssignmentId": "3A", "Reason": "x"}
GRANT = {"QualificationTypeId": "3Q", "WorkerId": "A1"}


@pytest.mark.parametrize(
    ("operation", "params", "kind"),
    [
        ("CreateHIT", {**CREATE, "Reward": "9" * 30}, "ParameterValidationError"),
        ("CreateHIT", {**CREATE, "Reward": "10000000.00"}, "ParameterValidationError"),
        ("CreateHIT", {**CREATE, "Reward": "9999999.99"}, "RequestError"),
        ("CreateHIT", {**CREATE, "MaxAssignments": 10**12}, "SerializationException"),
        ("CreateHIT", {**CREATE, "LifetimeInSeconds": 10**30}, "SerializationException"),
        ("CreateHIT", {**CREATE, "Title": "a\x00b"}, "ValidationException"),
        ("CreateHIT", {**CREATE, "Title": "a\ud800b"}, "ValidationException"),
        ("CreateHIT", {**CREATE, "Question": "a\ud800b"}, "ValidationException"),
        ("SendBonus", {**BONUS, "BonusAmount": "9" * 30}, "ParameterValidationError"),
        ("AssociateQualificationWithWorker", {**GRANT, "IntegerValue": 2**31}, "SerializationException"),
        ("UpdateExpirationForHIT", {"HITId": "3X", "ExpireAt": "9999-12-31T23:59:59-14:00"}, "SerializationException"),
        ("UpdateExpirationForHIT", {"HITId": "3X", "ExpireAt": "0001-01-01T00:00:00+14:00"}, "SerializationException"),
    ],
)  # fmt: skip
def test_what_no_column_could_hold_is_refused_and_costs_nothing(client, operation, params, kind):
    requester = make_requester()
    status, answer = send(client, signed(SITE, requester, operation, json.dumps(params).encode()))
    assert (answer["__type"], status // 100) == (kind, 4)
    assert not HIT.objects.exists()
    assert ledger.account("available", requester=requester).balance == 100_00
    assert [call.effect for call in Call.objects.all()] in ([{}], [])


def test_a_body_is_checked_also_where_the_client_signs_a_hash_that_it_names_itself(client):
    requester = make_requester()
    body = b'{"MaxResults": 5}'
    honest = {"X-Amz-Content-SHA256": hashlib.sha256(body).hexdigest()}
    request = signed(SITE, requester, "ListHITs", body, more=honest)
    assert send(client, request)[0] == 200
    request.data = b'{"MaxResults": 6}'
    assert send(client, request)[1]["__type"] == "InvalidSignatureException"
    unsigned = signed(SITE, requester, "ListHITs", body, more={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert send(client, unsigned)[1]["__type"] == "InvalidSignatureException"


def test_boto3_reads_the_refusal_of_a_body_that_is_too_large():
    mturk = inner_client_of(make_requester())
    with pytest.raises(mturk.exceptions.ClientError, match=r"\(413\).*Nothing was changed"):
        mturk.create_hit(**{**CREATE, "Question": "x" * 3_000_000})
    assert mturk.get_account_balance()["AvailableBalance"] == "100.00"
