"""What is sent by mistake or on purpose: one defined answer each, never a fault of ours, and nothing changed by it."""

import hashlib
import json
from xml.etree import ElementTree

import pytest
from django.utils import timezone

from marketplace import ledger, questions, work
from marketplace.models import HIT, Assignment, Call, QualificationRequest, QualificationType
from marketplace.operations import OPERATIONS, Asked
from tests.marketplace.market import USUAL, inner_client_of, make_requester, make_worker
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


# --- Around the wire ------------------------------------------------------------------------------


def make_hit(requester, **changes):
    asked = Asked(requester, "CreateHIT", {**USUAL, **changes}, timezone.now())
    return OPERATIONS["CreateHIT"](asked)["HIT"]["HITId"]


def submit(client, **fields):
    return client.post("/marketplace/mturk/externalSubmit", fields)


def test_null_characters_find_nothing_and_break_nothing(client, django_user_model):
    """PostgreSQL keeps no such text, and refuses to look for it."""
    worker = make_worker()
    header = {"HTTP_AUTHORIZATION": f"Token {work.token_of(worker)}"}
    api = "/marketplace/api/worker/"
    client.get(f"/marketplace/enter/{work.token_of(worker)}/")
    found = {
        "search": client.get("/marketplace/?q=%00").status_code,
        "link": client.get("/marketplace/enter/%00/").status_code,
        "group": client.get("/marketplace/groups/%00/").status_code,
        "task": client.get("/marketplace/tasks/%00/").status_code,
        "accept": client.post(f"{api}hits/%00/accept/", **header).status_code,
        "after": client.get(f"{api}hits/?after=3X%00", **header).status_code,
        "submit": submit(client, assignmentId="3\x00", x="1").status_code,
    }
    client.force_login(django_user_model.objects.create_superuser("boss"))
    found["requester"] = client.post("/marketplace/operator/", {"name": "\x00"}).status_code
    assert found == {
        "search": 200,
        "link": 404,
        "group": 404,
        "task": 404,
        "accept": 404,
        "after": 404,
        "submit": 409,
        "requester": 422,
    }


def test_an_answer_is_xml_whatever_was_typed(client):
    hit, worker = make_hit(make_requester()), make_worker()
    held = work.accept(worker, hit, at=timezone.now())
    submit(client, assignmentId=held.assignment_id, **{"a\x01": "x\x00\x08 <&> \ufffe]]>\r\n"})
    root = ElementTree.fromstring(Assignment.objects.get().answer)
    space = f"{{{questions.ANSWERS}}}"
    answer = root.find(f"{space}Answer")
    assert answer.findtext(f"{space}QuestionIdentifier") == "a"
    assert answer.findtext(f"{space}FreeText").startswith("x <&> ")


FORM = """<QuestionForm xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionForm.xsd">
<Question><QuestionIdentifier>many</QuestionIdentifier><QuestionContent><Text>Which?</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><MaxSelectionCount>2</MaxSelectionCount><Selections>
<Selection><SelectionIdentifier>a</SelectionIdentifier><Text>A</Text></Selection>
<Selection><SelectionIdentifier>b</SelectionIdentifier><Text>B</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>free</QuestionIdentifier><QuestionContent><Text>Why?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"""
CHOSEN = (
    "<Answer><QuestionIdentifier>many</QuestionIdentifier><SelectionIdentifier>a</SelectionIdentifier>"
    "<SelectionIdentifier>b</SelectionIdentifier></Answer>"
    "<Answer><QuestionIdentifier>free</QuestionIdentifier><FreeText>So.</FreeText></Answer></QuestionFormAnswers>"
)


def test_everything_selected_in_a_questionform_arrives_and_nothing_that_it_does_not_ask(client):
    requester, worker = make_requester(), make_worker()
    held = work.accept(worker, make_hit(requester, Question=FORM), at=timezone.now())
    given = {"many": ["a", "b"], "free": "So.", "csrfmiddlewaretoken": "secret"}
    submit(client, assignmentId=held.assignment_id, **given)
    assert Assignment.objects.get().answer.endswith(f'xsd">{CHOSEN}')
    kind = QualificationType.objects.create(
        requester=requester, name="Q", description="D", test=FORM, test_seconds=60, created_at=timezone.now()
    )
    client.get(f"/marketplace/enter/{work.token_of(worker)}/")
    client.post(f"/marketplace/qualifications/{kind.qualification_type_id}/", given)
    assert QualificationRequest.objects.get().answer.endswith(f'xsd">{CHOSEN}')


@pytest.mark.parametrize(
    ("was", "becomes", "text"),
    [
        ("<MaxSelectionCount>2<", "<MaxSelectionCount>two<", "MaxSelectionCount"),
        (">free<", "><", "QuestionIdentifier of its own"),
        (">free<", ">many<", "QuestionIdentifier of its own"),
        (">free<", ">assignmentId<", "QuestionIdentifier of its own"),
        ("<FreeTextAnswer/>", "<FileUploadAnswer/>", "takes no files"),
    ],
)
def test_a_questionform_that_cannot_be_asked_is_refused_before_a_worker_sees_it(was, becomes, text):
    mturk, wrong = inner_client_of(make_requester()), FORM.replace(was, becomes)
    kind = {"Name": "Q", "Description": "D", "QualificationTypeStatus": "Active", "TestDurationInSeconds": 60}
    for call in (
        lambda: mturk.create_hit(**{**USUAL, "Question": wrong}),
        lambda: mturk.create_qualification_type(**kind, Test=wrong),
    ):
        with pytest.raises(mturk.exceptions.ClientError, match=text) as caught:
            call()
        assert caught.value.response["Error"]["Code"] == "ParameterValidationError"


def test_who_gave_a_place_back_cannot_answer_for_the_next_worker(client):
    """The place keeps its id; a page that names its worker answers for nobody else."""
    hit, first, second = make_hit(make_requester(), MaxAssignments=1), make_worker("a"), make_worker("b")
    held = work.accept(first, hit, at=timezone.now())
    work.give_back(first, held.assignment_id, at=timezone.now())
    assert work.accept(second, hit, at=timezone.now()).assignment_id == held.assignment_id
    refused = submit(client, assignmentId=held.assignment_id, workerId=first.worker_id, x="1")
    assert (refused.status_code, "not yours any more" in refused.content.decode()) == (409, True)
    assert submit(client, assignmentId=held.assignment_id, workerId=second.worker_id, x="2").status_code == 200
    assert "<FreeText>2</FreeText>" in Assignment.objects.get().answer
