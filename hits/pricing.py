"""What a marketplace takes beside rewards and bonuses. Source: MTURK.md 5."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
SHARE, SURCHARGE, MANY = Decimal("0.20"), Decimal("0.20"), 10  # of the reward; more for HITs of so many assignments
SEATS = 9  # the most that one HIT sells without the surcharge


def cents(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)


def reward_fee(reward: Decimal, seats: int, scheme: str) -> Decimal:
    """For one assignment of a HIT with so many. scheme: "none", or "mturk" for what Amazon took."""
    if scheme == "none":
        return Decimal("0.00")
    share = SHARE + (SURCHARGE if seats >= MANY else 0)
    return max(CENT, cents(reward * share))


def bonus_fee(amount: Decimal, scheme: str) -> Decimal:
    return Decimal("0.00") if scheme == "none" else max(CENT, cents(amount * SHARE))
