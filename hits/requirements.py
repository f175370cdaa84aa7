"""Who may take a HIT, as the requester API writes it. Sources: MTURK.md 4."""

from collections.abc import Mapping, Sequence
from typing import Any

APPROVED_PERCENT = "000000000000000000L0"
APPROVED_NUMBER = "00000000000000000040"
LOCALE = "00000000000000000071"
ADULT = "00000000000000000060"
MASTERS = {"sandbox": "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", "production": "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"}
MOST = 10  # requirements of one HIT

Requirement = Mapping[str, Any]


def asked(
    *, percent: int = 0, number: int = 0, countries: Sequence[str] = (), adult: bool = False
) -> list[dict[str, Any]]:
    """percent: of their work approved, at least; number: of approved assignments, at least; countries: two letters."""
    found: list[dict[str, Any]] = []
    if percent:
        found.append(_at_least(APPROVED_PERCENT, percent))
    if number:
        found.append(_at_least(APPROVED_NUMBER, number))
    if countries:
        values = [{"Country": country.strip().upper()} for country in countries]
        found.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": values})
    if adult:
        found.append({"QualificationTypeId": ADULT, "Comparator": "EqualTo", "IntegerValues": [1]})
    return found


def _at_least(type_id: str, value: int) -> dict[str, Any]:
    return {"QualificationTypeId": type_id, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [value]}


def holds(type_id: str) -> dict[str, Any]:
    return {"QualificationTypeId": type_id, "Comparator": "Exists"}


def lacks(type_id: str) -> dict[str, Any]:
    """Who holds it does not even see the HIT."""
    guarded = "DiscoverPreviewAndAccept"
    return {"QualificationTypeId": type_id, "Comparator": "DoesNotExist", "ActionsGuarded": guarded}
