"""Commands, and events on their way."""

import csv
import hmac
import io
import json
import threading
from copy import copy
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from marketplace import delivery, ledger, signing, work
from marketplace.models import Notice, Requester, Transfer
from tests.marketplace.market import make_requester, make_worker

pytestmark = pytest.mark.django_db


def told(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return json.loads(out.getvalue())


def test_a_requester_is_made_once_and_its_keys_are_printed_again(settings):
    settings.SITE_URL = "https://lab.example"
    first, again = told("requester", "lab", deposit="100.00"), told("requester", "lab", deposit="5")
    assert first == again
    assert set(first) == {"access_key", "secret_key", "endpoint"}
    assert first["endpoint"] == "https://lab.example/marketplace/api/"
    requester = Requester.objects.get()
    assert ledger.account("available", requester=requester).balance == 105_00
    assert told("requester", "lab", new_key=True)["secret_key"] != first["secret_key"]
    for wrong in ("-5", "1.234", "much", "1e9"):
        with pytest.raises(CommandError, match=r"written as 100\.00"):
            told("requester", "lab", deposit=wrong)


def test_a_worker_has_an_id_a_link_and_a_token():
    printed = told("marketplace_worker", "wanda", country="us")
    assert set(printed) == {"worker_id", "link", "token"}
    worker = work.worker_of(printed["token"])
    assert (worker.worker_id, worker.country) == (printed["worker_id"], "US")
    with pytest.raises(CommandError, match="two letters"):
        told("marketplace_worker", "x", country="USA")


def test_payouts_are_listed_and_booked_once(tmp_path):
    requester = make_requester()
    for name, cents in (("wanda", 1_50), ("wim", 25)):
        owed = ledger.account("owed", worker=make_worker(name))
        ledger.spend(requester, owed, cents, "bonus", at=timezone.now())
    make_worker("idle")
    file = tmp_path / "payouts.csv"
    assert told("payouts", out=str(file)) == {"workers": 2, "total": "1.75", "marked": False}
    rows = csv.DictReader(io.StringIO(file.read_text()))
    assert [(row["name"], row["amount"]) for row in rows] == [("wanda", "1.50"), ("wim", "0.25")]
    assert told("payouts", out=str(file), mark=True)["marked"] is True
    assert told("payouts", out=str(file), mark=True) == {"workers": 0, "total": "0.00", "marked": True}
    assert ledger.is_balanced()
    assert Transfer.objects.filter(what="payout").count() == 2
    with pytest.raises(CommandError, match="Cannot write"):
        told("payouts", out=str(tmp_path))


class Listener(BaseHTTPRequestHandler):
    got: list = []
    status = 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((body, self.headers[delivery.HEADER]))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def listener():
    kind = type("Its", (Listener,), {"got": [], "status": 200})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    yield kind, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_an_event_is_posted_signed_and_again_until_it_is_taken(listener):
    kind, url = listener
    requester, now = make_requester(), timezone.now()
    notice = Notice.objects.create(requester=requester, destination=url, event={"EventType": "Ping"}, at=now)
    kind.status = 500
    assert delivery.deliver(at=now) == 0
    assert delivery.deliver(at=now) == 0  # it waits
    kind.status = 200
    assert delivery.deliver(at=now + timedelta(minutes=2)) == 1
    assert delivery.deliver(at=now + timedelta(minutes=9)) == 0
    (first, signature), (second, _) = kind.got
    assert first == second  # with the same id: at least once
    assert json.loads(first)["Events"] == [{"EventType": "Ping"}]
    assert signature == hmac.new(signing.secret_of(requester).encode(), first, "sha256").hexdigest()
    notice.refresh_from_db()
    assert (notice.attempts, notice.error) == (2, "")


def test_an_address_that_never_answers_is_given_up():
    now = timezone.now()
    Notice.objects.create(requester=make_requester(), destination="http://127.0.0.1:1/", event={}, at=now)
    for n in range(delivery.ATTEMPTS):
        delivery.deliver(at=now + timedelta(days=n))
    notice = Notice.objects.get()
    assert (notice.attempts, notice.sent_at is not None) == (delivery.ATTEMPTS, True)
    assert notice.error


def test_many_that_wait_hold_nobody_up(listener):
    kind, url = listener
    requester, now = make_requester(), timezone.now()
    waiting = Notice(requester=requester, destination="http://127.0.0.1:1/", event={}, at=now, attempts=3)
    Notice.objects.bulk_create([waiting] + [copy(waiting) for _ in range(delivery.MOST)])
    Notice.objects.create(requester=requester, destination=url, event={"EventType": "Ping"}, at=now)
    assert delivery.deliver(at=now) == 1
    assert len(kind.got) == 1


def test_an_event_is_mailed_and_again_until_the_mail_server_takes_it(settings, mailoutbox):
    now, event = timezone.now(), {"EventType": "AssignmentSubmitted", "HITId": "3HIT", "AssignmentId": "3DONE"}
    notice = Notice.objects.create(requester=make_requester(), destination="a@lab.example", event=event, at=now)
    settings.EMAIL_BACKEND, outbox = "django.core.mail.backends.smtp.EmailBackend", settings.EMAIL_BACKEND
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    assert delivery.deliver(at=now) == 0
    notice.refresh_from_db()
    assert (notice.attempts, notice.sent_at, "refused" in notice.error) == (1, None, True)
    settings.EMAIL_BACKEND = outbox
    assert delivery.deliver(at=now) == 0  # it waits
    assert delivery.deliver(at=now + timedelta(minutes=2)) == 1
    assert delivery.deliver(at=now + timedelta(minutes=9)) == 0
    assert [(mail.subject, mail.to) for mail in mailoutbox] == [("AssignmentSubmitted 3HIT", ["a@lab.example"])]
    assert mailoutbox[0].body.splitlines() == [
        "AssignmentId: 3DONE",
        f"EventDocId: {delivery.id_of(notice)}",
        "EventType: AssignmentSubmitted",
        "HITId: 3HIT",
    ]
