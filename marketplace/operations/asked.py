"""One call as an operation sees it, and the register of operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from marketplace import cents
from marketplace.errors import ParameterValidationError, RequestError
from marketplace.models import Requester, Token

DAY = timedelta(hours=24)
LONGEST, MOST_CENTS = 20, 999_999_999  # of an amount: characters, and what a column holds with its fee


@dataclass
class Asked:
    """requester: who signed. params: as the model has them. effect: what was changed, by name and id, to record."""

    requester: Requester
    operation: str
    params: Mapping[str, Any]
    at: datetime
    effect: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        return self.params.get(name, default)

    def cents(self, name: str) -> int:
        """An amount of money. Raises ParameterValidationError for more than anything here can cost."""
        text = self.params[name]
        if len(text) > LONGEST or cents.from_text(text) > MOST_CENTS:
            raise ParameterValidationError(f'The value "{text[:60]}" is not valid for the parameter {name}.')
        return cents.from_text(text)

    def once(self, made: str = "") -> None:
        """Use up the call's UniqueRequestToken, if it has one. Raises RequestError where it was used within a day.

        Two calls at the same moment wait for each other here: the first to use it wins.
        """
        token = self.get("UniqueRequestToken")
        if not token:
            return
        mine = Token.objects.filter(requester=self.requester, operation=self.operation, token=token)
        mine.filter(at__lte=self.at - DAY).delete()
        try:
            with transaction.atomic():
                Token.objects.create(
                    requester=self.requester, operation=self.operation, token=token, made=made, at=self.at
                )
        except IntegrityError:
            raise self._again(mine.get(), token) from None

    def _again(self, used: Token, token: str) -> RequestError:
        if used.made:
            return RequestError(
                "HITAlreadyExists",
                f'The HIT with ID "{used.made}" already exists: it was made with this request token.',
            )
        return RequestError("DuplicateRequest", f'The idempotency token "{token}" has already been processed.')


Operation = Callable[[Asked], dict[str, Any]]
OPERATIONS: dict[str, Operation] = {}


def operation(function: Operation) -> Operation:
    """Register a function under the operation's name: create_hit_type is CreateHITType."""
    OPERATIONS[NAMES.get(function.__name__) or "".join(p.capitalize() for p in function.__name__.split("_"))] = function
    return function


# Where capitals are not those of words.
NAMES = {
    "create_hit_type": "CreateHITType",
    "create_hit": "CreateHIT",
    "create_hit_with_hit_type": "CreateHITWithHITType",
    "get_hit": "GetHIT",
    "list_hits": "ListHITs",
    "list_reviewable_hits": "ListReviewableHITs",
    "list_hits_for_qualification_type": "ListHITsForQualificationType",
    "update_expiration_for_hit": "UpdateExpirationForHIT",
    "update_hit_review_status": "UpdateHITReviewStatus",
    "update_hit_type_of_hit": "UpdateHITTypeOfHIT",
    "create_additional_assignments_for_hit": "CreateAdditionalAssignmentsForHIT",
    "delete_hit": "DeleteHIT",
    "list_review_policy_results_for_hit": "ListReviewPolicyResultsForHIT",
    "list_assignments_for_hit": "ListAssignmentsForHIT",
    "get_file_upload_url": "GetFileUploadURL",
}
