"""What workers do, over HTTP as crowds do: accept, submit, give back; the clock; and who may do what."""

import json
from datetime import timedelta
from urllib.parse import parse_qsl

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from marketplace import clock, ledger, requirements, work
from marketplace.answer_keys import read_key
from marketplace.errors import WireError
from marketplace.models import HIT, Assignment, Grant, QualificationType
from marketplace.operations import OPERATIONS, Asked
from marketplace.questions import read, task_url
from tests.marketplace.market import EXTERNAL, HTML, USUAL, do, hit_of, make_requester, make_worker

pytestmark = pytest.mark.django_db


def call(requester, operation, at=None, **params):
    return OPERATIONS[operation](Asked(requester, operation, params, at or timezone.now()))


def make_hit(requester=None, **changes):
    requester = requester or make_requester(f"lab {timezone.now()}")
    return call(requester, "CreateHIT", **{**USUAL, **changes})["HIT"]["HITId"]


class Http:
    """A worker's program."""

    def __init__(self, client, worker):
        self.client, self.header = client, {"HTTP_AUTHORIZATION": f"Token {work.token_of(worker)}"}

    def get(self, path):
        return self.client.get(f"/marketplace/api/worker/{path}", **self.header)

    def post(self, path):
        return self.client.post(f"/marketplace/api/worker/{path}", **self.header)


def submit(client, **fields):
    return client.post("/marketplace/mturk/externalSubmit", fields)


# --- Over HTTP ------------------------------------------------------------------------------------


def test_a_program_finds_does_and_is_paid_for_work(client):
    requester, worker = make_requester(), make_worker()
    hit, http = make_hit(requester), Http(client, worker)
    listed = http.get("hits/").json()["hits"]
    assert [(h["hit_id"], h["reward"], h["available"], h["qualified"]) for h in listed] == [(hit, "0.50", 2, True)]
    held = http.post(f"hits/{hit}/accept/").json()
    assert set(held) == {"assignment_id", "hit_id", "worker_id", "turk_submit_to", "task_url", "deadline"}
    assert held["task_url"].startswith("https://example.org/task?item=7&lang=en&assignmentId=")
    for name in ("hitId", "workerId", "turkSubmitTo"):
        assert f"&{name}=" in held["task_url"]
    assert "http%3A%2F%2F" in held["task_url"]
    assert http.post(f"hits/{hit}/accept/").json() == held  # asked again: the same
    assert http.get("hits/").json()["hits"] == []
    assert submit(client, assignmentId=held["assignment_id"], choice="a", hitId="forged").status_code == 200
    call(requester, "ApproveAssignment", AssignmentId=held["assignment_id"])
    mine = http.get("assignments/").json()["assignments"]
    assert [(a["status"], a["reward"]) for a in mine] == [("Approved", "0.50")]
    assert "forged" not in mine[0]["answer"]


def test_without_a_token_there_is_nothing(client):
    worker = make_worker()
    assert client.get("/marketplace/api/worker/hits/").status_code == 401
    http = Http(client, worker)
    worker.token_serial += 1
    worker.save()
    assert http.get("hits/").status_code == 401


def test_what_is_somebody_elses_is_not_there(client):
    hit, mine, theirs = make_hit(), make_worker("mine"), make_worker("theirs")
    held = work.accept(mine, hit, at=timezone.now())
    assert Http(client, theirs).post(f"assignments/{held.assignment_id}/return/").status_code == 404
    assert Http(client, mine).post("hits/3NONE/accept/").status_code == 404


def test_given_back_it_is_free_and_keeps_its_id_for_the_next(client):
    hit, first, second = make_hit(MaxAssignments=1), make_worker("a"), make_worker("b")
    held = work.accept(first, hit, at=timezone.now())
    assert Http(client, second).post(f"hits/{hit}/accept/").status_code == 409
    assert Http(client, first).post(f"assignments/{held.assignment_id}/return/").status_code == 200
    again = Http(client, second).post(f"hits/{hit}/accept/").json()
    assert again["assignment_id"] == held.assignment_id
    assert submit(client, assignmentId=held.assignment_id, x="1").status_code == 200
    assert Assignment.objects.get().worker == second


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "x": "1"}, 409, "This was a preview"),
        ({"assignmentId": "3NONE", "x": "1"}, 409, "not yours any more"),
        ({"x": "1"}, 409, "not yours any more"),
        ({"hitId": "3H"}, 409, "not yours any more"),
    ],
)
def test_what_nobody_holds_cannot_be_submitted(client, fields, status, said):
    answer = submit(client, **fields)
    assert (answer.status_code, said in answer.content.decode()) == (status, True)


