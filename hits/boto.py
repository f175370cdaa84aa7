"""The marketplace through boto3, which appears in this file only: our values go in and come out, as do our errors.

What boto3 would do by itself is off: it repeats calls whose answer was lost, which pays twice, and takes an answer cut
short for an empty one.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from random import uniform
from time import monotonic, sleep
from typing import Any, TypeVar
from xml.etree import ElementTree

import boto3
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
)
from botocore.model import OperationModel
from defusedxml.ElementTree import fromstring

from hits.client import (
    AlreadyDone,
    BadAccount,
    CallMade,
    InsufficientFunds,
    MTurkClient,
    MTurkError,
    MTurkRefused,
    MTurkUnavailable,
    NewHit,
    NotThere,
    Outcome,
    RemoteAssignment,
    RemoteBonus,
    RemoteHit,
    Status,
    Throttled,
    WrongState,
)

log = logging.getLogger(__name__)
T = TypeVar("T")
Answer = Mapping[str, Any]
PAGE = 100  # the most the service gives at once
CONNECT_SECONDS = 5
PAUSES = (0.2, 0.4, 0.8, 1.6, 3.2, 3.2, 3.2)  # seconds before a throttled page is asked for again
EXTERNAL = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"


class BotoClient(MTurkClient):
    """One boto3 client, which all threads may share. `close()` lets go of its connections.

    endpoint_url: of an MTurk-compatible service; None is Amazon's own. read_timeout: seconds without a byte.
    record: told of every call after it, in the thread that made it; what it raises is logged and goes no further.
    """

    def __init__(
        self,
        endpoint_url: str | None,
        access_key: str,
        secret_key: str,
        region: str,
        *,
        read_timeout: float = 20.0,
        connections: int = 10,
        record: Callable[[CallMade], None] | None = None,
    ) -> None:
        self.record = record
        # A session of its own: making clients from boto3's shared one is not safe between threads.
        self.boto = boto3.session.Session().client(
            "mturk",
            endpoint_url=endpoint_url,
            region_name=region,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=Config(
                retries={"total_max_attempts": 1, "mode": "standard"},
                connect_timeout=CONNECT_SECONDS,
                read_timeout=read_timeout,
                max_pool_connections=connections,
                ignore_configured_endpoint_urls=True,  # an AWS_ENDPOINT_URL about must not redirect what spends money
            ),
        )
        self.boto.meta.events.register("before-parse.mturk", _refuse_unless_whole)

    def close(self) -> None:
        self.boto.close()

    # --- HITs and money ---------------------------------------------------------------------------

    def balance(self) -> Decimal:
        return self._call("get_account_balance", lambda answer: Decimal(answer["AvailableBalance"]))

    def create_hit(self, new: NewHit) -> RemoteHit:
        return self._call(
            "create_hit",
            lambda answer: _hit(answer["HIT"]),
            UniqueRequestToken=new.token,
            RequesterAnnotation=new.annotation,
            Title=new.title,
            Description=new.description,
            Keywords=new.keywords,
            Reward=_dollars(new.reward),
            MaxAssignments=new.seats,
            AssignmentDurationInSeconds=new.duration_seconds,
            LifetimeInSeconds=new.lifetime_seconds,
            AutoApprovalDelayInSeconds=new.auto_approval_seconds,
            Question=_question(new.url, new.frame_height),
            QualificationRequirements=[dict(each) for each in new.requirements],
        )

    def get_hit(self, hit_id: str) -> RemoteHit:
        return self._call("get_hit", lambda answer: _hit(answer["HIT"]), HITId=hit_id)

    def hits(self) -> Iterator[RemoteHit]:
        return _once(self._all("list_hits", "HITs", _hit), lambda hit: hit.hit_id)

    def add_seats(self, hit_id: str, seats: int, *, token: str) -> None:
        self._do(
            "create_additional_assignments_for_hit",
            HITId=hit_id,
            NumberOfAdditionalAssignments=seats,
            UniqueRequestToken=token,
        )

    def set_expiry(self, hit_id: str, at: datetime) -> None:
        if at.tzinfo is None:  # boto3 would take it for local time
            raise MTurkRefused(f"{at} is in no time zone.")
        self._do("update_expiration_for_hit", HITId=hit_id, ExpireAt=at)

    def delete_hit(self, hit_id: str) -> None:
        try:
            self._do("delete_hit", HITId=hit_id)
        except WrongState as error:
            if not re.search(r"in the state\W+disposed\b", error.sentence, re.IGNORECASE):
                raise

    def get_assignment(self, assignment_id: str) -> RemoteAssignment:
        try:
            return self._call(
                "get_assignment", lambda answer: _assignment(answer["Assignment"]), AssignmentId=assignment_id
            )
        except WrongState as error:
            raise NotThere(error.sentence, error.code) from error

    def assignments_of(self, hit_id: str) -> Iterator[RemoteAssignment]:
        found = self._all("list_assignments_for_hit", "Assignments", _assignment, HITId=hit_id)
        return _once(found, lambda assignment: assignment.assignment_id)

    def approve(self, assignment_id: str, feedback: str = "", *, override: bool = False) -> None:
        said = {"RequesterFeedback": feedback} if feedback else {}
        self._do("approve_assignment", AssignmentId=assignment_id, OverrideRejection=override, **said)

    def reject(self, assignment_id: str, feedback: str) -> None:
        self._do("reject_assignment", AssignmentId=assignment_id, RequesterFeedback=feedback)

    def bonus(self, worker_id: str, assignment_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        self._do(
            "send_bonus",
            WorkerId=worker_id,
            AssignmentId=assignment_id,
            BonusAmount=_dollars(amount),
            Reason=reason,
            UniqueRequestToken=token,
        )

    def bonuses_of(self, assignment_id: str) -> Iterator[RemoteBonus]:
        return self._all("list_bonus_payments", "BonusPayments", _bonus, AssignmentId=assignment_id)

    # --- Qualifications and workers ---------------------------------------------------------------

    def create_qualification(self, name: str, description: str) -> str:
        return self._call(
            "create_qualification_type",
            lambda answer: str(answer["QualificationType"]["QualificationTypeId"]),
            Name=name,
            Description=description,
            QualificationTypeStatus="Active",
        )

    def find_qualification(self, name: str) -> str:
        found = self._all(
            "list_qualification_types",
            "QualificationTypes",
            lambda row: (row["Name"], str(row["QualificationTypeId"])),
            Query=name,  # finds it anywhere in names and descriptions
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        return next((type_id for its_name, type_id in found if its_name == name), "")

    def grant(self, qualification_id: str, worker_id: str, score: int) -> None:
        self._do(
            "associate_qualification_with_worker",
            QualificationTypeId=qualification_id,
            WorkerId=worker_id,
            IntegerValue=score,
            SendNotification=False,  # which is true by itself
        )

    def revoke(self, qualification_id: str, worker_id: str, reason: str) -> None:
        self._do(
            "disassociate_qualification_from_worker",
            QualificationTypeId=qualification_id,
            WorkerId=worker_id,
            Reason=reason,
        )

    def holders(self, qualification_id: str) -> Iterator[tuple[str, int]]:
        found = self._all(
            "list_workers_with_qualification_type",
            "Qualifications",
            lambda row: (str(row["WorkerId"]), int(row["IntegerValue"])),
            QualificationTypeId=qualification_id,
            Status="Granted",
        )
        return _once(found, lambda holder: holder[0])

    def notify(self, worker_ids: Sequence[str], subject: str, text: str) -> list[tuple[str, str]]:
        return self._call(
            "notify_workers",
            lambda answer: [
                (row["WorkerId"], row.get("NotifyWorkersFailureMessage", ""))
                for row in answer.get("NotifyWorkersFailureStatuses", [])
            ],
            WorkerIds=list(worker_ids),
            Subject=subject,
            MessageText=text,
        )

    # --- One call ---------------------------------------------------------------------------------

    def _do(self, method: str, /, **params: Any) -> None:
        """A call whose answer says nothing but that it was done."""
        self._call(method, lambda _: None, **params)

    def _all(self, method: str, name: str, read: Callable[[Answer], T], /, **params: Any) -> Iterator[T]:
        """Every row of a list. The end is an empty page, however many rows the others have."""
        token: str | None = None
        while True:
            turn = {"NextToken": token} if token else {}
            rows, after = self._page(
                method,
                lambda answer: ([read(row) for row in answer[name]], answer.get("NextToken")),
                MaxResults=PAGE,
                **params,
                **turn,
            )
            yield from rows
            if not rows or not after:
                return
            if after == token:
                raise MTurkUnavailable("The list does not go on.", "SameNextToken", may_have_happened=False)
            token = after

    def _page(self, method: str, read: Callable[[Answer], T], /, **params: Any) -> T:
        """One page, asked for again while it is too much: else no list of many pages would ever be read to its end."""
        for pause in PAUSES:
            try:
                return self._call(method, read, **params)
            except Throttled:
                sleep(pause * uniform(0.5, 1.5))
        return self._call(method, read, **params)

    def _call(self, method: str, read: Callable[[Answer], T], /, **params: Any) -> T:
        """What `read` makes of the answer. Raises MTurkError, and tells `record` however it ends."""
        began = monotonic()
        # Whoever stops this thread leaves a call behind that can have happened.
        outcome: Outcome = "unknown"
        code = request_id = ""
        try:
            answer = getattr(self.boto, method)(**params)
            request_id = _request_id(answer)
            value = read(answer)
            outcome = "ok"
            return value
        except Exception as error:  # boto3 trips in many ways over an answer of another shape
            ours = _ours(error, token=params.get("UniqueRequestToken", ""))
            outcome, code = _outcome(ours), ours.code
            request_id = request_id or _request_id(getattr(error, "response", None) or {})
            raise ours from error
        finally:
            operation = self.boto.meta.method_to_api_mapping[method]
            self._tell(operation, monotonic() - began, outcome, code, request_id)

    def _tell(self, operation: str, seconds: float, outcome: Outcome, code: str, request_id: str) -> None:
        """A log that fails must not hide what the call did."""
        if self.record is None:
            return
        try:
            self.record(CallMade(operation, seconds, outcome, code[:100], request_id[:100]))
        except Exception:
            log.exception("A call of %s (%s) was not recorded", operation, outcome)


# --- What goes in ---------------------------------------------------------------------------------


def _dollars(amount: Decimal) -> str:
    """Two digits, never rounded. Raises MTurkRefused."""
    if not amount.is_finite() or amount != round(amount, 2):
        raise MTurkRefused(f"{amount} is no amount of whole cents.")
    return f"{amount:.2f}"


def _question(url: str, height: int) -> str:
    root = ElementTree.Element("ExternalQuestion", xmlns=EXTERNAL)
    ElementTree.SubElement(root, "ExternalURL").text = url
    ElementTree.SubElement(root, "FrameHeight").text = str(height)
    return ElementTree.tostring(root, encoding="unicode")


# --- What comes out -------------------------------------------------------------------------------


def _hit(row: Answer) -> RemoteHit:
    return RemoteHit(
        hit_id=row["HITId"],
        hit_type_id=row["HITTypeId"],
        annotation=row.get("RequesterAnnotation", ""),
        status=row["HITStatus"],
        seats=row["MaxAssignments"],
        expires_at=row["Expiration"].astimezone(UTC),
        reward=Decimal(row["Reward"]),
    )


def _assignment(row: Answer) -> RemoteAssignment:
    approves_at = row.get("AutoApprovalTime")
    return RemoteAssignment(
        assignment_id=row["AssignmentId"],
        hit_id=row["HITId"],
        worker_id=row["WorkerId"],
        status=Status(row["AssignmentStatus"]),
        accepted_at=row["AcceptTime"].astimezone(UTC),
        submitted_at=row["SubmitTime"].astimezone(UTC),
        approves_at=approves_at.astimezone(UTC) if approves_at else None,
        answer=_answers(row.get("Answer", "")),
    )


def _bonus(row: Answer) -> RemoteBonus:
    return RemoteBonus(row["WorkerId"], row["AssignmentId"], Decimal(row["BonusAmount"]), row.get("Reason", ""))


TEXTS = ("FreeText", "SelectionIdentifier", "OtherSelectionText", "UploadedFileKey")


def _answers(xml: str) -> dict[str, str]:
    """QuestionFormAnswers by field name, several selections joined by "|"; nothing where it is not well-formed.

    Elements are known by their names in any namespace: there are two versions of it.
    """
    try:
        root = fromstring(xml, forbid_dtd=True)
    except (ElementTree.ParseError, ValueError):  # defusedxml's own are ValueErrors
        return {}
    found = {}
    for answer in root:
        parts = [(child.tag.rpartition("}")[2], child.text or "") for child in answer if isinstance(child.tag, str)]
        name = next((text for tag, text in parts if tag == "QuestionIdentifier"), "")
        if name:
            found[name] = "|".join(text for tag, text in parts if tag in TEXTS)
    return found


def _once(rows: Iterator[T], key: Callable[[T], str]) -> Iterator[T]:
    """Lists shift while they are read: a row can come again on the next page."""
    seen: set[str] = set()
    for row in rows:
        if key(row) not in seen:
            seen.add(key(row))
            yield row


def _request_id(answer: Answer) -> str:
    return str(answer.get("ResponseMetadata", {}).get("RequestId", ""))


# --- What goes wrong ------------------------------------------------------------------------------


class _Unreadable(Exception):
    """An answer that is not the service's, or not all of it. response: as far as a ClientError has one."""

    def __init__(self, status: int, request_id: str) -> None:
        super().__init__(f"HTTP {status} with a body that is no whole answer")
        self.status = status
        self.response = {"ResponseMetadata": {"RequestId": request_id}}


