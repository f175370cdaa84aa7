"""The operator's pages: money in, money out, keys, and what looks suspicious."""

import pytest
from django.utils import timezone

from marketplace import addresses, ledger, signing, work
from marketplace.models import Address, Requester
from tests.marketplace.market import make_requester, make_worker

pytestmark = pytest.mark.django_db
HERE = "/marketplace/operator/"


@pytest.fixture
def boss(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("boss"))
    return client


def owe(worker, cents):
    requester = make_requester(f"lab of {worker.name}")
    ledger.spend(requester, ledger.account("owed", worker=worker), cents, "bonus", at=timezone.now())


def test_only_admins_come_in(client, django_user_model):
    for path in ("", "requesters/1/", "payouts.csv"):
        assert client.get(HERE + path).status_code == 302
    client.force_login(django_user_model.objects.create_user("other"))
    for path in ("", "requesters/1/", "payouts.csv"):
        assert client.get(HERE + path).status_code == 403
    assert client.post(f"{HERE}payouts/mark/").status_code == 403


def test_a_requester_is_made_given_money_and_a_new_key(boss):
    assert boss.post(HERE, {"name": "lab"}).status_code == 302
    assert boss.post(HERE, {"name": "lab"}).status_code == 422
    requester = Requester.objects.get()
    page, old = f"{HERE}requesters/{requester.pk}/", signing.secret_of(requester)
    boss.post(page, {"do": "deposit", "amount": "25.50"})
    for wrong in ("", "-1", "0", "1.234", "x"):
        assert boss.post(page, {"do": "deposit", "amount": wrong}).status_code == 422
    assert ledger.account("available", requester=requester).balance == 25_50
    boss.post(page, {"do": "new key"})
    boss.post(page, {"do": "switch off"})
    requester.refresh_from_db()
    assert (requester.is_active, signing.secret_of(requester) != old) == (False, True)
    shown = boss.get(page).content.decode()
    assert "$25.50" in shown
    assert "deposit" in shown


def test_what_the_page_showed_is_marked_as_paid_and_no_more(boss):
    wanda, wim = make_worker("=wanda"), make_worker("wim")
    owe(wanda, 150)
    owe(wim, 20)
    assert "'=wanda" in boss.get(f"{HERE}payouts.csv").content.decode()
    assert "Mark $1.70 as paid" in boss.get(HERE).content.decode()
    owe(make_worker("late"), 99)
    ledger.spend(make_requester("x"), ledger.account("owed", worker=wim), 5, "bonus", at=timezone.now())
    shown = {f"owed-{wanda.pk}": "1.50", f"owed-{wim.pk}": "0.20", "after": "0"}
    assert 'name="after" value="0"' in boss.get(HERE).content.decode()
    boss.post(f"{HERE}payouts/mark/", shown)
    assert ledger.account("owed", worker=wanda).balance == 0
    ledger.spend(make_requester("y"), ledger.account("owed", worker=wanda), 150, "bonus", at=timezone.now())
    boss.post(f"{HERE}payouts/mark/", shown)  # sent again: what is owed since is not paid by it
    assert ledger.account("owed", worker=wanda).balance == 150
    assert ledger.account("owed", worker=wim).balance == 5
    assert ledger.is_balanced()


def test_many_accounts_on_one_address_and_one_on_many_are_shown(boss, client):
    workers = [make_worker(f"w{n}") for n in range(3)]
    for worker in workers:
        header = {"HTTP_AUTHORIZATION": f"Token {work.token_of(worker)}", "REMOTE_ADDR": "203.0.113.7"}
        for _ in range(2):
            client.get("/marketplace/api/worker/hits/", **header)
    assert Address.objects.count() == 3
    for n in range(10):
        Address.objects.create(worker=workers[0], address=f"198.51.100.{n}", at=timezone.now())
    said = [each.words for each in addresses.suspicions()]
    assert said == ["3 accounts work from 203.0.113.7", "One account works from 11 addresses"]
    assert "3 accounts work from 203.0.113.7" in boss.get(HERE).content.decode()
