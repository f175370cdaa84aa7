"""A marketplace for tests: requesters with boto3 clients, workers, HITs, and HTML that submits."""

import io
import socket
import threading
from contextlib import suppress
from datetime import datetime
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from django.test import Client
from django.utils import timezone

from marketplace import ledger, signing, work
from marketplace.models import HIT, Assignment, Requester, Worker

EXTERNAL = """<?xml version="1.0" encoding="UTF-8"?>
<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">
  <ExternalURL>https://example.org/task?item=7&amp;lang=en</ExternalURL>
  <FrameHeight>600</FrameHeight>
</ExternalQuestion>"""
HTML = """<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">
  <HTMLContent><![CDATA[<p>What is it?</p>]]></HTMLContent><FrameHeight>0</FrameHeight>
</HTMLQuestion>"""
OPEN: list[Any] = []  # clients, to be closed
USUAL: dict[str, Any] = {
    "Title": "Read a sentence",
    "Description": "Say how likely it is.",
    "Keywords": "reading, language",
    "Reward": "0.50",
    "AssignmentDurationInSeconds": 600,
    "LifetimeInSeconds": 3600,
    "AutoApprovalDelayInSeconds": 3600,
    "MaxAssignments": 2,
    "Question": EXTERNAL,
}


def make_requester(name: str = "lab", deposit: int = 100_00) -> Requester:
    requester = Requester.objects.create(name=name, created_at=timezone.now())
    ledger.deposit(requester, deposit, at=timezone.now())
    return requester


def make_worker(name: str = "wanda", **more: Any) -> Worker:
    return Worker.objects.create(name=name, created_at=timezone.now(), **more)


def client_of(site: str, requester: Requester, *, secret: str = "", attempts: int = 1, patience: float = 60) -> Any:
    """boto3's own client, unmodified; without retries unless asked for. patience: seconds until it gives up reading."""
    made = boto3.client(
        "mturk",
        endpoint_url=f"{site}/marketplace/api/",
        region_name="us-east-1",
        aws_access_key_id=requester.access_key,
        aws_secret_access_key=secret or signing.secret_of(requester),
        config=Config(retries={"total_max_attempts": attempts}, read_timeout=patience),
    )
    OPEN.append(made)
    return made


def inner_client_of(requester: Requester) -> Any:
    """The same client, whose finished requests go to this very process instead of a socket: no server, no waiting."""
    made, site = client_of("http://testserver", requester), Client(raise_request_exception=False)

    def answer(request: Any, **_: Any) -> AWSResponse:
        texts = {name: value if isinstance(value, str) else value.decode() for name, value in request.headers.items()}
        headers = {"Host": "testserver", **texts}
        kind = headers.pop("Content-Type")
        got = site.post("/marketplace/api/", request.body, content_type=kind, headers=headers)
        raw = type("Raw", (io.BytesIO,), {"stream": lambda self: iter([self.read()])})(got.content)
        return AWSResponse(request.url, got.status_code, dict(got.headers), raw)

    made.meta.events.register("before-send.mturk", answer)
    return made


def missing(shape: Any, value: Any, path: str) -> set[str]:
    """The members of the model that an answer lacks, as "HIT.HITLayoutId"; what it has beyond them, or of another type,
    fails.
    """
    if shape.type_name == "structure":
        assert not value.keys() - shape.members.keys(), f"{path} has {value.keys() - shape.members.keys()}"
        inner = (missing(shape.members[name], member, f"{path}.{name}") for name, member in value.items())
        return {f"{shape.name}.{name}" for name in shape.members.keys() - value.keys()}.union(*inner)
    if shape.type_name == "list":
        return set().union(*(missing(shape.member, each, path) for each in value))
    types = {"string": str, "integer": int, "long": int, "boolean": bool, "timestamp": (int, float)}
    assert isinstance(value, types[shape.type_name]), f"{path} is {value!r}"
    assert value in shape.metadata.get("enum", [value]), f"{path} is {value!r}"
    return set()


def do(worker: Worker, hit_id: str, answer: str = "yes", *, at: datetime | None = None) -> Assignment:
    """Accept and submit."""
    now = at or timezone.now()
    held = work.accept(worker, hit_id, at=now)
    return work.submit(worker, held.assignment_id, {"answer": answer}, at=now)


def close_all() -> None:
    """Close every client, and wait until the server's threads have left the database."""
    while OPEN:
        OPEN.pop().close()
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            with suppress(OSError, AttributeError):  # it has ended by itself
                thread._args[0].shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]  # a refusal's is kept
            thread.join(timeout=2)


def hit_of(hit_id: str) -> HIT:
    return HIT.objects.get(hit_id=hit_id)
