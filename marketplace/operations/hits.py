"""HIT types and HITs: made, shown, extended, taken down."""

import hashlib
import json
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from marketplace import cents, events, faults, forms, payment, questions, requirements
from marketplace.errors import ParameterValidationError, RequestError, does_not_exist, wrong_state
from marketplace.models import HIT, HITType, QualificationType
from marketplace.operations.asked import Asked, operation
from marketplace.paging import page
from marketplace.status import ASSIGNABLE, DISPOSED, REVIEWABLE, REVIEWING, available, status

DEFAULT_APPROVAL = 30 * 24 * 3600
LEAST, MOST = 30, 31_536_000  # seconds of a lifetime, or of an assignment
MOST_APPROVAL = 2_592_000
MANY = 10  # a HIT made for fewer assignments never gets so many
MOST_ASSIGNMENTS = 1_000_000_000
YEAR = timedelta(days=365)


# --- Types ----------------------------------------------------------------------------------------


@operation
def create_hit_type(asked: Asked) -> dict[str, Any]:
    return {"HITTypeId": _type_of(asked).type_id}


def _type_of(asked: Asked) -> HITType:
    """The type with these properties: the one there is, or a new one."""
    title, description = asked.params["Title"], asked.params["Description"]
    _length("Title", title, 128)
    _length("Description", description, 2000)
    _length("Keywords", asked.get("Keywords", ""), 1000)
    values: dict[str, Any] = {
        "title": title,
        "description": description,
        "keywords": asked.get("Keywords", ""),
        "reward": asked.cents("Reward"),
        "assignment_seconds": _between("AssignmentDurationInSeconds", asked, LEAST, MOST),
        "auto_approval_seconds": _between("AutoApprovalDelayInSeconds", asked, 0, MOST_APPROVAL, DEFAULT_APPROVAL),
        "requirements": requirements.read(asked.requester, asked.get("QualificationRequirements", [])),
    }
    print_of = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    made, is_new = HITType.objects.get_or_create(
        requester=asked.requester, fingerprint=print_of, defaults={**values, "created_at": asked.at}
    )
    if is_new:
        asked.effect["hit_type"] = made.type_id
    return made


def _length(name: str, value: str, most: int) -> None:
    if len(value) > most or (not value.strip() and name != "Keywords"):
        raise ParameterValidationError(f"{name} must have from 1 to {most} characters; it has {len(value)}.")


def _between(name: str, asked: Asked, least: int, most: int, default: int | None = None) -> int:
    value = asked.get(name, default)
    if value is None or not least <= value <= most:
        raise ParameterValidationError(f'The value "{value}" is not valid for the parameter {name}: {least} to {most}.')
    return int(value)


def type_with_id(asked: Asked, type_id: str) -> HITType:
    """One of the caller's. Raises RequestError."""
    found = HITType.objects.filter(requester=asked.requester, type_id=type_id).first()
    if found is None:
        raise does_not_exist("HITType", type_id)
    return found


# --- Making ---------------------------------------------------------------------------------------


@operation
@transaction.atomic
def create_hit(asked: Asked) -> dict[str, Any]:
    return {"HIT": show(_create(asked, _type_of(asked)), asked)}


@operation
@transaction.atomic
def create_hit_with_hit_type(asked: Asked) -> dict[str, Any]:
    return {"HIT": show(_create(asked, type_with_id(asked, asked.params["HITTypeId"])), asked)}


def _create(asked: Asked, hit_type: HITType) -> HIT:
    if asked.get("HITLayoutId"):
        raise does_not_exist("HITLayout", asked.params["HITLayoutId"])
    for policy in ("AssignmentReviewPolicy", "HITReviewPolicy"):
        if asked.get(policy):
            raise RequestError("InvalidParameterValue", f"{policy} is not carried out by this marketplace.")
    if not asked.get("Question"):
        raise ParameterValidationError(
            "Exactly one of Question and HITLayoutId must be given; this server has no layouts."
        )
    _length("RequesterAnnotation", asked.get("RequesterAnnotation") or "-", 255)
    question = questions.read(asked.params["Question"])
    if question.kind == "form":
        forms.fields(question.text)
    count = _between("MaxAssignments", asked, 1, MOST_ASSIGNMENTS, 1)
    seconds = _between("LifetimeInSeconds", asked, LEAST, MOST)
    hit = HIT(
        requester=asked.requester,
        hit_type=hit_type,
        question=asked.params["Question"],
        annotation=asked.get("RequesterAnnotation", ""),
        max_assignments=count,
        made_for=count,
        hold=hold_of(hit_type, count),
        created_at=asked.at,
        expires_at=asked.at + timedelta(seconds=seconds),
    )
    asked.once(hit.hit_id)
    hit.save(force_insert=True)
    payment.hold(hit, count, at=asked.at)
    asked.effect["hit"] = hit.hit_id
    events.tell(hit, "HITCreated", at=asked.at)
    return hit


