"""The worker site in Chromium: at 127.0.0.1, with the task at localhost, another site, whose cookies are blocked."""

import re
import threading
from dataclasses import dataclass
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from marketplace import ledger, signing, work
from marketplace.models import Assignment, QualificationType, Requester, Worker
from tests.marketplace.market import HTML, USUAL, client_of, make_requester, make_worker

pytestmark = pytest.mark.django_db(transaction=True)
PHONE, DESK = {"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 1280, "height": 800}}
PAGE = """<!doctype html><html lang="en"><title>Task</title><body><h1>How likely is it?</h1>
<p id="who">{assignmentId} {workerId}</p><form method="post" action="{turkSubmitTo}/mturk/externalSubmit">
<input type="hidden" name="assignmentId" value="{assignmentId}"><label>Answer <input name="answer"></label>
<button>Submit</button></form></body></html>"""


@dataclass(frozen=True)
class TaskServer:
    """cookies: what each request of a task brought, or None."""

    url: str
    cookies: list[str | None]


class Task(BaseHTTPRequestHandler):
    """A requester's own server, which wants to know people again by a cookie."""

    def do_GET(self):
        if self.path.startswith("/task"):
            self.server.cookies.append(self.headers["Cookie"])
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        names = ("assignmentId", "workerId", "turkSubmitTo")
        page = PAGE.format(**{name: asked.get(name, "") for name in names})
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "tracked=yes; SameSite=None; Secure")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def task_server():
    """On localhost: another site than the worker site's 127.0.0.1."""
    server = ThreadingHTTPServer(("localhost", 0), Task)
    server.cookies = []
    threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    yield TaskServer(f"http://localhost:{server.server_port}/task", server.cookies)
    server.shutdown()
    server.server_close()


@pytest.fixture
def lab(worker_site):
    return client_of(worker_site, make_requester())


@pytest.fixture
def boss(django_user_model):
    """The password of the operator."""
    password = "correct horse staple"
    django_user_model.objects.create_superuser("boss", password=password)
    return password


def external(url):
    return USUAL["Question"].replace("https://example.org/task?item=7&amp;lang=en", url)


def enter(page, worker):
    page.goto(f"/marketplace/enter/{work.token_of(worker)}/")
    expect(page.get_by_role("heading", level=1, name="Find work")).to_be_visible()


def look(page, axe, screenshots, name):
    page.wait_for_load_state()
    axe(page)
    width = page.viewport_size["width"]
    page.screenshot(path=screenshots / f"market-{name}-{width}.png", full_page=True, caret="initial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_hit_made_with_boto3_is_done_in_the_browser_and_paid(
    new_worker_page, lab, task_server, axe, screenshots, size
):
    hit = lab.create_hit(**{**USUAL, "Question": external(task_server.url)})["HIT"]["HITId"]
    page, worker = new_worker_page(**size), make_worker()
    enter(page, worker)
    assert "/enter/" not in page.url
    look(page, axe, screenshots, "groups")
    page.get_by_role("link", name="Read a sentence").click()
    frame = page.frame_locator(".task-frame")
    expect(frame.locator("#who")).to_have_text("ASSIGNMENT_ID_NOT_AVAILABLE")
    look(page, axe, screenshots, "preview")
    page.get_by_role("button", name="Accept and work").click()
    held = Assignment.objects.get()
    expect(frame.locator("#who")).to_have_text(f"{held.assignment_id} {worker.worker_id}")
    expect(page.get_by_text("10 min left")).to_be_visible()
    look(page, axe, screenshots, "task")
    frame.get_by_label("Answer").fill("very")
    frame.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Thank you. Your work is submitted")).to_be_visible()
    look(page, axe, screenshots, "done")
    done = lab.list_assignments_for_hit(HITId=hit)["Assignments"][0]
    assert "<FreeText>very</FreeText>" in done["Answer"]
    lab.approve_assignment(AssignmentId=done["AssignmentId"], RequesterFeedback="Well done.")
    given = {"WorkerId": worker.worker_id, "AssignmentId": done["AssignmentId"], "BonusAmount": "0.25"}
    lab.send_bonus(**given, Reason="Careful work.")
    page.get_by_role("link", name="My work").click()
    expect(page.get_by_text("$0.75").first).to_be_visible()
    expect(page.get_by_text("“Well done.”")).to_be_visible()
    look(page, axe, screenshots, "dashboard")
    assert ledger.is_balanced()