def _refuse_unless_whole(operation_model: OperationModel, response_dict: Answer, **_: object) -> None:
    """boto3 takes any body for an answer, so that a cut one, or a proxy's page, reads as {}. Raises _Unreadable.

    A body of no bytes is whole where the operation answers nothing and the length says so.
    """
    body, headers, status = response_dict["body"], response_dict["headers"], response_dict["status_code"]
    length = headers.get("Content-Length", "")
    if status < 300 and not body and length == "0" and not operation_model.output_shape.members:
        return
    try:
        is_object = isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object or (length and length != str(len(body))):
        raise _Unreadable(status, headers.get("x-amzn-RequestId", ""))


def _outcome(error: MTurkError) -> Outcome:
    if isinstance(error, Throttled):
        return "throttled"
    if isinstance(error, MTurkUnavailable):
        return "unknown" if error.may_have_happened else "unavailable"
    return "refused"


NEVER_SENT = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)
NOT_SET_UP = (NoCredentialsError, PartialCredentialsError, NoRegionError)
LOST = {
    ReadTimeoutError: "The marketplace did not answer in time.",
    ConnectionClosedError: "The connection broke before the answer was there.",
}


def _ours(error: Exception, *, token: str) -> MTurkError:
    """token: the call's own, if it had one. Whatever is not known to be harmless can have happened."""
    code = type(error).__name__
    if isinstance(error, ClientError):
        return _answered(error.response, token)
    if isinstance(error, _Unreadable):
        return _failed(error.status)
    if isinstance(error, ParamValidationError):
        return MTurkRefused(str(error), code)
    if isinstance(error, NOT_SET_UP):
        return BadAccount(f"The marketplace is not set up: {error}", code)
    if isinstance(error, NEVER_SENT):
        return MTurkUnavailable("The marketplace cannot be reached.", code, may_have_happened=False)
    sentence = LOST.get(type(error), "The marketplace's answer cannot be read.")
    return MTurkUnavailable(sentence, code, may_have_happened=True)


