"""The API about batches and pay: what it does, once, and whom it refuses."""

import json
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation import links, staff
from annotation.models import Worker
from hits import spending
from hits.models import Batch, Intent, Once, Payment, Visit
from tests.annotation.program import Program
from tests.factories import make_study
from tests.hits.rows import NOON, earn, make_batch, make_shop, make_spender, open_account
from tests.people import make_onlooker, make_researcher

pytestmark = pytest.mark.django_db
TERMS = {"stage": "generate", "sittings": 12, "reward": "1.00"}
SHOP = "studies/crepe-a/"
ACTS = [
    ("batches/", TERMS),
    ("batches/plan/", TERMS),
    ("batches/1/top-up/", {"sittings": 1}),
    ("batches/1/extend/", {"hours": 1}),
    ("batches/1/resume/", {}),
    ("pay/", {}),
    ("bonus/", {"worker": "W001", "amount": "1.00", "reason": "Good."}),
    ("topup/", {"target": "15.00"}),
]


@pytest.fixture(autouse=True)
def _account(settings):
    open_account(settings)


@pytest.fixture
def study():
    return make_shop()


def program(user):
    return Program(token=staff.sign(user, at=timezone.now()))


@pytest.fixture
def mona(study):
    return program(make_spender(study))


def ask(program, path, body, key=None):
    headers = {"Idempotency-Key": key} if key else {}
    answered = program.send("POST", SHOP + path, json.dumps(body).encode(), headers=headers)
    return answered.status_code, answered.json()


# --- Who may ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "body"), [*ACTS, ("batches/1/pause/", {}), ("batches/1/end/", {})])
def test_who_may_not_spend_is_refused_and_to_strangers_there_is_no_study(study, path, body):
    make_batch(study)
    assert ask(program(make_onlooker(study)), path, body, "k")[0] == 403
    status, said = ask(program(make_spender(make_study("other"))), path, body, "k")
    assert (status, said["code"]) == (404, "not_found")
    assert (Batch.objects.count(), Payment.objects.count(), Once.objects.count()) == (1, 0, 0)


@pytest.mark.parametrize(("path", "body"), ACTS)
def test_a_researcher_spends_nothing_without_leave(study, path, body):
    make_batch(study)
    status, said = ask(program(make_researcher(study)), path, body, "k")
    assert (status, said["code"]) == (403, "for_spenders")


def test_a_researcher_may_stop_spending(study):
    make_batch(study)
    maria = program(make_researcher(study))
    assert ask(maria, "batches/1/pause/", {})[1]["state"] == "paused"
    assert ask(maria, "batches/1/end/", {})[1]["state"] == "closed"


def test_the_team_reads_batches_and_the_ledger_is_for_who_spends(study, mona):
    make_batch(study)
    otto = program(make_onlooker(study))
    assert otto.ask("GET", f"{SHOP}batches/")[0] == 200
    assert otto.ask("GET", f"{SHOP}batches/1/")[0] == 200
    assert otto.ask("GET", f"{SHOP}ledger/")[0] == 403
    assert mona.ask("GET", f"{SHOP}ledger/")[0] == 200
    worker = Program(token=links.sign(Worker.objects.create(code="w", created_at=NOON), links.TOKEN, at=timezone.now()))
    for path in ("batches/", "batches/1/", "ledger/"):
        assert worker.ask("GET", SHOP + path)[1]["code"] == "for_staff"
        assert Program().ask("GET", SHOP + path)[0] == 401


# --- Batches ------------------------------------------------------------------------------------------------------


def test_batches_are_listed_with_the_studys_money(study, mona):
    spending.set_budget(study, Decimal(20), by="test", at=NOON)
    earn(make_batch(study))
    status, body = mona.ask("GET", f"{SHOP}batches/")
    assert (status, body["money"]) == (
        200,
        {"budget": "20.00", "committed": "4.80", "left": "15.20", "target_hourly": None},
    )
    assert body["batches"] == [
        {
            "batch": 1,
            "stage": "generate",
            "state": "open",
            "sittings": 4,
            "reward": "1.00",
            "hits": {"open": 1},
            "unsold": 3,
            "submitted": 1,
            "approved": 0,
            "rejected": 0,
            "waiting": 1,
            "paid": "0.00",
            "quarantined": 0,
            "attention": 0,
            "created_at": "2026-11-20T12:00:00+00:00",
        }
    ]
    assert mona.ask("GET", f"{SHOP}batches/1/") == (200, body["batches"][0])
    assert mona.ask("GET", f"{SHOP}batches/9/")[0] == 404
    assert mona.ask("GET", f"{SHOP}batches/{10**30}/")[0] == 404


