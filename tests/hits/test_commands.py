"""What is typed, and what is printed."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotation
from hits.models import Batch, Hit
from marketplace.models import HIT, Assignment
from tests.hits import shop

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]
TERMS = ("--stage=generate", "--sittings=3", "--reward=1.20")


def told(*command):
    """What a command prints: its JSON lines."""
    out = io.StringIO()
    call_command(*command, stdout=out, stderr=io.StringIO())
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def study(lab):
    return shop.make_shop_study(8)


def test_a_plan_is_printed_with_balance_and_budget(study):
    assert told("budget", "crepe-a", "10") == [{"budget": "10.00", "committed": "0.00", "left": "10.00"}]
    assert told("plan_batch", "crepe-a", *TERMS) == [
        {
            "hits": 1,
            "assignments": 3,
            "reward_total": "3.60",
            "fees": "0.00",
            "total": "3.60",
            "balance": "1000.00",
            "budget_left": "6.40",
        }
    ]
    assert not Batch.objects.exists()


def test_a_plan_is_printed_also_where_nobody_can_be_asked(study, settings):
    settings.MTURK_ENDPOINT_URL = "http://127.0.0.1:9/"
    assert told("plan_batch", "crepe-a", *TERMS)[0]["balance"] is None


@pytest.mark.parametrize(
    "command",
    [
        ("publish", "crepe-a", *TERMS),
        ("pay", "crepe-a"),
        ("topup", "crepe-a", "--target=60"),
        ("bonus", "crepe-a", "FILE"),
    ],
    ids=lambda command: command[0],
)
def test_without_a_terminal_money_needs_a_yes(study, command, monkeypatch, tmp_path):
    batch = shop.buy(study, 1, approval="by hand")
    shop.do(shop.make_worker(), batch.hits.get())
    shop.look(study)
    Annotation.objects.update(active_seconds=600)
    file = tmp_path / "bonuses.csv"
    file.write_text("worker,amount,reason\nW001,0.10,Careful\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    command = tuple(str(file) if part == "FILE" else part for part in command)
    before = HIT.objects.count()
    with pytest.raises(CommandError, match="add --yes if so"):
        told(*command)
    assert (HIT.objects.count(), set(Assignment.objects.values_list("state", flat=True))) == (before, {"Submitted"})
    assert told(*command, "--yes")


def test_a_study_from_publishing_to_the_ledger(study):
    assert told("publish", "crepe-a", *TERMS, "--by-hand", "--yes") == [{"batch": 1, "hits": 1}]
    person = shop.make_worker()
    shop.do(person, Hit.objects.get())
    assert told("reconcile", "crepe-a")[0]["confirmed"] == 1
    (row,) = told("batches", "crepe-a")
    assert {name: row[name] for name in ("batch", "state", "hits", "unsold", "submitted", "approved")} == {
        "batch": 1,
        "state": "open",
        "hits": {"open": 1},
        "unsold": 2,
        "submitted": 1,
        "approved": 0,
    }
    assert told("pay", "crepe-a", "--yes") == [{"approved": 1, "total": "1.20"}]
    assert told("pay", "crepe-a", "--yes") == [{"approved": 0, "total": "0.00"}]
    assert told("topup", "crepe-a", "--target=15", "--yes") == [{"topped_up": 0, "total": "0.00"}]
    (line,) = told("ledger", "crepe-a")
    assert {name: line[name] for name in ("kind", "worker", "amount", "state")} == {
        "kind": "reward",
        "worker": person.worker_id,
        "amount": "1.20",
        "state": "paid",
    }
    assert line["remote_id"] == Assignment.objects.get(state="Approved").assignment_id
    assert len(line["intent"]) == 32
    assert told("expire", "crepe-a") == [{"expired": 1}]
    with pytest.raises(CommandError, match="no batch 1 that is still open"):
        told("expire", "crepe-a", "--batch=1")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("publish", "nothing", *TERMS), "There is no study 'nothing'"),
        (("publish", "crepe-a", "--stage=x", "--sittings=1", "--reward=1"), "no stage 'x'"),
        (
            ("publish", "crepe-a", "--stage=generate", "--sittings=1", "--reward=lots"),
            "An amount is written in dollars",
        ),
        (("budget", "crepe-a", "-5"), "A budget is from 0"),
        (("bonus", "crepe-a", "/nowhere.csv"), "Cannot read /nowhere.csv"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(study, command, said):
    with pytest.raises(CommandError, match=said):
        told(*command, *(["--yes"] if command[0] == "publish" else []))