def _failed(status: int) -> MTurkUnavailable:
    """A failing service, or something before it that is not the service."""
    if status == 429:
        return Throttled("Too many calls.", "HTTP 429")
    said = "an answer that is cut, or not a marketplace's" if status < 500 else "a failure"
    return MTurkUnavailable(f"The marketplace sent {said} (HTTP {status}).", f"HTTP {status}", may_have_happened=True)


THROTTLING = ("ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded")
SECRET = "The marketplace does not take our signature: does the secret key belong to the access key?"
KEY = "The marketplace does not know our access key."
CLOCK = "The marketplace finds our signature too old or too new: do the clocks agree?"
RIGHTS = "The marketplace does not let our access key do this."
CREDENTIALS = {
    "InvalidSignatureException": SECRET,
    "SignatureDoesNotMatch": SECRET,
    "IncompleteSignature": SECRET,
    "IncompleteSignatureException": SECRET,
    "UnrecognizedClientException": KEY,
    "InvalidClientTokenId": KEY,
    "InvalidAccessKeyId": KEY,
    "MissingAuthenticationToken": KEY,
    "MissingAuthenticationTokenException": KEY,
    "RequestExpired": CLOCK,
    "RequestTimeTooSkewed": CLOCK,
    "AccessDenied": RIGHTS,
    "AccessDeniedException": RIGHTS,
    "NotAuthorized": RIGHTS,
    "OptInRequired": RIGHTS,
}


