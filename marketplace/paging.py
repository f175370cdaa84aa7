"""Pages: by key, so that rows which arrive meanwhile move nothing. A page with rows has a token; the end is empty."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from marketplace.errors import RequestError

Row = TypeVar("Row", bound=Model)
USUAL = 10
SALT = "marketplace.page"


def page(
    operation: str,
    account: str,
    params: Mapping[str, Any],
    rows: QuerySet[Row],
    order: Sequence[str],
    show: Callable[[Row], Mapping[str, Any]],
    name: str,
) -> dict[str, Any]:
    """One page of `rows` in ascending `order` (fields, the last one unique), as {name, NumResults, NextToken?}.

    The token is tied to the operation, its caller and its other parameters. Raises RequestError for another's.
    """
    kept = {key: str(value) for key, value in sorted(params.items()) if key not in ("NextToken", "MaxResults")}
    call = hashlib.sha256(json.dumps([operation, account, kept]).encode()).hexdigest()[:12]
    if token := params.get("NextToken"):
        rows = rows.filter(_after(order, _read(token, call)))
    found = list(rows.order_by(*order)[: params.get("MaxResults", USUAL)])
    result: dict[str, Any] = {"NumResults": len(found), name: [show(row) for row in found]}
    if found:
        last = [_plain(getattr(found[-1], field)) for field in order]
        result["NextToken"] = signing.dumps([call, last], salt=SALT, compress=True)
    return result


def _plain(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _read(token: str, call: str) -> list[Any]:
    try:
        made_for, last = signing.loads(token, salt=SALT)
        if made_for == call:
            return list(last)
    except (signing.BadSignature, ValueError, TypeError):
        pass
    raise RequestError("InvalidParameterValue", "The NextToken is not one of this call.")


def _after(order: Sequence[str], last: Sequence[Any]) -> Q:
    """Rows behind the last one, field by field."""
    behind, same = Q(), Q()
    for field, value in zip(order, last, strict=True):
        behind |= same & Q(**{f"{field}__gt": value})
        same &= Q(**{field: value})
    return behind
