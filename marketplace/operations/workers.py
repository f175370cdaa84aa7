"""Blocks, and letters to workers."""

import logging
from collections.abc import Sequence
from smtplib import SMTPException
from typing import Any

from django.core.mail import EmailMessage, get_connection
from django.db import transaction

from marketplace.errors import RequestError, ValidationException, does_not_exist
from marketplace.models import Assignment, Block, Worker
from marketplace.operations.asked import Asked, operation
from marketplace.paging import page

log = logging.getLogger(__name__)
MOST_LETTERS = 100


def with_id(worker_id: str) -> Worker:
    """Raises RequestError."""
    found = Worker.objects.filter(worker_id=worker_id).first()
    if found is None:
        raise does_not_exist("Worker", worker_id)
    return found


@operation
def create_worker_block(asked: Asked) -> dict[str, Any]:
    worker = with_id(asked.params["WorkerId"])
    Block.objects.update_or_create(
        requester=asked.requester, worker=worker, defaults={"reason": asked.params["Reason"], "at": asked.at}
    )
    asked.effect["blocked"] = worker.worker_id
    return {}


@operation
def delete_worker_block(asked: Asked) -> dict[str, Any]:
    """Of somebody who is not blocked, too."""
    worker = with_id(asked.params["WorkerId"])
    if Block.objects.filter(requester=asked.requester, worker=worker).delete()[0]:
        asked.effect["unblocked"] = worker.worker_id
    return {}


@operation
def list_worker_blocks(asked: Asked) -> dict[str, Any]:
    rows = Block.objects.filter(requester=asked.requester).select_related("worker")
    return page(
        asked.operation,
        asked.requester.account_id,
        asked.params,
        rows,
        ["pk"],
        lambda block: {"WorkerId": block.worker.worker_id, "Reason": block.reason},
        "WorkerBlocks",
    )


@operation
def notify_workers(asked: Asked) -> dict[str, Any]:
    """To workers whose work the caller has reviewed, by e-mail; each at most once, after the call is through."""
    wanted = list(dict.fromkeys(asked.params["WorkerIds"]))
    subject, text = asked.params["Subject"], asked.params["MessageText"]
    for name, value, most in (("subject", subject, 200), ("messageText", text, 4096)):
        if not value.strip() or len(value) > most:
            raise ValidationException(
                f"1 validation error detected: Value '{value[:60]}' at '{name}' failed to satisfy constraint: Member "
                f"must have length between 1 and {most}"
            )
    if not 1 <= len(wanted) <= MOST_LETTERS:
        raise RequestError("InvalidParameterValue", f"From 1 to {MOST_LETTERS} workers can be notified at once.")
    known = {worker.worker_id: worker for worker in Worker.objects.filter(worker_id__in=wanted)}
    reviewed = set(
        Assignment.objects.filter(
            hit__requester=asked.requester, worker__worker_id__in=wanted, state__in=["Approved", "Rejected"]
        ).values_list("worker__worker_id", flat=True)
    )
    failed, letters = [], []
    for worker_id in wanted:
        worker = known.get(worker_id)
        if worker is None or worker_id not in reviewed:
            failed.append(_failed(worker_id, "HardFailure", "You have reviewed no work of this worker."))
        elif not worker.email:
            failed.append(_failed(worker_id, "SoftFailure", "This worker has no e-mail address."))
        else:
            letters.append(worker.email)
    body = f"{text}\n\nSent for the requester {asked.requester.name}."
    transaction.on_commit(lambda: _send(subject, body, letters), robust=True)
    asked.effect["letters"] = len(letters)
    return {"NotifyWorkersFailureStatuses": failed}


def _send(subject: str, body: str, addresses: Sequence[str]) -> None:
    """A letter for each, over one connection; one that cannot be sent holds no other up."""
    with get_connection() as connection:
        for address in addresses:
            try:
                EmailMessage(subject, body, None, [address], connection=connection).send()
            except (SMTPException, OSError):
                log.exception("A letter to a worker was not sent")


def _failed(worker_id: str, code: str, message: str) -> dict[str, str]:
    return {
        "NotifyWorkersFailureCode": code,
        "NotifyWorkersFailureMessage": message,
        "WorkerId": worker_id,
    }
