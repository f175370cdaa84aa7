"""The requester API's 39 operations by name, each a function of who asks, with what, and when."""

from marketplace.operations import assignments, hits, money, notifications, qualifications, workers
from marketplace.operations.asked import OPERATIONS, Asked

__all__ = ["OPERATIONS", "Asked", "assignments", "hits", "money", "notifications", "qualifications", "workers"]
