"""Money as whole cents: what is written on the wire, and what fees come to. Pure."""

import re
from decimal import ROUND_HALF_UP, Decimal

# MTurk's: a share of the reward, more for ten assignments and up, and for masters; at least a cent (MTURK.md 5).
FEE, MANY_FEE, MASTERS_FEE, MANY = Decimal("0.20"), Decimal("0.20"), Decimal("0.05"), 10


AMOUNT = re.compile(r"\d{1,9}(\.\d{0,2})?")  # what `from_text` takes


def from_text(text: str) -> int:
    """ "0.05", "5", "5." -> cents. The model's pattern lets no more than two decimals through."""
    return int(Decimal(text.rstrip(".") or "0") * 100)


def to_text(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def reward_fee(cents: int, assignments: int, *, masters: bool, preset: str) -> int:
    """For one assignment, of a HIT made for so many. preset: "none" or "mturk"."""
    if preset == "none" or not cents:
        return 0
    return _share(cents, FEE + MANY_FEE * (assignments >= MANY) + MASTERS_FEE * masters)


def bonus_fee(cents: int, *, preset: str) -> int:
    return 0 if preset == "none" else _share(cents, FEE)


def _share(cents: int, share: Decimal) -> int:
    return max(1, int((cents * share).quantize(Decimal(1), ROUND_HALF_UP)))