def hold_of(hit_type: HITType, assignments: int) -> int:
    """Cents for one assignment of a HIT made for so many: reward and fee."""
    masters = requirements.asks_for_masters(hit_type.requirements)
    preset = settings.MARKETPLACE_FEES
    return hit_type.reward + cents.reward_fee(hit_type.reward, assignments, masters=masters, preset=preset)


# --- Showing --------------------------------------------------------------------------------------


def show(hit: HIT, asked: Asked) -> dict[str, Any]:
    """As the model has it; QualificationRequirements is there also when empty."""
    shared = hit.hit_type
    return {
        "HITId": hit.hit_id,
        "HITTypeId": shared.type_id,
        "HITGroupId": shared.type_id,
        "CreationTime": hit.created_at.timestamp(),
        "Title": shared.title,
        "Description": shared.description,
        "Question": hit.question,
        **({"Keywords": shared.keywords} if shared.keywords else {}),
        "HITStatus": status(hit, asked.at),
        "MaxAssignments": hit.max_assignments,
        "Reward": cents.to_text(shared.reward),
        "AutoApprovalDelayInSeconds": shared.auto_approval_seconds,
        "Expiration": hit.expires_at.timestamp(),
        "AssignmentDurationInSeconds": shared.assignment_seconds,
        **({"RequesterAnnotation": hit.annotation} if hit.annotation else {}),
        "QualificationRequirements": shared.requirements,
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": hit.accepted,
        "NumberOfAssignmentsAvailable": available(hit, asked.at),
        "NumberOfAssignmentsCompleted": hit.approved + hit.rejected,
    }


def own(asked: Asked, *, lock: bool = False) -> HIT:
    """The caller's HIT that the parameters name. Raises RequestError."""
    rows = HIT.objects.select_related("hit_type", "requester").filter(requester=asked.requester)
    if lock:
        rows = rows.select_for_update(of=("self",))
    found = rows.filter(hit_id=asked.params["HITId"]).first()
    if found is None or faults.is_too_new(found.created_at, asked.at):
        raise does_not_exist("HIT", asked.params["HITId"], "HITDoesNotExist")
    return found


@operation
def get_hit(asked: Asked) -> dict[str, Any]:
    return {"HIT": show(own(asked), asked)}


def _listed(asked: Asked, rows: QuerySet[HIT]) -> dict[str, Any]:
    rows = rows.filter(requester=asked.requester, disposed_at=None).select_related("hit_type")
    account = asked.requester.account_id
    return page(asked.operation, account, asked.params, rows, ["pk"], lambda hit: show(hit, asked), "HITs")


@operation
def list_hits(asked: Asked) -> dict[str, Any]:
    return _listed(asked, HIT.objects.all())


@operation
def list_reviewable_hits(asked: Asked) -> dict[str, Any]:
    """Nothing of it is in anybody's hands, and it is full or has expired."""
    full = HIT.objects.filter(max_assignments__lte=F("submitted") + F("approved") + F("rejected"))
    rows = (full | HIT.objects.filter(expires_at__lte=asked.at)).filter(accepted=0)
    rows = rows.filter(is_reviewing=asked.get("Status", REVIEWABLE) == REVIEWING)
    if type_id := asked.get("HITTypeId"):
        rows = rows.filter(hit_type=type_with_id(asked, type_id))
    return _listed(asked, rows)


@operation
def list_hits_for_qualification_type(asked: Asked) -> dict[str, Any]:
    """Of one that was deleted, too: HITs go on asking for it."""
    wanted = asked.params["QualificationTypeId"]
    known = QualificationType.objects.filter(qualification_type_id=wanted)
    if wanted not in requirements.SYSTEM and not known.exists():
        raise does_not_exist("QualificationType", wanted)
    types = HITType.objects.filter(requester=asked.requester).values_list("pk", "requirements")
    asking = [pk for pk, needed in types if any(each["QualificationTypeId"] == wanted for each in needed)]
    return _listed(asked, HIT.objects.filter(hit_type__in=asking))


