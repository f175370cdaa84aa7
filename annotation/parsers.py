"""JSON as the standard has it, read once and refused with a sentence."""

import json
from collections.abc import Mapping
from typing import IO, Any

from django.http import UnreadablePostError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_DEPTH = 20  # an answer is four deep; what is deeper than this is not meant


class StrictJSONParser(BaseParser):
    """UTF-8, finite numbers, every name once, at most MAX_DEPTH deep. Raises ParseError (400)."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            body = json.loads(stream.read().decode(), object_pairs_hook=_once, parse_constant=_no, parse_float=_finite)
        except UnreadablePostError:
            raise ParseError("The body broke off. Send it again.") from None
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8. Send JSON in UTF-8.") from None
        except json.JSONDecodeError as error:
            raise ParseError(f"The body is not JSON: {error}.") from None
        except RecursionError:
            raise ParseError(TOO_DEEP) from None
        except ValueError as error:  # a number, or ours
            raise ParseError(f"The body cannot be read: {error}.") from None
        if _deeper_than(MAX_DEPTH, body):
            raise ParseError(TOO_DEEP)
        return body


TOO_DEEP = f"The body is nested more than {MAX_DEPTH} deep. Send it flatter."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name given twice JSON keeps one value and drops the other in silence; here nothing is dropped."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is given twice in one object")
    return found


def _no(constant: str) -> float:
    raise ValueError(f"{constant} is not a number in JSON")


def _finite(text: str) -> float:
    if (number := float(text)) in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _deeper_than(limit: int, value: object) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(_deeper_than(limit - 1, each) for each in inside)