def test_lists_cost_a_fixed_number_of_queries(study, mona, django_assert_num_queries):
    batch = make_batch(study)
    earn(batch)
    for path, many in (("batches/", 11), ("ledger/", 5)):
        with django_assert_num_queries(many):
            mona.ask("GET", SHOP + path)
    for name in ("BEN", "CAT"):
        earn(make_batch(study), name)
    for path, many in (("batches/", 11), ("ledger/", 5)):
        with django_assert_num_queries(many):
            mona.ask("GET", SHOP + path)


def test_a_plan_says_the_cost_and_buys_nothing(study, mona):
    spending.set_budget(study, Decimal(20), by="test", at=NOON)
    assert ask(mona, "batches/plan/", TERMS) == (
        200,
        {
            "hits": 2,
            "assignments": 12,
            "reward_total": "12.00",
            "fees": "2.40",
            "total": "14.40",
            "balance": None,
            "budget_left": "5.60",
        },
    )
    assert not Batch.objects.exists()


def test_a_batch_is_bought_once_under_a_key(study, mona):
    status, first = ask(mona, "batches/", TERMS, "key-1")
    assert (status, first["batch"], first["hits"]) == (201, 1, {"planned": 2})
    assert ask(mona, "batches/", TERMS, "key-1") == (201, first)
    status, said = ask(mona, "batches/", TERMS | {"sittings": 13}, "key-1")
    assert (status, said["code"]) == (422, "key_used")
    assert ask(mona, "batches/1/top-up/", {"sittings": 1}, "key-1")[0] == 422
    assert Batch.objects.count() == 1
    assert Intent.objects.filter(kind="create").count() == 2
    assert ask(mona, "batches/", TERMS, "key-2")[1]["batch"] == 2
    somebody_else = program(make_spender(study, name="mary"))
    assert ask(somebody_else, "batches/", TERMS, "key-1")[1]["batch"] == 3


@pytest.mark.parametrize(
    ("body", "key", "status", "code"),
    [
        (TERMS, None, 400, "key_needed"),
        (TERMS, "a b", 400, "wrong_key"),
        (TERMS, "x" * 121, 400, "wrong_key"),
        (TERMS | {"more": 1}, "k", 400, "wrong_body"),
        (TERMS | {"reward": "1.005"}, "k", 400, "wrong_body"),
        (TERMS | {"reward": "NaN"}, "k", 400, "wrong_body"),
        (TERMS | {"sittings": 0}, "k", 400, "wrong_body"),
        (TERMS | {"countries": ["usa"]}, "k", 400, "wrong_body"),
        (TERMS | {"title": "a\x00b"}, "k", 400, "wrong_body"),
        ([TERMS], "k", 400, "wrong_body"),
        ({"stage": "generate"}, "k", 400, "wrong_body"),
        (TERMS | {"stage": "nowhere"}, "k", 422, "bad_terms"),
    ],
)
def test_terms_that_cannot_be_are_refused_with_a_sentence(study, mona, body, key, status, code):
    answered, said = ask(mona, "batches/", body, key)
    assert (answered, said["code"]) == (status, code)
    assert said["detail"]
    assert not Batch.objects.exists()


def test_what_the_budget_does_not_reach_for_is_refused_and_the_key_stays_free(study, mona):
    spending.set_budget(study, Decimal(10), by="test", at=NOON)
    status, said = ask(mona, "batches/", TERMS, "k")
    assert (status, said["code"]) == (409, "over_budget")
    spending.set_budget(study, Decimal(20), by="test", at=NOON)
    assert ask(mona, "batches/", TERMS, "k")[0] == 201


def test_a_batch_is_topped_up_extended_paused_resumed_and_ended(study, mona):
    make_batch(study)
    for _ in range(2):
        assert ask(mona, "batches/1/top-up/", {"sittings": 3}, "k")[1]["sittings"] == 7
    assert ask(mona, "batches/1/top-up/", {"sittings": 3})[1]["code"] == "key_needed"
    assert ask(mona, "batches/1/extend/", {"hours": 5})[0] == 200
    assert Intent.objects.filter(kind="expiry").count() == 1
    for path, state in (("pause", "paused"), ("resume", "open"), ("end", "closed")):
        assert ask(mona, f"batches/1/{path}/", {}, path)[1]["state"] == state
        assert ask(mona, f"batches/1/{path}/", {}, path)[1]["state"] == state
    assert ask(mona, "batches/1/end/", {})[1]["code"] == "not_now"
    assert ask(mona, "batches/1/top-up/", {"sittings": 3}, "k2")[0] == 409
    assert ask(mona, "batches/1/extend/", {"hours": 0})[0] == 400
    assert ask(mona, "batches/2/pause/", {})[0] == 404


