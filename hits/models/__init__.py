"""What is asked of a marketplace, who came from there, and what everybody is owed."""

from hits.models.batches import Batch, Hit, Visit
from hits.models.intents import Call, Intent, Pace
from hits.models.money import Budget, Payment
from hits.models.once import Once
from hits.models.people import Grant, MarketWorker, QualificationType

__all__ = [
    "Batch",
    "Budget",
    "Call",
    "Grant",
    "Hit",
    "Intent",
    "MarketWorker",
    "Once",
    "Pace",
    "Payment",
    "QualificationType",
    "Visit",
]
