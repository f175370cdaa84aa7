"""What each worker is owed, for whoever pays it: `manage.py payouts --out FILE [--mark]`."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from marketplace import cents, ledger, payouts


class Command(BaseCommand):
    help = (
        "Write a CSV file of what workers are owed. With --mark the amounts in it are booked as paid; do that when the "
        "money has left, once: what is owed afterwards is new."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", metavar="FILE", required=True, help="- for standard output")
        parser.add_argument("--mark", action="store_true", help="book these amounts as paid")

    @transaction.atomic
    def handle(self, *, out: str, mark: bool, **_: Any) -> None:
        rows, now = payouts.owed(lock=True), timezone.now()
        if mark:
            for worker, amount in rows:
                ledger.pay_out(worker, amount, f"payout of {now:%Y-%m-%d %H:%M}", at=now)
        if out == "-":
            self.stdout.write(payouts.as_csv(rows), ending="")
            return
        try:
            Path(out).write_text(payouts.as_csv(rows), encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Cannot write {out}: {error.strerror}.") from error
        total = sum(amount for _, amount in rows)
        self.stdout.write(json.dumps({"workers": len(rows), "total": cents.to_text(total), "marked": mark}))