# --- Pay ----------------------------------------------------------------------------------------------------------


def test_everything_proven_is_paid_or_one_batch_of_it(study, mona):
    one, two = make_batch(study), make_batch(study)
    earn(one)
    earn(one, "ODD", state=Visit.State.QUARANTINED, why="Odd.")
    earn(two, "BEN")
    assert ask(mona, "pay/", {"batch": 2}) == (200, {"approved": 1, "total": "1.20"})
    assert ask(mona, "pay/", {}, "k") == (200, {"approved": 1, "total": "1.20"})
    assert ask(mona, "pay/", {}, "k") == (200, {"approved": 1, "total": "1.20"})
    assert ask(mona, "pay/", {}) == (200, {"approved": 0, "total": "0.00"})
    assert ask(mona, "pay/", {"batch": 7})[0] == 404
    assert Intent.objects.filter(kind="approve").count() == 2


def test_one_reward_is_decided(study, mona):
    batch = make_batch(study)
    first, second, third = (earn(batch, name) for name in ("ANN", "BEN", "CAT"))
    assert ask(mona, f"payments/{first.pk}/", {"decision": "approve"})[1] == {"payment": first.pk, "state": "asked"}
    assert ask(mona, f"payments/{second.pk}/", {"decision": "reject"})[1]["code"] == "reason_needed"
    assert ask(mona, f"payments/{second.pk}/", {"decision": "reject", "reason": "Empty."})[0] == 200
    assert ask(mona, f"payments/{third.pk}/", {"decision": "leave_out", "reason": "Guessing."})[0] == 200
    assert ask(mona, f"payments/{third.pk}/", {"decision": "reject", "reason": "Guessing."})[1]["code"] == "not_now"
    foreign = earn(make_batch(make_shop(slug="other")), "DAN")
    assert ask(mona, f"payments/{foreign.pk}/", {"decision": "approve"})[0] == 404
    assert list(Intent.objects.filter(visit__isnull=False).values_list("kind", flat=True)) == [
        "approve",
        "reject",
        "approve",
    ]


def test_a_bonus_is_paid_once_under_a_key(study, mona):
    earn(make_batch(study))
    body = {"worker": "W001", "amount": "2.00", "reason": "Careful."}
    for _ in range(2):
        assert ask(mona, "bonus/", body, "k") == (201, {"worker": "W001", "amount": "2.00", "total": "2.40"})
    assert Payment.objects.filter(kind="bonus").count() == 1
    assert ask(mona, "bonus/", body | {"kind": "compensation"}, "k2")[0] == 201
    assert ask(mona, "bonus/", body)[1]["code"] == "key_needed"
    assert ask(mona, "bonus/", body | {"worker": "W999"}, "k3")[0] == 404
    assert ask(mona, "bonus/", body | {"amount": "0"}, "k3")[0] == 400
    spending.set_budget(study, Decimal(5), by="test", at=NOON)
    assert ask(mona, "bonus/", body, "k3")[1]["code"] == "over_budget"


def test_wages_are_topped_up_as_they_were_seen(study, mona):
    earn(make_batch(study), seconds=720)
    seen = {"people": [{"worker": "W001", "amount": "1.00"}], "total": "1.20", "paid": False}
    assert ask(mona, "topup/", {"target": "10.00", "dry_run": True}) == (200, seen)
    assert ask(mona, "topup/", {"target": "10.00", "total": "9.99"})[1]["code"] == "not_now"
    assert ask(mona, "topup/", {"target": "10.00", "total": "1.20"}) == (200, seen | {"paid": True})
    assert ask(mona, "topup/", {"target": "10.00"}) == (200, {"people": [], "total": "0.00", "paid": True})
    assert Payment.objects.filter(kind="topup").count() == 1
    assert ask(mona, "topup/", {"target": "0"})[0] == 400


def test_the_ledger_names_every_sum(study, mona):
    payment = earn(make_batch(study))
    status, body = mona.ask("GET", f"{SHOP}ledger/")
    row = body["payments"][0]
    assert (status, len(body["payments"])) == (200, 1)
    assert (row["id"], row["kind"], row["worker"], row["amount"], row["fee"]) == (
        payment.pk,
        "reward",
        "WANDA",
        "1.00",
        "0.20",
    )