def test_an_answer_is_taken_once_in_time_and_with_something_in_it(client):
    hit, worker = make_hit(), make_worker()
    held = work.accept(worker, hit, at=timezone.now())
    assert "at least one field" in submit(client, assignmentId=held.assignment_id, hitId="x").content.decode()
    assert submit(client, assignmentId=held.assignment_id, x="1").status_code == 200
    assert "submitted before" in submit(client, assignmentId=held.assignment_id, x="2").content.decode()
    assert "<FreeText>1</FreeText>" in Assignment.objects.get().answer
    late = work.accept(make_worker("late"), hit, at=timezone.now() - timedelta(seconds=601))
    assert "time ran out" in submit(client, assignmentId=late.assignment_id, x="1").content.decode()
    assert hit_of(hit).accepted == 0


def test_the_submit_page_may_be_framed_and_never_leads_elsewhere(client):
    answer = submit(client, assignmentId="x", turkSubmitTo="https://evil.example")
    assert "X-Frame-Options" not in answer.headers
    assert answer.status_code == 409
    assert "evil" not in answer.content.decode()


def test_no_other_page_is_shown_in_somebodys_frame(client):
    client.get(f"/marketplace/enter/{work.token_of(make_worker())}/")
    for path in ("", "dashboard/", "profile/", "join/"):
        answer = client.get(f"/marketplace/{path}")
        assert answer.headers["X-Frame-Options"] == "DENY", path
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], path


def test_who_did_a_hit_does_not_get_it_again():
    hit, worker = make_hit(), make_worker()
    do(worker, hit)
    with pytest.raises(work.Refused, match="You have done this HIT"):
        work.accept(worker, hit, at=timezone.now())


# --- The clock ------------------------------------------------------------------------------------


def test_deadlines_and_auto_approval_come_without_any_job():
    requester, now = make_requester(), timezone.now()
    hit = make_hit(requester)
    work.accept(make_worker("slow"), hit, at=now - timedelta(seconds=700))
    done = do(make_worker("quick"), hit, at=now - timedelta(seconds=3601))
    clock.catch_up(now)
    assert (hit_of(hit).accepted, hit_of(hit).approved) == (0, 1)
    done.refresh_from_db()
    assert done.approved_at == done.approves_at
    assert ledger.account("owed", worker=done.worker).balance == 50
    clock.catch_up(now)
    assert ledger.is_balanced()


def test_expiry_never_kills_accepted_work():
    requester, now = make_requester(), timezone.now()
    hit = make_hit(requester, MaxAssignments=3)
    held = work.accept(make_worker(), hit, at=now)
    call(requester, "UpdateExpirationForHIT", at=now, HITId=hit, ExpireAt=now - timedelta(days=1))
    with pytest.raises(work.Refused, match="No assignment of this HIT is left"):
        work.accept(make_worker("late"), hit, at=now)
    assert call(requester, "GetHIT", HITId=hit)["HIT"]["HITStatus"] == "Unassignable"
    work.submit(held.worker, held.assignment_id, {"x": "1"}, at=now + timedelta(seconds=60))
    assert call(requester, "GetHIT", HITId=hit)["HIT"]["HITStatus"] == "Reviewable"


def test_auto_approval_at_once_pays_with_the_next_look():
    requester = make_requester()
    hit = make_hit(requester, AutoApprovalDelayInSeconds=0)
    done = do(make_worker(), hit)
    clock.catch_up(timezone.now())
    done.refresh_from_db()
    assert done.state == "Approved"


# --- Questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE a [<!ENTITY b "bb">]>' + EXTERNAL.split("\n", 1)[1].replace("item=7", "&b;"),
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaa"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>',
    ],
)
def test_entities_and_bombs_are_never_read(xml):
    with pytest.raises(WireError, match="error parsing the XML"):
        read(xml)


def test_the_frames_address_keeps_what_the_task_asks_and_names_nobody_in_a_preview():
    url = task_url(
        "https://e.org/t?a=1#top", assignment_id="3A", hit_id="3H", worker_id="AW", submit_to="https://m.org"
    )
    assert url == "https://e.org/t?a=1&assignmentId=3A&hitId=3H&workerId=AW&turkSubmitTo=https%3A%2F%2Fm.org#top"
    preview = task_url(
        "https://e.org/t", assignment_id="ASSIGNMENT_ID_NOT_AVAILABLE", hit_id="3H", worker_id="AW", submit_to="x"
    )
    assert preview == "https://e.org/t?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3H"
    assert read(HTML).kind == "html"


# --- Qualifications -------------------------------------------------------------------------------


def need(type_id, comparator, *values, **more):
    return {
        "QualificationTypeId": type_id,
        "Comparator": comparator,
        **({"IntegerValues": list(values)} if values else {}),
        **more,
    }


CALIFORNIA = {"Country": "US", "Subdivision": "CA"}


