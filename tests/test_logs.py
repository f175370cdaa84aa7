"""No line of any log holds a link or token that would let somebody in."""

import logging
import logging.config
import os
import subprocess
import sys
import urllib.error
import urllib.request
from io import StringIO
from pathlib import Path

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from annotation import links
from config.logs import RedactingFormatter
from tests.annotation.program import Program
from tests.factories import make_items, make_study, make_worker

TOKENS = [signing.dumps([7, 0, 1_800_000_000], salt=links.TOKEN), signing.dumps(list(range(500)), compress=True)]


@pytest.fixture
def written(monkeypatch):
    """What the handlers of the settings write while a test runs."""
    stream = StringIO()
    for handler in {*logging.getLogger().handlers, *logging.getLogger("django").handlers}:
        if isinstance(handler.formatter, RedactingFormatter):
            monkeypatch.setattr(handler, "stream", stream)
    return stream.getvalue


@pytest.mark.parametrize("token", TOKENS, ids=["plain", "compressed"])
@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "GET /w/{}/ HTTP/1.1",
        "Not Found: /join/{}/",
        "{{'HTTP_AUTHORIZATION': 'Token {}'}}",
        'Signature "{}" does not match',
    ],
)
def test_a_token_is_cut_out_wherever_it_stands(line, token):
    for form in (token, token.replace(":", "%3A")):
        record = logging.LogRecord("x", logging.INFO, "x.py", 1, "asked: " + line.format("%s"), (form,), None)
        assert RedactingFormatter().format(record) == "asked: " + line.format("[redacted]")


def test_what_is_left_of_a_token_that_was_cut_short_goes_too():
    for line in ("/w/{}/", "authorization: token {}"):
        record = logging.LogRecord("x", logging.INFO, "x.py", 1, line.format(TOKENS[0][:30]), None, None)
        assert RedactingFormatter().format(record) == line.format("[redacted]")


def test_other_lines_stay_as_they_are():
    line = "2026-11-02 12:00:00,123 INFO /studies/crepe-a/ 12:30:45 localhost:8000 token expired: worker ann"
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, line, None, None)
    assert RedactingFormatter().format(record) == line


@pytest.mark.django_db
def test_requests_with_a_token_leave_none_in_the_log(written, monkeypatch):
    study = make_study()
    make_items(study, 1)
    worker = make_worker(study)
    link, token = (links.sign(worker, purpose, at=timezone.now()) for purpose in (links.LINK, links.TOKEN))
    browser, program = Client(raise_request_exception=False), Program(token=token)
    program.raise_request_exception = False
    browser.get(f"/w/{link}/nothing/here/")
    program.get(f"/api/v1/{token}/")
    program.get("/api/v1/sittings/1/", {"token": token})

    def fails(*args, **kwargs):
        raise RuntimeError(f"in the middle of {link} and {token}")

    monkeypatch.setattr("annotation.leasing.lease", fails)
    program.ask("POST", "studies/crepe-a/sittings/", {"stage": "generate"})
    lines = written()
    assert lines.count("[redacted]") >= 4
    assert "RuntimeError: in the middle of [redacted] and [redacted]" in lines
    for secret in (link, token):
        assert secret not in lines
        assert secret.rpartition(":")[2] not in lines


def test_the_web_servers_own_lines_are_cut_as_well():
    """gunicorn with an access log, as in production: it has loggers and handlers of its own."""
    command = [
        Path(sys.executable).with_name("gunicorn"),
        "config.wsgi",
        "--bind",
        "127.0.0.1:0",
        "--access-logfile",
        "-",
    ]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.test", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as server:
        lines = []
        try:
            for line in server.stdout:
                lines.append(line)
                if "Listening at" in line:
                    site = line.split("Listening at: ")[1].split()[0]
                    for path in (f"/w/{TOKENS[0]}/nothing/here/", "/and/nothing/there/"):
                        with pytest.raises(urllib.error.HTTPError):
                            urllib.request.urlopen(f"{site}{path}", timeout=30)
                if '"GET /and/nothing/there/' in line:
                    break
        finally:
            server.terminate()
            lines += server.stdout
    assert any('"GET /w/[redacted]/nothing/here/' in line for line in lines)
    assert TOKENS[0] not in "".join(lines)
