"""The one way a state changes: a table, and an update that is conditional on the state we believed in."""

from collections.abc import Iterable, Mapping

from django.db.models import Model

from annotation.errors import IllegalMove, LostRace
from annotation.models import Attempt, Qualification
from annotation.models.sittings import State


class Lifecycle:
    """Allowed moves from state to state."""

    def __init__(self, allowed: Mapping[str, Iterable[str]]) -> None:
        self.allowed = {state: frozenset(ways) for state, ways in allowed.items()}

    def move(self, rows: Iterable[Model], to: str, **fields: object) -> None:
        """Change the state of rows of one model to `to`. Raises IllegalMove, or LostRace if another got there first."""
        rows = list(rows)
        for row in rows:
            if to not in self.allowed.get(row.state, ()):  # type: ignore[attr-defined]
                raise IllegalMove(f"{row!r} cannot go from {row.state} to {to}")  # type: ignore[attr-defined]
        if not rows:
            return
        believed = {row.state for row in rows}  # type: ignore[attr-defined]
        manager = type(rows[0])._default_manager
        moved = manager.filter(pk__in=[row.pk for row in rows], state__in=believed).update(state=to, **fields)
        if moved != len(rows):
            raise LostRace(f"{len(rows) - moved} of {len(rows)} rows were moved by another")
        for row in rows:
            for name, value in {"state": to, **fields}.items():
                setattr(row, name, value)


SITTING = ASSIGNMENT = Lifecycle(
    {
        State.LEASED: {State.SUBMITTED, State.RETURNED, State.EXPIRED, State.WITHDRAWN},
        State.EXPIRED: {
            State.SUBMITTED,
            State.LEASED,
            State.WITHDRAWN,
        },  # a late answer is still an answer; a late worker may resume
    }
)

IN, TRIED = Qualification.State, Attempt.State

QUALIFICATION = Lifecycle(
    {
        # Failing and passing are decided once per attempt; a person may vouch for anybody at any time.
        IN.TRAINING: {IN.REVIEW, IN.FULL, IN.FAILED, IN.QUALIFIED},
        IN.REVIEW: {IN.FULL, IN.FAILED, IN.QUALIFIED},
        IN.FULL: {IN.QUALIFIED},
        IN.FAILED: {IN.TRAINING, IN.QUALIFIED},  # one more attempt was allowed
    }
)
ATTEMPT = Lifecycle(
    {
        TRIED.OPEN: {TRIED.REVIEW, TRIED.PASSED, TRIED.FAILED},
        TRIED.REVIEW: {TRIED.PASSED, TRIED.FAILED},
    }
)