def _answered(response: Answer, token: str) -> MTurkError:
    """An error that the service wrote."""
    kind, message = str(response["Error"].get("Code", "")), str(response["Error"].get("Message", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    if kind in THROTTLING or status == 429:
        return Throttled("Too many calls.", kind)
    if kind == "ServiceFault" or status >= 500:
        return MTurkUnavailable("The marketplace failed.", kind, may_have_happened=True)
    if kind.isdigit():  # boto3 puts the status where no type is given
        return _failed(status)
    if kind in CREDENTIALS:
        # Amazon says with one code that a signature is wrong and that it is old.
        return BadAccount(CLOCK if "expired" in message.lower() else CREDENTIALS[kind], kind)
    sentence = re.sub(r"\s*\(\d{9,}( s)?\)\s*$", "", message)  # they end in the moment
    if kind == "RequestError":
        return _refused(sentence, str(response.get("TurkErrorCode", "")) or kind, token)
    return MTurkRefused(sentence or kind, kind)


def _refused(sentence: str, code: str, token: str) -> MTurkRefused:
    """A refusal for a reason of business: by its code, whose spelling varies, then by what the sentence has in it."""
    short, said = code.rpartition(".")[2].lower(), sentence.lower()
    if short == "insufficientfunds":
        return InsufficientFunds(sentence, code)
    if short.endswith("alreadyexists") or "already been processed" in said or "already created" in said:
        return AlreadyDone(sentence, code, _named(sentence, token) if short == "hitalreadyexists" else "")
    if short.endswith("doesnotexist"):
        return NotThere(sentence, code)
    if re.fullmatch(r"invalid\w+state", short) or "status of:" in said:
        return WrongState(sentence, code)
    if "does not exist" in said:
        return NotThere(sentence, code)
    return MTurkRefused(sentence, code)


def _named(sentence: str, token: str) -> str:
    """The one id in the sentence, or ""."""
    found = set(re.findall(r"\b[0-9A-Z]{20,64}\b", sentence)) - {token}
    return found.pop() if len(found) == 1 else ""
