from decimal import Decimal

import pytest

from hits.pricing import bonus_fee, reward_fee
from hits.publishing import sizes


@pytest.mark.parametrize(
    ("reward", "seats", "fee"),
    [
        ("1.20", 9, "0.24"),
        ("1.20", 10, "0.48"),
        ("0.50", 9, "0.10"),
        ("0.01", 9, "0.01"),  # never less than a cent
        ("0.02", 10, "0.01"),
        ("0.13", 9, "0.03"),  # 0.026
        ("0.125", 9, "0.03"),  # 0.025 is rounded up
    ],
)
def test_amazon_takes_a_fifth_and_another_for_ten_and_more(reward, seats, fee):
    assert reward_fee(Decimal(reward), seats, "mturk") == Decimal(fee)


def test_the_own_marketplace_takes_nothing():
    assert reward_fee(Decimal("1.20"), 10, "none") == bonus_fee(Decimal("1.20"), "none") == 0


@pytest.mark.parametrize(("amount", "fee"), [("1.00", "0.20"), ("0.02", "0.01"), ("0.04", "0.01"), ("2.38", "0.48")])
def test_a_bonus_costs_a_fifth_more(amount, fee):
    assert bonus_fee(Decimal(amount), "mturk") == Decimal(fee)


@pytest.mark.parametrize(
    ("sittings", "per_hit", "seats"), [(4, 2, [2, 2]), (5, 2, [2, 2, 1]), (1, 9, [1]), (20, 9, [9, 9, 2])]
)
def test_sittings_are_spread_over_hits(sittings, per_hit, seats):
    assert sizes(sittings, per_hit) == seats
