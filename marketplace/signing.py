"""Signature Version 4, checked with botocore's own arithmetic; and secrets that are derived, not stored."""

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from marketplace.errors import BadSignature, Expired, MissingAuthentication, UnknownKey
from marketplace.models import Requester

SERVICE = "mturk-requester"
SKEW = timedelta(minutes=5)
HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[A-Z0-9]{16,32})/(?P<day>\d{8})/(?P<region>[a-z0-9-]{1,30})"
    r"/(?P<service>[a-z0-9-]{1,40})/aws4_request, ?SignedHeaders=(?P<headers>[a-z0-9;-]{1,500}), ?"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)
NEEDED = {"host", "x-amz-date"}


def secret_of(requester: Requester) -> str:
    """40 characters that follow from the server's own secret key: nothing is stored that could be stolen alone."""
    text = f"{requester.access_key} {requester.key_serial}"
    return salted_hmac("touchstone.marketplace", text, algorithm="sha256").hexdigest()[:40]


def requester_of(request: HttpRequest, *, at: datetime) -> Requester:
    """Who signed this request. Raises a WireError for anybody else's, or an old one.

    The same request again within five minutes is taken, as the service did: boto3 repeats by itself what it got no
    answer to. What must not happen twice carries a UniqueRequestToken.
    """
    found = HEADER.fullmatch(request.headers.get("Authorization", ""))
    if not found:
        raise MissingAuthentication("Missing Authentication Token")
    signed_at = _date(request.headers.get("X-Amz-Date", ""))
    if abs(at - signed_at) > SKEW:
        raise Expired(f"Signature expired: {signed_at:%Y%m%dT%H%M%SZ} is not within 5 minutes of {at:%Y%m%dT%H%M%SZ}")
    requester = Requester.objects.filter(access_key=found["key"], is_active=True).first()
    if requester is None:
        raise UnknownKey("The security token included in the request is invalid.")
    names = found["headers"].split(";")
    if not set(names) >= NEEDED or found["service"] != SERVICE or found["day"] != f"{signed_at:%Y%m%d}":
        raise BadSignature("Credential should be scoped to a valid region, service and date, and sign the host.")
    # A hash that the client names itself goes into the signature as it stands: it must be the body's.
    if "x-amz-content-sha256" in names and request.headers.get("X-Amz-Content-SHA256") != _hash_of(request):
        raise BadSignature("The hash in X-Amz-Content-SHA256 is not the body's.")
    if not compare_digest(_signature(request, requester, found), found["signature"]):
        raise BadSignature(
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret "
            "Access Key and signing method."
        )
    return requester


def _date(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise BadSignature("The date of the request is missing, or not as 20260101T120000Z.") from None


def _hash_of(request: HttpRequest) -> str:
    return sha256(request.body).hexdigest()


def _signature(request: HttpRequest, requester: Requester, found: re.Match[str]) -> str:
    """What the signature must be, over the headers that were signed and the body as it came."""
    headers = {name: request.headers.get(name, "") for name in found["headers"].split(";")}
    url = f"{request.scheme}://{request.headers.get('Host', '')}{request.get_full_path()}"
    copy = AWSRequest(method=request.method, url=url, headers=headers, data=request.body)
    copy.context["timestamp"] = request.headers["X-Amz-Date"]
    signer = _Signer(Credentials(requester.access_key, secret_of(requester)), SERVICE, found["region"])
    signer.names = set(headers)
    return str(signer.signature(signer.string_to_sign(copy, signer.canonical_request(copy)), copy))


class _Signer(SigV4Auth):
    """Signs exactly the headers that the client signed."""

    names: set[str] = set()

    def headers_to_sign(self, request: AWSRequest):  # type: ignore[no-untyped-def]
        headers = super().headers_to_sign(request)
        for name in {n.lower() for n in headers} - self.names:
            del headers[name]
        return headers