def test_a_tasks_cookie_does_not_come_back_within_the_frame(new_worker_page, lab, task_server):
    lab.create_hit(**{**USUAL, "Question": external(task_server.url)})
    page = new_worker_page(**DESK)
    for _ in range(2):
        page.goto(task_server.url)
    enter(page, make_worker())
    page.get_by_role("link", name="Read a sentence").click()
    frame = page.frame_locator(".task-frame")
    expect(frame.locator("#who")).to_have_text("ASSIGNMENT_ID_NOT_AVAILABLE")
    page.get_by_role("button", name="Accept and work").click()
    expect(frame.locator("#who")).not_to_have_text("ASSIGNMENT_ID_NOT_AVAILABLE")
    assert task_server.cookies == [None, "tracked=yes", None, None]  # twice as its own site, twice in the frame


EVIL = HTML.replace(
    "<p>What is it?</p>",
    """<form method="post" action="https://www.mturk.com/mturk/externalSubmit"><input type="hidden" name="assignmentId">
    <input type="hidden" name="stolen"><button>Submit</button></form>
    <script>
      const found = [];
      try { found.push(document.cookie); } catch (e) { found.push("no cookie"); }
      try { found.push(parent.document.title); } catch (e) { found.push("no parent"); }
      try { found.push(localStorage.length); } catch (e) { found.push("no storage"); }
      try { top.location = "https://evil.example/"; } catch (e) { found.push("no top"); }
      document.forms[0].assignmentId.value = new URLSearchParams(location.search).get("assignmentId");
      document.forms[0].stolen.value = found.join();
    </script>""",
)


def test_a_requesters_script_reaches_nothing_of_the_workers_session(browser, worker_site, lab):
    lab.create_hit(**{**USUAL, "Question": EVIL})
    with browser.new_context(base_url=worker_site) as context:  # the script's errors are wanted here
        page = context.new_page()
        enter(page, make_worker())
        page.get_by_role("button", name="Accept and work").click()
        frame = page.frame_locator(".task-frame")
        expect(frame.get_by_role("button", name="Submit")).to_be_visible()
        assert page.url.startswith(worker_site)
        frame.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("heading", name="Thank you. Your work is submitted")).to_be_visible()
    answer = Assignment.objects.get().answer
    assert "no cookie,no parent,no storage" in answer


TEST = """<QuestionForm xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd">
<Question><QuestionIdentifier>q1</QuestionIdentifier><DisplayName>Which is a fruit?</DisplayName>
<IsRequired>true</IsRequired><QuestionContent><Text>Choose one.</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><Selections>
<Selection><SelectionIdentifier>a</SelectionIdentifier><Text>Apple &amp; co</Text></Selection>
<Selection><SelectionIdentifier>b</SelectionIdentifier><Text>Bus</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question></QuestionForm>"""
KEY = """<AnswerKey xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/AnswerKey.xsd"><Question>
<QuestionIdentifier>q1</QuestionIdentifier><AnswerOption><SelectionIdentifier>a</SelectionIdentifier><AnswerScore>10</AnswerScore>
</AnswerOption></Question></AnswerKey>"""


def test_a_qualification_is_won_by_its_test_and_opens_the_work(new_worker_page, lab, axe, screenshots):
    made = lab.create_qualification_type(
        Name="Fruits",
        Description="Knows them.",
        QualificationTypeStatus="Active",
        Test=TEST,
        AnswerKey=KEY,
        TestDurationInSeconds=60,
    )
    wanted = made["QualificationType"]["QualificationTypeId"]
    needs = [{"QualificationTypeId": wanted, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [10]}]
    lab.create_hit(**{**USUAL, "Question": TEST, "QualificationRequirements": needs})
    page = new_worker_page(**PHONE)
    enter(page, make_worker())
    expect(page.get_by_role("button", name="Accept and work")).to_be_disabled()
    page.get_by_role("link", name="How to get it").click()
    look(page, axe, screenshots, "qualification")
    page.get_by_text("Apple & co").click()
    page.get_by_role("button", name="Hand in the test").click()
    expect(page.get_by_text("You have it, with the value 10.")).to_be_visible()
    page.get_by_role("link", name="Find work").first.click()
    page.get_by_role("button", name="Accept and work").click()
    frame = page.frame_locator(".task-frame")
    frame.get_by_role("radio", name="Bus").check()
    frame.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Thank you. Your work is submitted")).to_be_visible()
    assert "<SelectionIdentifier>b</SelectionIdentifier>" in Assignment.objects.get().answer
    assert QualificationType.objects.count() == 1


