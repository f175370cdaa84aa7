"""Errors as they go over the wire (AWS JSON 1.1)."""

from typing import Any

ACCOUNT = "AWS.MechanicalTurk."


class WireError(Exception):
    """An error with its `__type`, HTTP status and message."""

    kind, status = "ServiceFault", 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def body(self) -> dict[str, Any]:
        return {"__type": self.kind, "Message": self.message, "message": self.message}


class RequestError(WireError):
    """A refusal for a reason of business. code: a TurkErrorCode without its prefix."""

    kind, status = "RequestError", 400

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = ACCOUNT + code

    def body(self) -> dict[str, Any]:
        return {"__type": self.kind, "Message": self.message, "TurkErrorCode": self.code}


class ValidationException(WireError):
    """Against the service's model: a length, a pattern, an enumeration."""

    kind, status = "ValidationException", 400


class ParameterValidationError(WireError):
    """A value that the model allows and that makes no sense."""

    kind, status = "ParameterValidationError", 400


class Throttled(WireError):
    kind, status = "ThrottlingException", 400


class BadSignature(WireError):
    kind, status = "InvalidSignatureException", 400


class UnknownKey(WireError):
    kind, status = "UnrecognizedClientException", 400


class Expired(WireError):
    kind, status = "RequestExpired", 400


class MissingAuthentication(WireError):
    kind, status = "MissingAuthenticationTokenException", 400


class UnknownOperation(WireError):
    kind, status = "UnknownOperationException", 400


class SerializationException(WireError):
    kind, status = "SerializationException", 400


def does_not_exist(what: str, value: str, code: str = "") -> RequestError:
    return RequestError(code or f"{what}DoesNotExist", f"{what} {value} does not exist.")


def wrong_state(what: str, value: str, state: str, allowed: str) -> RequestError:
    """what: "HIT" or "Assignment"."""
    return RequestError(
        f"Invalid{what}State",
        f"This {what} is currently in the state '{state}'.  This operation can be called with a status of: {allowed}",
    )
