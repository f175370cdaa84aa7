"""What workers are owed."""

import csv
import io
from collections.abc import Iterable

from marketplace import cents
from marketplace.ledger import Kind
from marketplace.models import Account, Transfer, Worker


def owed(*, lock: bool = False) -> list[tuple[Worker, int]]:
    """(worker, cents) of everybody who is owed anything."""
    found = Account.objects.filter(kind=Kind.OWED, balance__gt=0).select_related("worker").order_by("worker_id")
    rows = found.select_for_update(of=("self",)) if lock else found
    return [(account.worker, account.balance) for account in rows if account.worker]


def last() -> int:
    """The latest payout that was booked: a list of what is owed is as good as long as there is no later one."""
    return Transfer.objects.filter(what="payout").order_by("-pk").values_list("pk", flat=True).first() or 0


def as_csv(rows: Iterable[tuple[Worker, int]]) -> str:
    """A line per worker. A name that a spreadsheet would take for a formula is written as text."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(["worker_id", "name", "email", "amount"])
    table.writerows((w.worker_id, _plain(w.name), _plain(w.email), cents.to_text(amount)) for w, amount in rows)
    return written.getvalue()


def _plain(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text