def test_returning_searching_and_taking_the_next_automatically(new_worker_page, lab, task_server, axe, screenshots):
    for _ in range(2):
        lab.create_hit(**{**USUAL, "Question": external(task_server.url), "MaxAssignments": 1})
    page, worker = new_worker_page(**DESK), make_worker()
    enter(page, worker)
    page.get_by_label("Search titles").fill("nothing like it")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.get_by_label("Search titles").fill("sentence")
    page.get_by_label("Search titles").press("Enter")
    page.get_by_role("button", name="Accept and work").click()
    page.get_by_role("button", name="Return this HIT").click()
    expect(page.get_by_role("heading", level=1, name="Find work")).to_be_visible()
    assert not Assignment.objects.filter(worker=worker).exists()
    page.get_by_role("link", name="Profile").click()
    look(page, axe, screenshots, "profile")
    page.get_by_text("Accept the next HIT automatically").click()
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("link", name="Find work").click()
    page.get_by_role("button", name="Accept and work").click()
    expect(page.get_by_text("10 min left")).to_be_visible()
    first = page.url
    page.frame_locator(".task-frame").get_by_label("Answer").fill("very")
    page.frame_locator(".task-frame").get_by_role("button", name="Submit").click()
    page.wait_for_url(lambda url: url != first and "/done/" not in url)
    expect(page.get_by_text("10 min left")).to_be_visible()
    assert Assignment.objects.filter(worker=worker).count() == 2


def test_the_last_minute_is_counted_in_seconds_with_a_warning(new_worker_page, lab):
    hit = lab.create_hit(**{**USUAL, "Question": HTML})["HIT"]["HITId"]
    page, worker = new_worker_page(**PHONE), make_worker()
    held = work.accept(worker, hit, at=timezone.now() - timedelta(seconds=538))
    enter(page, worker)
    page.goto(f"/marketplace/tasks/{held.assignment_id}/")
    warning = page.get_by_text("Less than a minute is left")
    expect(warning).to_be_hidden()
    expect(warning).to_be_visible()
    expect(page.get_by_text(re.compile(r"^5\d s left$"))).to_be_visible()


def test_a_link_that_was_withdrawn_and_nobody_at_all(new_worker_page):
    page, worker = new_worker_page(**PHONE), make_worker()
    token = work.token_of(worker)
    worker.token_serial += 1
    worker.save()
    assert page.goto(f"/marketplace/enter/{token}/").status == 404
    expect(page.get_by_text("This link does not work any more.")).to_be_visible()
    page.goto("/marketplace/")
    expect(page.get_by_role("heading", name="Work here")).to_be_visible()
    assert worker.created_at <= timezone.now()


def test_an_operator_takes_a_requester_in_and_pays_the_workers(new_worker_page, axe, screenshots, boss):
    page, worker = new_worker_page(**PHONE), make_worker()
    page.goto("/accounts/login/?next=/marketplace/operator/")
    page.get_by_label("Login", exact=True).fill("boss")
    page.get_by_label("Password").fill(boss)
    page.keyboard.press("Enter")
    page.get_by_label("Name of a new requester").fill("A lab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="A lab")).to_be_visible()
    page.get_by_label("Amount in dollars").fill("25.5")
    page.keyboard.press("Enter")
    expect(page.get_by_text("$25.50").first).to_be_visible()
    page.get_by_text("Show the secret key").click()
    requester = Requester.objects.get()
    expect(page.get_by_text(signing.secret_of(requester))).to_be_visible()
    ledger.spend(requester, ledger.account("owed", worker=worker), 1_20, "bonus", at=timezone.now())
    page.reload()
    expect(page.get_by_text("$24.30").first).to_be_visible()
    look(page, axe, screenshots, "requester")
    page.get_by_role("link", name="Marketplace: operator").click()
    look(page, axe, screenshots, "operator")
    with page.expect_download() as download:
        page.get_by_role("link", name="Payouts as CSV").click()
    assert worker.worker_id in download.value.path().read_text()
    page.get_by_role("button", name="Mark $1.20 as paid").click()
    expect(page.get_by_text("Nobody is owed anything.")).to_be_visible()
    assert ledger.is_balanced()


def test_a_stranger_makes_an_account_where_that_is_open(new_worker_page, settings, axe, screenshots):
    settings.MARKETPLACE_SIGNUP = True
    page = new_worker_page(**PHONE)
    page.goto("/marketplace/")
    page.get_by_role("link", name="Make an account").click()
    look(page, axe, screenshots, "signup")
    page.get_by_label("Email").fill("wanda@example.org")
    page.get_by_label("Username").fill("wanda")
    page.get_by_label("Password", exact=True).fill("a long way to go home")
    page.get_by_label("Password (again)").fill("a long way to go home")
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("button", name="Start working as wanda").click()
    expect(page.get_by_role("heading", level=1, name="Find work")).to_be_visible()
    assert Worker.objects.get().email == "wanda@example.org"
