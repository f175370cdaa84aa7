"""Requests held against botocore's own model of the service, with the sentences AWS has for what does not fit.

boto3 checks required members, types and minima by itself; patterns, maxima and enumerations reach the server.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StructureShape

from marketplace.errors import SerializationException, ValidationException


@cache
def service() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("mturk", "service-2"), "mturk")


def operation(name: str) -> OperationModel | None:
    return service().operation_model(name) if name in service().operation_names else None


TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "boolean": (bool,),
    "timestamp": (int, float, str),
    "list": (list,),
    "structure": (dict,),
}


WHOLE = {"integer": 2**31, "long": 2**63}  # of either sign, from here on a whole number is none of these
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # no database keeps these as text


def read(model: OperationModel, body: object) -> dict[str, Any]:
    """The parameters the model knows, timestamps as datetimes. Raises ValidationException or SerializationException."""
    if not isinstance(body, dict):
        raise SerializationException("The request body is not a JSON object.")
    found: list[str] = []
    shape = model.input_shape
    clean = _read(shape, body, "", found) if shape else {}
    if found:
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected: "
        raise ValidationException(count + "; ".join(found))
    return dict(clean)


def _read(shape: Shape, value: Any, path: str, found: list[str]) -> Any:
    fits = isinstance(value, bool) == (shape.type_name == "boolean") and isinstance(value, TYPES[shape.type_name])
    if not fits:
        raise SerializationException(f"{path or 'The request'} cannot be read as {shape.type_name}.")
    most = WHOLE.get(shape.type_name)
    if most and not -most <= value < most:
        raise SerializationException(f"{path} cannot be read as {shape.type_name}.")
    if isinstance(shape, StructureShape):
        return _structure(shape, value, path, found)
    if isinstance(shape, ListShape):
        found += [_failed(value, path, said) for said in _size(shape.metadata, len(value), "length")]
        return [_read(shape.member, each, f"{path}.{n}.member", found) for n, each in enumerate(value, 1)]
    if shape.type_name == "timestamp":
        return _time(value, path)
    found += [_failed(value, path, said) for said in _faults(shape, value)]
    return value


def _structure(shape: StructureShape, value: Mapping[str, Any], path: str, found: list[str]) -> dict[str, Any]:
    """What the model does not know is left alone, as AWS does; null is the same as missing."""
    clean = {}
    for name, member in shape.members.items():
        where = f"{path}.{_lower(name)}".removeprefix(".")
        if value.get(name) is not None:
            clean[name] = _read(member, value[name], where, found)
        elif name in shape.required_members:
            found.append(f"Value null at '{where}' failed to satisfy constraint: Member must not be null")
    return clean


def _lower(name: str) -> str:
    """As the errors spell members: hITId, bonusAmount."""
    return name[:1].lower() + name[1:]


def _failed(value: object, path: str, said: str) -> str:
    shown = str(value) if len(str(value)) <= 200 else str(value)[:200] + "..."
    return f"Value '{shown}' at '{path}' failed to satisfy constraint: {said}"


def _faults(shape: Shape, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _size(shape.metadata, len(value), "length")
        if UNSTORABLE.search(value):
            yield "Member must be text, without null characters and halves of characters"
        pattern = shape.metadata.get("pattern")
        if pattern and not re.fullmatch(pattern, value):
            yield f"Member must satisfy regular expression pattern: {pattern}"
        if (allowed := shape.metadata.get("enum")) and value not in allowed:
            yield f"Member must satisfy enum value set: [{', '.join(allowed)}]"
    else:
        yield from _size(shape.metadata, value, "value")


def _size(metadata: Mapping[str, Any], size: int, what: str) -> Iterator[str]:
    if "min" in metadata and size < metadata["min"]:
        yield f"Member must have {what} greater than or equal to {metadata['min']}"
    if "max" in metadata and size > metadata["max"]:
        yield f"Member must have {what} less than or equal to {metadata['max']}"


def _time(value: float | str, path: str) -> datetime:
    """Seconds since 1970, or ISO 8601."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        raise SerializationException(f"{path} cannot be read as a time.") from None
