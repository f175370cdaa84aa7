"""What a HIT's clock and counters come to (MTURK.md 2). Pure."""

from datetime import datetime

from marketplace.models import HIT

ASSIGNABLE, UNASSIGNABLE, REVIEWABLE, REVIEWING, DISPOSED = (
    "Assignable",
    "Unassignable",
    "Reviewable",
    "Reviewing",
    "Disposed",
)


def status(hit: HIT, at: datetime) -> str:
    """Expiry never ends accepted work: with some of it in somebody's hands a HIT is not reviewable yet."""
    if hit.disposed_at:
        return DISPOSED
    is_full, is_expired = hit.taken >= hit.max_assignments, hit.expires_at <= at
    if not is_full and not is_expired:
        return ASSIGNABLE
    if hit.accepted:
        return UNASSIGNABLE
    return REVIEWING if hit.is_reviewing else REVIEWABLE


def available(hit: HIT, at: datetime) -> int:
    """Places that somebody can still take."""
    return hit.max_assignments - hit.taken if status(hit, at) == ASSIGNABLE else 0
