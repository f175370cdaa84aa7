"""The marketplace's own tables; nothing here points to another app but Django's accounts."""

from marketplace.models.calls import Call, Notice, Token
from marketplace.models.money import Account, Bonus, Transfer
from marketplace.models.people import Address, Block, Requester, Worker
from marketplace.models.qualifications import Grant, QualificationRequest, QualificationType
from marketplace.models.work import HIT, Assignment, HITType

__all__ = [
    "HIT",
    "Account",
    "Address",
    "Assignment",
    "Block",
    "Bonus",
    "Call",
    "Grant",
    "HITType",
    "Notice",
    "QualificationRequest",
    "QualificationType",
    "Requester",
    "Token",
    "Transfer",
    "Worker",
]
