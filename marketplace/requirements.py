"""What a HIT type asks of its workers, and whether one has it (MTURK.md 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marketplace.errors import ParameterValidationError, RequestError
from marketplace.models import Grant, QualificationType, Requester, Worker

PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
LOCALE = "00000000000000000071"
ADULT = "00000000000000000060"
MASTERS = ("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6")
SYSTEM = {
    PERCENT_APPROVED: "Share of assignments approved, in percent",
    NUMBER_APPROVED: "Number of assignments approved",
    LOCALE: "Location",
    ADULT: "Adult content",
    **dict.fromkeys(MASTERS, "Masters"),
}
MOST, MOST_INTEGERS, MOST_LOCALES = 10, 15, 30
FEW = 100  # so many submitted assignments make a percentage
GUARDED = ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept")


def read(requester: Requester, given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Requirements as they are kept and shown. Raises ParameterValidationError, or RequestError."""
    if len(given) > MOST:
        raise ParameterValidationError(
            f"A HIT type has at most {MOST} QualificationRequirements; there are {len(given)}."
        )
    return [_read(requester, each) for each in given]


def _read(requester: Requester, given: Mapping[str, Any]) -> dict[str, Any]:
    type_id, comparator = given["QualificationTypeId"], given["Comparator"]
    integers, locales = given.get("IntegerValues", []), given.get("LocaleValues", [])
    if (
        type_id not in SYSTEM
        and not QualificationType.objects.filter(qualification_type_id=type_id, deleted_at=None).exists()
    ):
        raise RequestError("QualificationTypeDoesNotExist", f"QualificationType {type_id} does not exist.")
    if comparator in ("Exists", "DoesNotExist"):
        if integers or locales:
            raise ParameterValidationError(f"The comparator {comparator} takes no values.")
    elif type_id == LOCALE:
        _check(comparator, locales, ("EqualTo", "NotEqualTo"), MOST_LOCALES, "LocaleValues")
    else:
        allowed = ("LessThan", "LessThanOrEqualTo", "GreaterThan", "GreaterThanOrEqualTo", "EqualTo", "NotEqualTo")
        _check(comparator, integers, allowed, MOST_INTEGERS, "IntegerValues")
    if "RequiredToPreview" in given and "ActionsGuarded" in given:
        raise ParameterValidationError("RequiredToPreview is deprecated, and cannot be given beside ActionsGuarded.")
    guarded = given.get("ActionsGuarded") or ("PreviewAndAccept" if given.get("RequiredToPreview") else "Accept")
    return {
        "QualificationTypeId": type_id,
        "Comparator": comparator,
        **({"IntegerValues": list(integers)} if integers else {}),
        **({"LocaleValues": [dict(each) for each in locales]} if locales else {}),
        "RequiredToPreview": guarded != "Accept",
        "ActionsGuarded": guarded,
    }


def _check(comparator: str, values: Sequence[Any], single: Sequence[str], most: int, name: str) -> None:
    many = comparator in ("In", "NotIn")
    if not many and comparator not in single:
        raise ParameterValidationError(f'The value "{comparator}" is not valid for the parameter Comparator.')
    if not (1 <= len(values) <= most if many else len(values) == 1):
        expected = f"from 1 to {most} values" if many else "one value"
        raise ParameterValidationError(
            f"The comparator {comparator} takes {expected} in {name}; there are {len(values)}."
        )


def asks_for_masters(requirements: Sequence[Mapping[str, Any]]) -> bool:
    return any(each["QualificationTypeId"] in MASTERS and each["Comparator"] == "Exists" for each in requirements)


# --- Whether somebody has it -------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A requirement in words, whether the worker meets it, and the custom type it is about, if any."""

    words: str
    is_met: bool
    guarded: str
    type_id: str


def judge(worker: Worker, requirements: Sequence[Mapping[str, Any]]) -> list[Judged]:
    return judge_all(worker, [requirements])[0]


