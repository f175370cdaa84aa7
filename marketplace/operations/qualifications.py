"""Qualification types, requests, grants."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from marketplace import answer_keys, forms, questions
from marketplace.errors import ParameterValidationError, RequestError, does_not_exist
from marketplace.models import Grant, QualificationRequest, QualificationType
from marketplace.operations.asked import Asked, operation
from marketplace.operations.workers import with_id
from marketplace.paging import page

State = QualificationRequest.State


def show(found: QualificationType) -> dict[str, Any]:
    optional = {
        "Keywords": found.keywords,
        "Test": found.test,
        "AnswerKey": found.answer_key,
        "TestDurationInSeconds": found.test_seconds,
        "RetryDelayInSeconds": found.retry_seconds,
    }
    return {
        "QualificationTypeId": found.qualification_type_id,
        "CreationTime": found.created_at.timestamp(),
        "Name": found.name,
        "Description": found.description,
        "QualificationTypeStatus": "Active" if found.is_active else "Inactive",
        **{name: value for name, value in optional.items() if value not in ("", None)},
        "IsRequestable": found.is_active,
        "AutoGranted": found.auto_granted,
        **({"AutoGrantedValue": found.auto_value} if found.auto_granted else {}),
    }


def _show_to(asked: Asked, found: QualificationType) -> dict[str, Any]:
    """Anybody may look at what is asked of workers; the answer key is its owner's alone."""
    shown = show(found)
    if found.requester_id != asked.requester.pk:
        shown.pop("AnswerKey", None)
    return shown


def own(asked: Asked) -> QualificationType:
    """One of the caller's. Raises RequestError."""
    wanted = asked.params["QualificationTypeId"]
    found = QualificationType.objects.filter(
        requester=asked.requester, qualification_type_id=wanted, deleted_at=None
    ).first()
    if found is None:
        raise does_not_exist("QualificationType", wanted)
    return found


def _rules(asked: Asked, present: QualificationType) -> dict[str, Any]:
    """The changeable properties, as given or as they are. Raises a WireError for what contradicts itself."""
    for name, most in (("Description", 2000), ("Keywords", 1000)):
        if len(asked.get(name, "")) > most:
            raise ParameterValidationError(f"{name} has at most {most:,} characters.")
    for name in ("TestDurationInSeconds", "RetryDelayInSeconds"):
        if asked.get(name, 1) < 0:
            raise ParameterValidationError(f'The value "{asked.get(name)}" is not valid for the parameter {name}.')
    test, key = asked.get("Test", present.test), asked.get("AnswerKey", present.answer_key)
    auto = asked.get("AutoGranted", present.auto_granted)
    for name, text in (("Test", test), ("AnswerKey", key)):
        if len(text.encode()) > questions.MAX_BYTES:
            raise ParameterValidationError(f"{name} has more than {questions.MAX_BYTES:,} bytes.")
    if asked.get("Test"):
        if questions.read(test).kind != "form":
            raise ParameterValidationError("A qualification's Test is a QuestionForm.")
        forms.fields(test)
        if not asked.get("TestDurationInSeconds", present.test_seconds):
            raise ParameterValidationError("A Test needs its TestDurationInSeconds.")
    if key:
        if not test:
            raise ParameterValidationError("An AnswerKey needs a Test.")
        answer_keys.read_key(key)
    if auto and test:
        raise ParameterValidationError("A qualification with a Test cannot be AutoGranted.")
    return {
        "description": asked.get("Description", present.description),
        "is_active": asked.get("QualificationTypeStatus", "Active" if present.is_active else "Inactive") == "Active",
        "retry_seconds": asked.get("RetryDelayInSeconds", present.retry_seconds),
        "test": test,
        "answer_key": key,
        "test_seconds": asked.get("TestDurationInSeconds", present.test_seconds),
        "auto_granted": auto,
        "auto_value": asked.get("AutoGrantedValue", present.auto_value),
    }


@operation
def create_qualification_type(asked: Asked) -> dict[str, Any]:
    """TestDurationInSeconds without a Test is taken: clients in the field send it."""
    name = asked.params["Name"]
    if not name.strip() or len(name) > 200:
        raise ParameterValidationError("Name has from 1 to 200 characters.")
    made = QualificationType(
        requester=asked.requester, name=name, keywords=asked.get("Keywords", ""), created_at=asked.at
    )
    for field, value in _rules(asked, made).items():
        setattr(made, field, value)
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError:
        raise RequestError(
            "QualificationTypeAlreadyExists", "You have already created a QualificationType with this name."
        ) from None
    asked.effect["qualification_type"] = made.qualification_type_id
    return {"QualificationType": show(made)}


@operation
def update_qualification_type(asked: Asked) -> dict[str, Any]:
    found = own(asked)
    for field, value in _rules(asked, found).items():
        setattr(found, field, value)
    found.save()
    asked.effect["qualification_type"] = found.qualification_type_id
    return {"QualificationType": show(found)}


@operation
def get_qualification_type(asked: Asked) -> dict[str, Any]:
    wanted = asked.params["QualificationTypeId"]
    found = QualificationType.objects.filter(qualification_type_id=wanted, deleted_at=None).first()
    if found is None:
        raise does_not_exist("QualificationType", wanted)
    return {"QualificationType": _show_to(asked, found)}


@operation
@transaction.atomic
def delete_qualification_type(asked: Asked) -> dict[str, Any]:
    """Who waits for it is refused; its name is free again."""
    found = own(asked)
    found.deleted_at = asked.at
    found.save(update_fields=["deleted_at"])
    found.requests.filter(state=State.PENDING).update(state=State.REJECTED)
    asked.effect["deleted"] = found.qualification_type_id
    return {}