@pytest.mark.parametrize(
    ("needed", "is_met"),
    [
        (need(requirements.PERCENT_APPROVED, "GreaterThanOrEqualTo", 98), True),  # 100 until a hundred were submitted
        (need(requirements.NUMBER_APPROVED, "GreaterThan", 4), True),
        (need(requirements.NUMBER_APPROVED, "LessThan", 5), False),
        (need(requirements.NUMBER_APPROVED, "In", 4, 5, 6), True),
        (need(requirements.NUMBER_APPROVED, "NotIn", 4, 5, 6), False),
        (need(requirements.ADULT, "EqualTo", 1), True),
        (need(requirements.MASTERS[0], "Exists"), False),
        (need(requirements.MASTERS[0], "DoesNotExist"), True),
        (need(requirements.LOCALE, "EqualTo", LocaleValues=[{"Country": "US"}]), True),
        (need(requirements.LOCALE, "EqualTo", LocaleValues=[{"Country": "US", "Subdivision": "NY"}]), False),
        (
            need(requirements.LOCALE, "In", LocaleValues=[{"Country": "DE"}, {"Country": "US", "Subdivision": "CA"}]),
            True,
        ),
        (need(requirements.LOCALE, "NotIn", LocaleValues=[{"Country": "DE"}]), True),
    ],
)
def test_the_systems_own_qualifications(needed, is_met):
    worker = make_worker(approved=5, rejected=1, submitted=6, is_adult=True, country="US", subdivision="CA")
    kept = requirements.read(make_requester(), [needed])
    judged = requirements.judge(worker, kept)
    assert requirements.allow(judged, "Accept") is is_met
    assert judged[0].words


def test_the_share_approved_counts_from_a_hundred_on():
    assert requirements.percent_approved(make_worker("a", submitted=99, approved=1, rejected=98)) == 100
    assert requirements.percent_approved(make_worker("b", submitted=100, approved=90, rejected=10)) == 90


@pytest.mark.parametrize("path", ["/marketplace/", "/marketplace/api/worker/hits/"])
def test_a_list_costs_the_same_queries_however_long(client, path):
    worker = make_worker()
    header = {"HTTP_AUTHORIZATION": f"Token {work.token_of(worker)}"}
    client.get(f"/marketplace/enter/{work.token_of(worker)}/")

    def listing(types):
        for n in range(types):
            requester = make_requester(f"lab {types} {n}")
            make_hit(requester, QualificationRequirements=[need(requirements.ADULT, "EqualTo", 1)])
        client.get(path, **header)
        with CaptureQueriesContext(connection) as found:
            assert client.get(path, **header).status_code == 200
        return len(found)

    assert listing(1) == listing(8)


def test_a_task_of_this_server_has_an_address_too(client):
    hit, worker = make_hit(make_requester(), Question=HTML), make_worker()
    held = Http(client, worker).post(f"hits/{hit}/accept/").json()
    address, _, query = held["task_url"].partition("?")
    assert address.startswith(f"{settings.SITE_URL}/marketplace/frames/{hit}/")
    assert dict(parse_qsl(query)) == {
        "assignmentId": held["assignment_id"],
        "hitId": hit,
        "workerId": worker.worker_id,
        "turkSubmitTo": f"{settings.SITE_URL}/marketplace",
    }
    assert "What is it?" in client.get(held["task_url"].removeprefix(settings.SITE_URL)).content.decode()


def test_a_task_of_this_server_opens_by_its_address_alone_and_in_time(client, settings):
    """Who knows the HIT's id from a list may be kept from seeing it."""
    lab = make_requester()
    kind = QualificationType.objects.create(requester=lab, name="Q", description="D", created_at=timezone.now())
    guard = need(kind.qualification_type_id, "Exists", ActionsGuarded="PreviewAndAccept")
    hit = make_hit(lab, Question=HTML, QualificationRequirements=[guard])
    other, worker = make_hit(lab, Question=HTML), make_worker()
    assert hit in [row["hit_id"] for row in Http(client, worker).get("hits/").json()["hits"]]
    address = Http(client, worker).post(f"hits/{other}/accept/").json()["task_url"].removeprefix(settings.SITE_URL)
    *_, key, query = address.split("/")
    assert client.get(address).status_code == 200
    for path in (f"{hit}/", f"{hit}/{key}/", f"{hit}/9{key}/", f"{hit}/9999999999/", f"{other}/9{key}/"):
        assert client.get(f"/marketplace/frames/{path}{query}").status_code == 404, path
    settings.MARKETPLACE_FAULTS = json.dumps({"clock_shift": 601})
    late = client.get(address)
    assert (late.status_code, "open for too long" in late.content.decode()) == (404, True)
    assert late.headers["Content-Security-Policy"].count("frame-ancestors 'self'") == 1