def judge_all(worker: Worker, many: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[Judged]]:
    """For each of several types' requirements; two queries, however many there are."""
    wanted = {each["QualificationTypeId"] for requirements in many for each in requirements}
    names = dict(
        QualificationType.objects.filter(qualification_type_id__in=wanted).values_list("qualification_type_id", "name")
    )
    grants = Grant.objects.filter(worker=worker, is_revoked=False, qualification_type__qualification_type_id__in=wanted)
    values = dict(grants.values_list("qualification_type__qualification_type_id", "value"))

    def judged(each: Mapping[str, Any]) -> Judged:
        is_met = _meets(each, _value(worker, each, values))
        return Judged(_words(each, names), is_met, each["ActionsGuarded"], each["QualificationTypeId"])

    return [[judged(each) for each in requirements] for requirements in many]


def allow(judged: Sequence[Judged], action: str) -> bool:
    """Whether nothing stands between the worker and an action: "Accept", "PreviewAndAccept" (to see it), or
    "DiscoverPreviewAndAccept" (to find it). Accepting asks for everything.
    """
    guards = GUARDED if action == "Accept" else GUARDED[GUARDED.index(action) :]
    return all(each.is_met for each in judged if each.guarded in guards)


def _value(worker: Worker, requirement: Mapping[str, Any], grants: Mapping[str, int]) -> object:
    """None for nothing."""
    type_id = requirement["QualificationTypeId"]
    if type_id == LOCALE:
        return (worker.country, worker.subdivision) if worker.country else None
    if type_id in MASTERS:
        return 1 if worker.is_master else None
    system = {
        PERCENT_APPROVED: percent_approved(worker),
        NUMBER_APPROVED: worker.approved,
        ADULT: int(worker.is_adult),
    }
    return system.get(type_id, grants.get(type_id))


def percent_approved(worker: Worker) -> int:
    """100 until a hundred assignments were submitted, as the service had it."""
    reviewed = worker.approved + worker.rejected
    if worker.submitted < FEW or not reviewed:
        return 100
    return worker.approved * 100 // reviewed


def _meets(requirement: Mapping[str, Any], value: Any) -> bool:
    comparator = requirement["Comparator"]
    if comparator in ("Exists", "DoesNotExist"):
        return (value is not None) == (comparator == "Exists")
    if requirement["QualificationTypeId"] == LOCALE:
        return _is_in(value, requirement["LocaleValues"]) == (comparator in ("EqualTo", "In"))
    values = requirement["IntegerValues"]
    if value is None:
        return comparator in ("NotEqualTo", "NotIn")
    first = values[0]
    found: bool = {
        "LessThan": value < first,
        "LessThanOrEqualTo": value <= first,
        "GreaterThan": value > first,
        "GreaterThanOrEqualTo": value >= first,
        "EqualTo": value == first,
        "NotEqualTo": value != first,
        "In": value in values,
        "NotIn": value not in values,
    }[comparator]
    return found


def _is_in(place: tuple[str, str] | None, locales: Sequence[Mapping[str, str]]) -> bool:
    """Somewhere in one of these; a country without subdivision is all of it."""
    return place is not None and any(
        place[0] == each["Country"] and each.get("Subdivision") in (None, "", place[1]) for each in locales
    )


COMPARED = {
    "LessThan": "less than",
    "LessThanOrEqualTo": "at most",
    "GreaterThan": "more than",
    "GreaterThanOrEqualTo": "at least",
    "EqualTo": "is",
    "NotEqualTo": "is not",
    "Exists": "has been granted",
    "DoesNotExist": "has not been granted",
    "In": "is one of",
    "NotIn": "is none of",
}


def _words(requirement: Mapping[str, Any], names: Mapping[str, str]) -> str:
    type_id = requirement["QualificationTypeId"]
    values = [str(n) for n in requirement.get("IntegerValues", [])]
    values += [
        "-".join(filter(None, (e["Country"], e.get("Subdivision")))) for e in requirement.get("LocaleValues", [])
    ]
    name = SYSTEM.get(type_id) or names.get(type_id, type_id)
    return " ".join([name, COMPARED[requirement["Comparator"]], ", ".join(values)]).strip()
