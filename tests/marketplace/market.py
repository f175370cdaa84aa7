"""A marketplace for tests: requesters with boto3 clients, workers, HITs, and HTML that submits."""

import socket
import threading
from contextlib import suppress
from datetime import datetime
from typing import Any

import boto3
from botocore.config import Config
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


def client_of(site: str, requester: Requester, *, secret: str = "", attempts: int = 1) -> Any:
    """boto3's own client, unmodified; without retries unless asked for."""
    made = boto3.client(
        "mturk",
        endpoint_url=f"{site}/marketplace/api/",
        region_name="us-east-1",
        aws_access_key_id=requester.access_key,
        aws_secret_access_key=secret or signing.secret_of(requester),
        config=Config(retries={"total_max_attempts": attempts}),
    )
    OPEN.append(made)
    return made


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