def test_what_was_earned_is_what_the_ledger_says(client):
    """Also where the HIT is moved to a type of another reward, once it was paid."""
    requester, worker = make_requester(), make_worker()
    hit = make_hit(requester)
    done = do(worker, hit)
    call(requester, "ApproveAssignment", AssignmentId=done.assignment_id)
    shared = {k: v for k, v in USUAL.items() if k not in ("LifetimeInSeconds", "MaxAssignments", "Question")}
    other = call(requester, "CreateHITType", **{**shared, "Reward": "0.01"})["HITTypeId"]
    call(requester, "UpdateHITTypeOfHIT", HITId=hit, HITTypeId=other)
    client.get(f"/marketplace/enter/{work.token_of(worker)}/")
    page = client.get("/marketplace/dashboard/").content.decode()
    assert '<dt>Earned</dt><dd class="number">$0.50</dd>' in page


def test_a_custom_qualification_guards_accepting_finding_and_seeing(client):
    requester, worker = make_requester(), make_worker()
    kind = QualificationType.objects.create(requester=requester, name="Q", description="D", created_at=timezone.now())
    wanted = kind.qualification_type_id
    open_hit = make_hit(requester, QualificationRequirements=[need(wanted, "GreaterThan", 5)])
    hidden = make_hit(
        requester, QualificationRequirements=[need(wanted, "Exists", ActionsGuarded="DiscoverPreviewAndAccept")]
    )
    http = Http(client, worker)
    assert [(h["hit_id"], h["qualified"]) for h in http.get("hits/").json()["hits"]] == [(open_hit, False)]
    assert http.post(f"hits/{open_hit}/accept/").status_code == 403
    Grant.objects.create(qualification_type=kind, worker=worker, value=6, at=timezone.now())
    assert {h["hit_id"] for h in http.get("hits/").json()["hits"]} == {open_hit, hidden}
    assert http.post(f"hits/{open_hit}/accept/").status_code == 200


@pytest.mark.parametrize(
    "needed",
    [
        need(requirements.ADULT, "Exists", 1),
        need(requirements.ADULT, "EqualTo"),
        need(requirements.ADULT, "EqualTo", 1, 2),
        need(requirements.ADULT, "In", *range(16)),
        need(requirements.LOCALE, "LessThan", LocaleValues=[{"Country": "US"}]),
        need(requirements.LOCALE, "In", LocaleValues=[{"Country": "US"}] * 31),
        need("3NONE", "Exists"),
        need(requirements.ADULT, "Exists", RequiredToPreview=True, ActionsGuarded="Accept"),
    ],
)
def test_a_requirement_that_makes_no_sense_is_refused(needed):
    with pytest.raises(WireError):
        requirements.read(make_requester(), [needed])
    with pytest.raises(WireError, match="at most 10"):
        requirements.read(make_requester("b"), [need(requirements.ADULT, "Exists")] * 11)


KEY = """<AnswerKey xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/AnswerKey.xsd">
<Question><QuestionIdentifier>q1</QuestionIdentifier>
<AnswerOption><SelectionIdentifier>a</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption></Question>
<Question><QuestionIdentifier>q2</QuestionIdentifier>
<AnswerOption><SelectionIdentifier>x</SelectionIdentifier><SelectionIdentifier>y</SelectionIdentifier>
<AnswerScore>5</AnswerScore></AnswerOption><DefaultScore>1</DefaultScore></Question>{mapping}</AnswerKey>"""
PERCENT = (
    "<QualificationValueMapping><PercentageMapping><MaximumSummedScore>10</MaximumSummedScore></PercentageMapping>"
)
PERCENT += "</QualificationValueMapping>"
RANGE = """<QualificationValueMapping><RangeMapping><SummedScoreRange><InclusiveLowerBound>6</InclusiveLowerBound>
<InclusiveUpperBound>10</InclusiveUpperBound><QualificationValue>100</QualificationValue></SummedScoreRange>
<OutOfRangeQualificationValue>7</OutOfRangeQualificationValue></RangeMapping></QualificationValueMapping>"""


@pytest.mark.parametrize(
    ("mapping", "answers", "value"),
    [
        ("", {"q1": ["a"], "q2": ["y", "x"]}, 10),
        ("", {"q1": ["b"], "q2": ["x"]}, 1),
        ("", {}, 1),
        (PERCENT, {"q1": ["a"], "q2": ["x"]}, 60),
        (RANGE, {"q1": ["a"], "q2": ["x"]}, 100),
        (RANGE, {}, 7),
    ],
)
def test_a_test_is_scored_by_its_key(mapping, answers, value):
    assert read_key(KEY.replace("{mapping}", mapping)).value(answers) == value


def test_what_is_no_key_is_refused():
    for xml in ("<a", "<a/>", KEY.replace("{mapping}", "").replace(">5<", ">five<")):
        with pytest.raises(WireError):
            read_key(xml)


def test_addresses_are_named():
    assert reverse("marketplace:api") == "/marketplace/api/"
    assert HIT.objects.count() == 0