@operation
def list_review_policy_results_for_hit(asked: Asked) -> dict[str, Any]:
    """There are no review policies here, so there is never a result."""
    return {"HITId": own(asked).hit_id}


# --- Changing -------------------------------------------------------------------------------------


def _undisposed(asked: Asked) -> HIT:
    """The caller's HIT, locked. Raises RequestError for one that was deleted."""
    hit = own(asked, lock=True)
    if hit.disposed_at:
        raise wrong_state("HIT", hit.hit_id, DISPOSED, "Assignable, Unassignable, Reviewable, Reviewing")
    return hit


@operation
@transaction.atomic
def update_expiration_for_hit(asked: Asked) -> dict[str, Any]:
    """The past expires it now. The same moment again is refused, as by the service, which makes its own token of it."""
    hit, until = _undisposed(asked), asked.params["ExpireAt"]
    if until > asked.at and until == hit.expires_at:
        raise RequestError(
            "DuplicateRequest", f'The idempotency token "{hit.hit_id}{until}" has already been processed.'
        )
    is_longer, was = until > hit.expires_at, status(hit, asked.at)
    hit.expires_at = min(hit.expires_at, asked.at) if until <= asked.at else until
    hit.save(update_fields=["expires_at"])
    asked.effect["hit"] = hit.hit_id
    events.tell(hit, "HITExtended" if is_longer else "HITExpired", at=asked.at)
    if was == ASSIGNABLE:
        events.tell_if_reviewable(hit.pk, at=asked.at)
    return {}


@operation
@transaction.atomic
def create_additional_assignments_for_hit(asked: Asked) -> dict[str, Any]:
    hit, more = _undisposed(asked), _between("NumberOfAdditionalAssignments", asked, 1, MOST_ASSIGNMENTS)
    if hit.created_at <= asked.at - YEAR:
        raise RequestError("HITTooOldForExtension", f"HIT {hit.hit_id} is too old to be extended.")
    if hit.made_for < MANY <= hit.max_assignments + more:
        raise RequestError(
            "InvalidMaximumAssignmentsIncrease",
            "The extension is disallowed: a HIT that was created with fewer than 10 assignments cannot be extended "
            "to 10 or more.",
        )
    asked.once()
    payment.hold(hit, more, at=asked.at)
    hit.max_assignments += more
    hit.save(update_fields=["max_assignments"])
    asked.effect |= {"hit": hit.hit_id, "more": more}
    events.tell(hit, "HITExtended", at=asked.at)
    return {}


@operation
@transaction.atomic
def update_hit_review_status(asked: Asked) -> dict[str, Any]:
    hit = own(asked, lock=True)
    needed = REVIEWING if asked.get("Revert") else REVIEWABLE
    if (now := status(hit, asked.at)) != needed:
        raise wrong_state("HIT", hit.hit_id, now, needed)
    hit.is_reviewing = not asked.get("Revert")
    hit.save(update_fields=["is_reviewing"])
    asked.effect["hit"] = hit.hit_id
    return {}


@operation
@transaction.atomic
def update_hit_type_of_hit(asked: Asked) -> dict[str, Any]:
    """What is held changes with the reward, for every place that is not paid."""
    hit = _undisposed(asked)
    hit_type = type_with_id(asked, asked.params["HITTypeId"])
    places = hit.max_assignments - hit.approved - hit.rejected
    payment.release(hit, places, at=asked.at)
    hit.hit_type, hit.hold = hit_type, hold_of(hit_type, hit.made_for)
    payment.hold(hit, places, at=asked.at)
    hit.save(update_fields=["hit_type", "hold"])
    asked.effect["hit"] = hit.hit_id
    return {}


@operation
@transaction.atomic
def delete_hit(asked: Asked) -> dict[str, Any]:
    """Only reviewed work may be left; what is held for places that nobody took is given back."""
    hit = own(asked, lock=True)
    now = status(hit, asked.at)
    if now not in (REVIEWABLE, REVIEWING) or hit.submitted:
        raise wrong_state("HIT", hit.hit_id, now, "Reviewing, Reviewable")
    payment.release(hit, hit.max_assignments - hit.taken, at=asked.at)
    hit.disposed_at = asked.at
    hit.save(update_fields=["disposed_at"])
    asked.effect["hit"] = hit.hit_id
    events.tell(hit, "HITDisposed", at=asked.at)
    return {}