@operation
def list_qualification_types(asked: Asked) -> dict[str, Any]:
    """A query is sought anywhere in name, description and keywords, whatever the capitals."""
    rows = QualificationType.objects.filter(deleted_at=None)
    if asked.get("MustBeOwnedByCaller"):
        rows = rows.filter(requester=asked.requester)
    if asked.params["MustBeRequestable"]:
        rows = rows.filter(is_active=True)
    if query := asked.get("Query", "").strip():
        rows = rows.filter(Q(name__icontains=query) | Q(description__icontains=query) | Q(keywords__icontains=query))
    account = asked.requester.account_id
    return page(
        asked.operation, account, asked.params, rows, ["pk"], lambda found: _show_to(asked, found), "QualificationTypes"
    )


# --- Requests -------------------------------------------------------------------------------------


@operation
def list_qualification_requests(asked: Asked) -> dict[str, Any]:
    rows = QualificationRequest.objects.filter(qualification_type__requester=asked.requester, state=State.PENDING)
    if asked.get("QualificationTypeId"):
        rows = rows.filter(qualification_type=own(asked))
    rows = rows.select_related("qualification_type", "worker")

    def shown(found: QualificationRequest) -> dict[str, Any]:
        test = found.qualification_type.test
        return {
            "QualificationRequestId": found.request_id,
            "QualificationTypeId": found.qualification_type.qualification_type_id,
            "WorkerId": found.worker.worker_id,
            **({"Test": test, "Answer": found.answer} if test else {}),
            "SubmitTime": found.at.timestamp(),
        }

    account = asked.requester.account_id
    return page(asked.operation, account, asked.params, rows, ["pk"], shown, "QualificationRequests")


def _pending(asked: Asked) -> QualificationRequest:
    """Locked. Raises RequestError for one that is not waiting."""
    wanted = asked.params["QualificationRequestId"]
    rows = QualificationRequest.objects.select_for_update().filter(
        request_id=wanted, qualification_type__requester=asked.requester
    )
    found = rows.first()
    if found is None:
        raise does_not_exist("QualificationRequest", wanted)
    if found.state != State.PENDING:
        raise RequestError("InvalidQualificationRequestState", f"This request has been {found.state} before.")
    return found


@operation
@transaction.atomic
def accept_qualification_request(asked: Asked) -> dict[str, Any]:
    found = _pending(asked)
    found.state = State.ACCEPTED
    found.save(update_fields=["state"])
    Grant.objects.update_or_create(
        qualification_type_id=found.qualification_type_id,
        worker_id=found.worker_id,
        defaults={"value": asked.get("IntegerValue", 1), "is_revoked": False, "at": asked.at},
    )
    asked.effect["granted"] = found.request_id
    return {}


@operation
@transaction.atomic
def reject_qualification_request(asked: Asked) -> dict[str, Any]:
    found = _pending(asked)
    found.state, found.reason = State.REJECTED, asked.get("Reason", "")
    found.save(update_fields=["state", "reason"])
    asked.effect["refused"] = found.request_id
    return {}


# --- Grants ---------------------------------------------------------------------------------------


@operation
def associate_qualification_with_worker(asked: Asked) -> dict[str, Any]:
    found, worker = own(asked), with_id(asked.params["WorkerId"])
    Grant.objects.update_or_create(
        qualification_type=found,
        worker=worker,
        defaults={"value": asked.get("IntegerValue", 1), "is_revoked": False, "at": asked.at},
    )
    found.requests.filter(worker=worker, state=State.PENDING).update(state=State.ACCEPTED)
    asked.effect |= {"granted": found.qualification_type_id, "worker": worker.worker_id}
    return {}


def _grant(asked: Asked) -> Grant:
    """The worker's, also when revoked. Raises RequestError for one who never had it."""
    found, worker = own(asked), with_id(asked.params["WorkerId"])
    grant = Grant.objects.filter(qualification_type=found, worker=worker).first()
    if grant is None:
        raise RequestError(
            "QualificationDoesNotExist",
            f"You requested a Qualification that does not exist: worker {worker.worker_id} was never granted it.",
        )
    if grant.is_revoked:
        raise RequestError(
            "InvalidQualificationState",
            "This operation can be called with a status of: Granted. The Qualification is Revoked.",
        )
    return grant


@operation
def disassociate_qualification_from_worker(asked: Asked) -> dict[str, Any]:
    grant = _grant(asked)
    grant.is_revoked = True
    grant.save(update_fields=["is_revoked"])
    asked.effect |= {"revoked": asked.params["QualificationTypeId"], "worker": asked.params["WorkerId"]}
    return {}


def _show_grant(grant: Grant) -> dict[str, Any]:
    return {
        "QualificationTypeId": grant.qualification_type.qualification_type_id,
        "WorkerId": grant.worker.worker_id,
        "GrantTime": grant.at.timestamp(),
        "IntegerValue": grant.value,
        "Status": "Revoked" if grant.is_revoked else "Granted",
    }


@operation
def get_qualification_score(asked: Asked) -> dict[str, Any]:
    return {"Qualification": _show_grant(_grant(asked))}


@operation
def list_workers_with_qualification_type(asked: Asked) -> dict[str, Any]:
    rows = Grant.objects.filter(qualification_type=own(asked)).select_related("worker", "qualification_type")
    rows = rows.filter(is_revoked=asked.get("Status", "Granted") == "Revoked")
    account = asked.requester.account_id
    return page(asked.operation, account, asked.params, rows, ["pk"], _show_grant, "Qualifications")
