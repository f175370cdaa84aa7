"""The worker site's pages: what is found, guarded, held, earned, and what comes next."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from marketplace import ledger, work
from marketplace.models import HIT, Assignment
from tests.marketplace.market import do, make_requester, make_worker
from tests.marketplace.test_work import call, make_hit, need

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
SITE = "/marketplace/"


@pytest.fixture
def lab():
    return make_requester()


@pytest.fixture
def worker(client):
    made = make_worker()
    client.get(f"{SITE}enter/{work.token_of(made)}/")
    return made


def type_of(hit):
    return HIT.objects.get(hit_id=hit).hit_type.type_id


def titles(client, **query):
    return re.findall(r"<h2><a [^>]*>([^<]*)</a>", client.get(SITE, query).content.decode())


def test_groups_are_sorted_and_searched(client, lab, worker):
    for title, reward, places in (("First", "0.10", 9), ("Second", "0.90", 1), ("Third", "0.50", 5)):
        make_hit(lab, Title=title, Reward=reward, MaxAssignments=places, Keywords=f"key{title}")
    make_hit(lab, Title="First", Reward="0.10", MaxAssignments=2, Keywords="keyFirst")
    assert titles(client, sort="reward") == ["Second", "Third", "First"]
    assert titles(client, sort="most") == ["First", "Third", "Second"]
    assert titles(client, sort="newest") == titles(client, sort="x") == ["First", "Third", "Second"]
    assert titles(client, q="KEYthird") == ["Third"]
    assert len(titles(client, q="lab")) == 3
    shown = client.get(SITE, {"q": "keyFirst"}).content.decode()
    assert '<span class="number">11</span> left' in shown


GUARDED = {
    # listed, preview page, its frame, accepting
    "Accept": (True, 200, True, 403),
    "PreviewAndAccept": (True, 200, False, 403),
    "DiscoverPreviewAndAccept": (False, 404, False, 403),
}


@pytest.mark.parametrize("guards", GUARDED)
def test_a_requirement_guards_accepting_seeing_and_finding(client, lab, worker, guards):
    hit = make_hit(lab, QualificationRequirements=[need("00000000000000000060", "EqualTo", 1, ActionsGuarded=guards)])
    group, api = f"{SITE}groups/{type_of(hit)}/", f"{SITE}api/worker/hits/"
    header = {"HTTP_AUTHORIZATION": f"Token {work.token_of(worker)}"}

    def found():
        page, listed = client.get(group), client.get(api, **header).json()["hits"]
        assert bool(listed) == bool(titles(client))
        accepted = client.post(f"{api}{hit}/accept/", **header).status_code
        return bool(listed), page.status_code, "<iframe" in page.content.decode(), accepted

    assert found() == GUARDED[guards]
    assert client.post(f"{group}accept/").status_code == 403
    worker.is_adult = True
    worker.save()
    assert found() == (True, 200, True, 200)


def test_what_a_worker_lacks_is_said_with_the_way_to_it(client, lab, worker):
    made = {"Name": "Reads well", "Description": "D", "QualificationTypeStatus": "Active"}
    kind = call(lab, "CreateQualificationType", **made, AutoGranted=True, AutoGrantedValue=7)["QualificationType"]
    wanted = kind["QualificationTypeId"]
    make_hit(
        lab, QualificationRequirements=[need(wanted, "GreaterThan", 5), need("00000000000000000040", "LessThan", 9)]
    )
    page = client.get(SITE).content.decode()
    assert re.findall(r'<li class="(met|unmet)">', page) == ["unmet", "met"]
    assert "Reads well more than 5" in page
    assert f'href="{SITE}qualifications/{wanted}/">How to get it' in page
    client.post(f"{SITE}qualifications/{wanted}/")
    assert re.findall(r'<li class="(met|unmet)">', client.get(SITE).content.decode()) == ["met", "met"]


def test_the_dashboard_says_what_was_earned_an_hour_and_why_work_was_rejected(client, lab, worker):
    now = timezone.now()
    hits = [make_hit(lab, Reward="3.00", Title=f"Work {n}") for n in range(4)]
    done = [do(worker, hit) for hit in hits[:3]]
    Assignment.objects.update(accepted_at=now - timedelta(minutes=30), submitted_at=now)
    call(lab, "ApproveAssignment", AssignmentId=done[0].assignment_id, RequesterFeedback="Well done.")
    call(lab, "RejectAssignment", AssignmentId=done[1].assignment_id, RequesterFeedback="Not read at all.")
    bonus = {"WorkerId": worker.worker_id, "AssignmentId": done[0].assignment_id, "BonusAmount": "0.25"}
    call(lab, "SendBonus", **bonus, Reason="Fast.")
    held = work.accept(worker, hits[3], at=now)
    ledger.pay_out(worker, 1_00, "test", at=now)
    page = client.get(f"{SITE}dashboard/").content.decode()
    assert dict(re.findall(r'<dt>([^<]*)</dt><dd class="number">([^<]*)</dd>', page)) == {
        "Earned": "$3.25",
        "Owed to you": "$2.25",
        "An hour brought": "$6.00",
        "Approved": "1",
        "Rejected": "1",
        "Waiting for review": "1",
    }
    for said in ("approved: “Well done.”", "rejected: “Not read at all.”", "$0.25</strong> for “Work 0”: Fast."):
        assert said in page
    assert f'<a href="{SITE}tasks/{held.assignment_id}/">Work 3</a>, until {held.deadline:%H:%M}' in page
    assert "You hold 1 HIT" in client.get(SITE).content.decode()


def test_a_task_counts_its_time_down_and_ends_where_it_is_done(client, lab, worker):
    held = work.accept(worker, make_hit(lab), at=timezone.now() - timedelta(seconds=560))
    page = client.get(f"{SITE}tasks/{held.assignment_id}/").content.decode()
    left = int(re.search(r'data-seconds="(\d+)"', page)[1])
    assert 30 <= left <= 40
    assert 'role="status" data-warning hidden' in page
    state = f"{SITE}tasks/{held.assignment_id}/state/"
    assert client.get(state).status_code == 204
    work.submit(worker, held.assignment_id, {"x": "1"}, at=timezone.now())
    assert client.get(state).headers["HX-Redirect"] == f"{SITE}tasks/{held.assignment_id}/done/"
    assert client.get(f"{SITE}tasks/{held.assignment_id}/").url == f"{SITE}tasks/{held.assignment_id}/done/"


def test_the_next_one_is_accepted_by_itself_only_where_that_is_wanted_and_allowed(client, lab, worker):
    first, second, _third = (make_hit(lab, MaxAssignments=1) for _ in range(3))
    done = do(worker, first)
    assert client.get(f"{SITE}tasks/{done.assignment_id}/done/").status_code == 200  # not wanted
    worker.takes_next = True
    worker.save()
    following = client.get(f"{SITE}tasks/{done.assignment_id}/done/")
    held = Assignment.objects.get(state="Accepted")
    assert (following.url, held.hit.hit_id) == (f"{SITE}tasks/{held.assignment_id}/", second)
    work.submit(worker, held.assignment_id, {"x": "1"}, at=timezone.now())
    call(lab, "CreateWorkerBlock", WorkerId=worker.worker_id, Reason="Spam.")
    assert client.get(f"{SITE}tasks/{held.assignment_id}/done/").status_code == 200
    assert not Assignment.objects.filter(state="Accepted").exists()


def test_pages_let_time_pass_by_themselves(client, lab, worker):
    """No job ran: whoever looks at any page sees deadlines kept and work approved."""
    now = timezone.now()
    ripe = do(worker, make_hit(lab), at=now - timedelta(seconds=3700))
    late = work.accept(worker, make_hit(lab, Title="Late"), at=now - timedelta(seconds=700))
    page = client.get(f"{SITE}dashboard/").content.decode()
    assert '<dt>Approved</dt><dd class="number">1</dd>' in page
    assert "In your hands" not in page
    assert client.get(f"{SITE}tasks/{late.assignment_id}/").status_code == 404
    ripe.refresh_from_db()
    assert ripe.approved_at == ripe.approves_at


def test_nobody_opens_somebody_elses_task(client, lab, worker):
    held = work.accept(make_worker("other"), make_hit(lab), at=timezone.now())
    task = f"{SITE}tasks/{held.assignment_id}/"
    assert client.get(task).status_code == 404
    assert client.post(f"{task}return/").status_code == 404
    assert client.get(f"{task}state/").headers["HX-Redirect"] == f"{task}done/"
    assert "not yours any more" in client.get(f"{task}done/").content.decode()
    held.refresh_from_db()
    assert held.state == "Accepted"
