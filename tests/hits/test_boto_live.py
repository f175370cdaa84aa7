"""The boto3 adapter against the marketplace itself, over HTTP: on good days, and with faults switched on."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.utils import timezone

from hits.boto import BotoClient
from hits.client import (
    AlreadyDone,
    BadAccount,
    InsufficientFunds,
    MTurkError,
    MTurkRefused,
    MTurkUnavailable,
    NewHit,
    NotThere,
    RemoteAssignment,
    RemoteBonus,
    Status,
    Throttled,
    WrongState,
)
from marketplace import signing, work
from marketplace.models import HIT, Assignment, Bonus, Call, Grant, QualificationType
from tests.marketplace import market
from tests.marketplace.market import do, hit_of, make_requester, make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

CENTS_50 = Decimal("0.50")
NEW = {
    "token": "t1",
    "annotation": "unit 7",
    "title": "Read a sentence",
    "description": "Say how likely it is.",
    "keywords": "reading",
    "reward": CENTS_50,
    "seats": 2,
    "duration_seconds": 600,
    "lifetime_seconds": 3600,
    "auto_approval_seconds": 3600,
    "url": "https://example.org/task?unit=7&lang=en",
}
NOBODY = "3" + "X" * 29


@pytest.fixture(autouse=True)
def _closed_clients():
    """A kept connection holds a thread of the live server, and that a session of the database."""
    yield
    market.close_all()


@pytest.fixture
def lab():
    return make_requester()


@pytest.fixture
def calls():
    return []


@pytest.fixture
def client_of(live_server, calls):
    def made(requester, secret="", **more):
        secret = secret or signing.secret_of(requester)
        site = f"{live_server.url}/marketplace/api/"
        client = BotoClient(site, requester.access_key, secret, "us-east-1", record=calls.append, **more)
        market.OPEN.append(client)
        return client

    return made


@pytest.fixture
def mturk(client_of, lab):
    return client_of(lab)


def new(**changes):
    return NewHit(**{**NEW, **changes})


def caught(call):
    with pytest.raises(MTurkError) as found:
        call()
    return found.value


# --- Good days ------------------------------------------------------------------------------------
def test_a_hit_from_its_publication_to_its_end(mturk, calls):
    assert mturk.balance() == Decimal("100.00")
    made = mturk.create_hit(new(requirements=[{"QualificationTypeId": "0" * 18 + "40", "Comparator": "Exists"}]))
    assert mturk.balance() == Decimal("99.00")
    stored = hit_of(made.hit_id)
    assert "<ExternalURL>https://example.org/task?unit=7&amp;lang=en</ExternalURL>" in stored.question
    assert stored.hit_type.requirements[0]["QualificationTypeId"] == "0" * 18 + "40"
    assert (made.annotation, made.status, made.seats, made.reward) == ("unit 7", "Assignable", 2, CENTS_50)
    assert made.expires_at == datetime.fromtimestamp(stored.expires_at.timestamp(), UTC)
    assert [mturk.get_hit(made.hit_id), *mturk.hits()] == [made, made]

    mturk.add_seats(made.hit_id, 3, token="more")
    end = datetime(2030, 1, 1, 12, tzinfo=UTC)
    mturk.set_expiry(made.hit_id, end)
    assert (mturk.get_hit(made.hit_id).seats, mturk.get_hit(made.hit_id).expires_at) == (5, end)
    mturk.set_expiry(made.hit_id, timezone.now() - timedelta(days=1))
    mturk.delete_hit(made.hit_id)
    mturk.delete_hit(made.hit_id)
    assert mturk.get_hit(made.hit_id).status == "Disposed"
    assert list(mturk.hits()) == []
    assert mturk.balance() == Decimal("100.00")
    by_operation = {call.operation: call for call in calls}
    assert [by_operation[name].outcome for name in ("CreateHIT", "ListHITs", "GetHIT")] == ["ok"] * 3
    assert all(len(call.request_id) == 32 for call in calls)


def test_work_is_read_and_paid(mturk):
    hit = mturk.create_hit(new())
    wanda, will = make_worker("wanda"), make_worker("will")
    held = work.accept(wanda, hit.hit_id, at=timezone.now())
    assert type(caught(lambda: mturk.get_assignment(held.assignment_id))) is NotThere
    done = work.submit(wanda, held.assignment_id, {"code": "7F & 3K", "note": "a < b"}, at=timezone.now())
    other = do(will, hit.hit_id)

    read = mturk.get_assignment(done.assignment_id)
    assert read == RemoteAssignment(
        assignment_id=done.assignment_id,
        hit_id=hit.hit_id,
        worker_id=wanda.worker_id,
        status=Status.SUBMITTED,
        accepted_at=seen(done.accepted_at),
        submitted_at=seen(done.submitted_at),
        approves_at=seen(done.approves_at),
        answer={"code": "7F & 3K", "note": "a < b"},
    )
    assert [each.worker_id for each in mturk.assignments_of(hit.hit_id)] == [wanda.worker_id, will.worker_id]

    mturk.approve(done.assignment_id, "Thank you.")
    mturk.reject(other.assignment_id, "")
    assert [each.status for each in mturk.assignments_of(hit.hit_id)] == [Status.APPROVED, Status.REJECTED]
    assert type(caught(lambda: mturk.approve(done.assignment_id))) is WrongState
    assert type(caught(lambda: mturk.reject(done.assignment_id, ""))) is WrongState
    mturk.approve(other.assignment_id, override=True)
    assert mturk.get_assignment(other.assignment_id).status is Status.APPROVED

    mturk.bonus(wanda.worker_id, done.assignment_id, Decimal("1.2"), "thanks, ref 7F3K", token="b1")
    paid = RemoteBonus(wanda.worker_id, done.assignment_id, Decimal("1.20"), "thanks, ref 7F3K")
    assert list(mturk.bonuses_of(done.assignment_id)) == [paid]
    assert mturk.balance() == Decimal("97.80")


def seen(at):
    """As it comes through seconds with a fraction."""
    return datetime.fromtimestamp(round(at.timestamp(), 6), UTC)


def test_qualifications_and_letters(mturk):
    seen_it = mturk.create_qualification("seen", "Has seen it.")
    before = mturk.create_qualification("seen before", "Has seen it before.")
    assert [mturk.find_qualification(name) for name in ("seen", "seen before", "SEEN")] == [seen_it, before, ""]
    again = caught(lambda: mturk.create_qualification("seen", "Again."))
    assert (type(again), again.remote_id) == (AlreadyDone, "")

    wanda, will = make_worker("wanda", email="wanda@example.org"), make_worker("will")
    mturk.grant(seen_it, wanda.worker_id, 80)
    mturk.grant(seen_it, wanda.worker_id, 90)
    mturk.grant(seen_it, will.worker_id, 0)
    assert list(mturk.holders(seen_it)) == [(wanda.worker_id, 90), (will.worker_id, 0)]
    assert mail.outbox == []
    mturk.revoke(seen_it, will.worker_id, "gold")
    assert list(mturk.holders(seen_it)) == [(wanda.worker_id, 90)]
    assert type(caught(lambda: mturk.revoke(seen_it, will.worker_id, "gold"))) is WrongState
    assert type(caught(lambda: mturk.revoke(before, will.worker_id, "gold"))) is NotThere

    hit = mturk.create_hit(new())
    mturk.approve(do(wanda, hit.hit_id).assignment_id)
    failed = mturk.notify([wanda.worker_id, will.worker_id], "News", "There is more.")
    assert failed == [(will.worker_id, "You have reviewed no work of this worker.")]
    assert [letter.to for letter in mail.outbox] == [["wanda@example.org"]]


def test_lists_longer_than_a_page_are_read_to_the_end(mturk, lab, calls):
    made = mturk.create_hit(new())
    one = hit_of(made.hit_id)
    HIT.objects.bulk_create(
        HIT(
            requester=lab,
            hit_type=one.hit_type,
            question=one.question,
            max_assignments=1,
            made_for=1,
            hold=0,
            created_at=one.created_at,
            expires_at=one.expires_at,
        )
        for _ in range(120)
    )
    calls.clear()
    assert len({hit.hit_id for hit in mturk.hits()}) == 121
    assert [call.operation for call in calls] == ["ListHITs"] * 3  # 100, 21, and the empty page


# --- Refusals -------------------------------------------------------------------------------------
def test_a_used_token_is_told_from_every_other_refusal(mturk):
    made = mturk.create_hit(new())
    again = caught(lambda: mturk.create_hit(new()))
    assert (type(again), again.remote_id) == (AlreadyDone, made.hit_id)
    done = do(make_worker(), made.hit_id)
    end = datetime(2030, 1, 1, tzinfo=UTC)

    def add():
        mturk.add_seats(made.hit_id, 1, token="more")

    def pay():
        mturk.bonus(done.worker.worker_id, done.assignment_id, CENTS_50, "thanks", token="b")

    def extend():
        mturk.set_expiry(made.hit_id, end)

    for once in (add, pay, extend):
        once()
        assert type(caught(once)) is AlreadyDone
    assert (hit_of(made.hit_id).max_assignments, Bonus.objects.count()) == (3, 1)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda m: m.create_hit(new(reward=Decimal("80.00"))), InsufficientFunds),
        (lambda m: m.get_hit(NOBODY), NotThere),
        (lambda m: m.delete_hit(NOBODY), NotThere),
        (lambda m: m.get_assignment(NOBODY), NotThere),
        (lambda m: list(m.assignments_of(NOBODY)), NotThere),
        (lambda m: list(m.bonuses_of(NOBODY)), NotThere),
        (lambda m: list(m.holders(NOBODY)), NotThere),
        (lambda m: m.grant(NOBODY, "AX", 1), NotThere),
        (lambda m: m.create_hit(new(url="http://example.org/")), MTurkRefused),
        (lambda m: m.create_hit(new(reward=Decimal("-1"))), MTurkRefused),
        (lambda m: m.create_hit(new(lifetime_seconds=1)), MTurkRefused),
        (lambda m: m.create_hit(new(token="")), MTurkRefused),
        (lambda m: m.get_hit("lower case"), MTurkRefused),
        (lambda m: m.notify(["A"] * 101, "News", "More."), MTurkRefused),
    ],
)
def test_each_refusal_is_of_its_kind(mturk, call, expected):
    assert type(caught(lambda: call(mturk))) is expected
    assert HIT.objects.count() == 0


def test_work_under_way_keeps_a_hit_from_being_deleted(mturk):
    made = mturk.create_hit(new())
    assert type(caught(lambda: mturk.delete_hit(made.hit_id))) is WrongState
    assert hit_of(made.hit_id).disposed_at is None


def test_a_wrong_secret_and_an_unknown_key_are_told_apart(client_of, lab):
    wrong = caught(client_of(lab, secret="x" * 40).balance)
    lab.access_key = "AKIA" + "Z" * 16
    unknown = caught(client_of(lab).balance)
    assert [type(wrong), type(unknown)] == [BadAccount, BadAccount]
    assert "secret key" in wrong.sentence
    assert "access key" in unknown.sentence


# --- Bad days -------------------------------------------------------------------------------------
def always(kind, operation, **more):
    return json.dumps({"operations": {operation: {kind: 1}}, **more})


@pytest.mark.parametrize(
    ("kind", "outcome", "hits"),
    [
        ("throttle", "throttled", 0),
        ("error500_before", "unknown", 0),
        ("error500_after", "unknown", 1),
        ("lost_before", "unknown", 0),
        ("lost_after", "unknown", 1),
        ("cut", "unknown", 1),
        ("hang_before", "unknown", 0),
        ("hang_after", "unknown", 1),
    ],
)
def test_a_fault_leaves_open_what_it_must_and_is_never_repeated(client_of, lab, settings, calls, kind, outcome, hits):
    mturk = client_of(lab, read_timeout=0.3 if "hang" in kind else 20)
    settings.MARKETPLACE_FAULTS = always(kind, "CreateHIT", hang_seconds=0.8)
    error = caught(lambda: mturk.create_hit(new()))
    assert type(error) is (Throttled if outcome == "throttled" else MTurkUnavailable)
    assert error.may_have_happened == (outcome == "unknown")
    del error  # its traceback has the answer, and that the connection
    assert [(call.operation, call.outcome) for call in calls] == [("CreateHIT", outcome)]
    market.close_all()  # and with it whatever the server still had to do
    assert HIT.objects.count() == hits
    settings.MARKETPLACE_FAULTS = ""
    mturk = client_of(lab)
    if hits:
        assert caught(lambda: mturk.create_hit(new())).remote_id == HIT.objects.get().hit_id
    else:
        mturk.create_hit(new())
    assert HIT.objects.count() == 1


@pytest.fixture
def scene(mturk):
    """A HIT with one submitted assignment and one place left; a qualification that its worker holds."""
    hit, worker = mturk.create_hit(new()), make_worker("wanda", email="wanda@example.org")
    done, kind = do(worker, hit.hit_id), mturk.create_qualification("seen", "Has seen it.")
    Grant.objects.create(qualification_type=QualificationType.objects.get(), worker=worker, value=1, at=timezone.now())
    return hit.hit_id, done.assignment_id, worker.worker_id, kind


CHANGES = {
    "CreateAdditionalAssignmentsForHIT": lambda m, hit, work, worker, kind: m.add_seats(hit, 1, token="t"),
    "UpdateExpirationForHIT": lambda m, hit, work, worker, kind: m.set_expiry(hit, datetime(2030, 1, 1, tzinfo=UTC)),
    "ApproveAssignment": lambda m, hit, work, worker, kind: m.approve(work),
    "RejectAssignment": lambda m, hit, work, worker, kind: m.reject(work, ""),
    "SendBonus": lambda m, hit, work, worker, kind: m.bonus(worker, work, CENTS_50, "thanks", token="t"),
    "CreateQualificationType": lambda m, hit, work, worker, kind: m.create_qualification("other", "Another."),
    "AssociateQualificationWithWorker": lambda m, hit, work, worker, kind: m.grant(kind, worker, 5),
    "DisassociateQualificationFromWorker": lambda m, hit, work, worker, kind: m.revoke(kind, worker, "gold"),
    "NotifyWorkers": lambda m, hit, work, worker, kind: m.notify([worker], "News", "There is more."),
}


@pytest.mark.parametrize("kind", ["lost_after", "cut"])
@pytest.mark.parametrize("operation", CHANGES)
def test_every_change_whose_answer_is_lost_or_cut_is_left_open(mturk, scene, settings, operation, kind):
    settings.MARKETPLACE_FAULTS = always(kind, operation)
    error = caught(lambda: CHANGES[operation](mturk, *scene))
    assert (type(error), error.may_have_happened) == (MTurkUnavailable, True)
    assert Call.objects.filter(operation=operation, outcome="ok", fault=kind).count() == 1


def test_a_deletion_whose_answer_is_lost_can_be_done_again(mturk, settings):
    made = mturk.create_hit(new())
    mturk.set_expiry(made.hit_id, timezone.now() - timedelta(days=1))
    settings.MARKETPLACE_FAULTS = always("lost_after", "DeleteHIT")
    assert caught(lambda: mturk.delete_hit(made.hit_id)).may_have_happened
    settings.MARKETPLACE_FAULTS = ""
    mturk.delete_hit(made.hit_id)
    assert hit_of(made.hit_id).disposed_at


@pytest.mark.parametrize("kind", ["lost_after", "cut"])
def test_a_list_whose_page_is_lost_ends_in_an_error_and_not_early(mturk, settings, kind):
    made = mturk.create_hit(new())
    pages = mturk.hits()
    assert next(pages) == made
    settings.MARKETPLACE_FAULTS = always(kind, "ListHITs")
    assert type(caught(lambda: list(pages))) is MTurkUnavailable


def test_what_reads_do_not_show_yet_is_not_there(mturk, settings):
    settings.MARKETPLACE_FAULTS = json.dumps({"lag_seconds": 60})
    made = mturk.create_hit(new())
    assert type(caught(lambda: mturk.get_hit(made.hit_id))) is NotThere
    assert list(mturk.hits()) == []


def test_many_threads_share_one_client(client_of, lab, calls):
    mturk = client_of(lab, connections=4)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: mturk.create_hit(new(token=f"t{n}", annotation=f"unit {n}")), range(12)))
    assert [hit.annotation for hit in made] == [f"unit {n}" for n in range(12)]
    assert (HIT.objects.count(), Assignment.objects.count()) == (12, 0)
    assert [call.outcome for call in calls] == ["ok"] * 12
