"""Researchers' pages about batches and pay: what they show, what each button does, and whom they refuse."""

from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Annotation, Event
from hits import intents, places, spending, wages
from hits.client import MTurkUnavailable
from hits.models import Batch, Budget, Hit, Intent, Once, Payment, Visit
from tests.factories import make_items, make_study
from tests.hits.rows import NOON, earn, make_batch, make_shop, make_spender, open_account
from tests.people import answer, make_onlooker, make_researcher

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
TERMS = {
    "stage": "generate",
    "sittings": "4",
    "reward": "1.00",
    "per_hit": "2",
    "duration_minutes": "60",
    "lifetime_hours": "72",
    "auto_approval_hours": "72",
    "open_to": "anyone",
    "approval": "checked",
}


@pytest.fixture(autouse=True)
def _account(settings):
    open_account(settings)


@pytest.fixture
def study():
    return make_shop(title="Plants")


@pytest.fixture
def mona(study, client):
    """In the team, and may spend."""
    user = make_spender(study)
    client.force_login(user)
    return user


def url(name, *args, slug="crepe-a"):
    return reverse(f"hits:{name}", args=[slug, *args])


def text(response):
    return " ".join(unescape(response.content.decode()).split())


def key_of(response):
    return response.context["key"]


# --- Who may ----------------------------------------------------------------------------------------------

LOOKS = [("batches", ()), ("spend", ()), ("batch", (1,)), ("hits", (1,)), ("pay", ()), ("hourly", ())]
SPENDS = [
    ("budget", ()),
    ("new_batch", ()),
    ("top_up", (1,)),
    ("extend", (1,)),
    ("resume", (1,)),
    ("receipts", ()),
    ("decide", ()),
    ("pay_all", ()),
    ("bonus", ()),
    ("bonuses", ()),
    ("wage", ()),
]
STOPS = [("pause", (1,)), ("end", (1,))]


@pytest.mark.parametrize(("name", "args"), [*LOOKS, ("balance", ()), *SPENDS, *STOPS])
def test_to_everybody_outside_the_team_there_is_no_such_page(client, study, name, args):
    make_batch(study)
    client.force_login(make_spender(make_study("other")))
    assert client.get(url(name, *args)).status_code == 404
    client.logout()
    assert client.get(url(name, *args)).status_code == 302


@pytest.mark.parametrize(("name", "args"), LOOKS)
def test_the_whole_team_may_look(client, study, name, args):
    make_batch(study)
    client.force_login(make_onlooker(study))
    assert client.get(url(name, *args)).status_code == 200


@pytest.mark.parametrize(("name", "args"), SPENDS)
def test_a_researcher_without_leave_to_spend_spends_nothing(client, study, name, args):
    make_batch(study)
    client.force_login(make_researcher(study))
    assert client.get(url(name, *args)).status_code == 403
    assert client.post(url(name, *args), TERMS).status_code == 403


@pytest.mark.parametrize(("name", "state"), [("pause", "paused"), ("end", "closed")])
def test_what_only_saves_money_any_researcher_may_do_and_an_onlooker_may_not(client, study, name, state):
    make_batch(study)
    client.force_login(make_onlooker(study))
    assert client.post(url(name, 1)).status_code == 403
    client.force_login(make_researcher(study))
    assert client.post(url(name, 1)).status_code == 302
    assert Batch.objects.get().state == state


def test_the_group_spender_may_spend(client, study, django_user_model):
    from django.contrib.auth.models import Group

    user = make_onlooker(study)
    user.groups.add(Group.objects.get(name="spender"))
    client.force_login(user)
    assert client.get(url("new_batch")).status_code == 200


# --- Batches ------------------------------------------------------------------------------------------------


def test_the_list_shows_money_and_every_batch(client, study, mona):
    spending.set_budget(study, Decimal(50), by="test", at=NOON)
    spending.set_target(study, Decimal(15), by="test", at=NOON)
    batch = make_batch(study)
    earn(batch)
    page = text(client.get(url("batches")))
    for shown in (
        "$50.00",
        "$4.80",
        "$45.20",
        "$15.00 an hour",
        "Batch 1: Find false assumptions",
        "submitted, to be decided",
    ):
        assert shown in page
    assert 'hx-trigger="every 15s"' in page
    make_batch(study, published=False)
    page = text(client.get(url("batches")))
    assert "Publishing: 0 of 1 HITs." in page
    assert 'hx-trigger="every 2s"' in page


def test_a_region_that_is_up_to_date_stays_as_it_is(client, study, mona):
    batch = make_batch(study)
    for address in (url("batches"), url("batch", 1)):
        region = client.get(address, headers={"HX-Request": "true"})
        assert "<h1" not in text(region)
        after = {"after": region.context["stamp"]}
        assert client.get(address, after, headers={"HX-Request": "true"}).status_code == 204
        earn(batch)
        assert client.get(address, after, headers={"HX-Request": "true"}).status_code == 200


@pytest.mark.parametrize("address", ["batches", "spend"])
def test_lists_cost_a_fixed_number_of_queries(client, study, mona, django_assert_num_queries, address):
    many = {"batches": 24, "spend": 20}[address]
    earn(make_batch(study), "ONE", state=Visit.State.QUARANTINED, why="Odd.")
    with django_assert_num_queries(many):
        client.get(url(address))
    for name in ("TWO", "THREE"):
        batch = make_batch(study)
        earn(batch, name, state=Visit.State.QUARANTINED, why="Odd.")
        earn(batch, f"{name}B")
    with django_assert_num_queries(many):
        client.get(url(address))


def test_one_batch_costs_a_fixed_number_of_queries(client, study, mona, django_assert_num_queries):
    batch = make_batch(study)
    earn(batch, "ONE")
    with django_assert_num_queries(21):
        client.get(url("batch", 1))
    earn(batch, "TWO")
    earn(batch, "THREE")
    with django_assert_num_queries(21):
        client.get(url("batch", 1))


def test_a_dead_marketplace_breaks_only_the_balance(client, study, mona):
    assert client.get(url("batches")).status_code == 200
    said = text(client.get(url("balance"), headers={"HX-Request": "true"}))
    assert "The marketplace did not say" in said
    places.close()


def test_without_an_account_the_page_says_so(client, study, mona, settings):
    settings.MTURK_ACCESS_KEY = ""
    assert "No account at a marketplace is set up" in text(client.get(url("batches")))
    assert "No account at a marketplace is set up" in text(client.get(url("balance")))
    answered = client.post(url("new_batch"), TERMS | {"do": "publish", "key": "k"})
    assert answered.status_code == 409
    assert not Batch.objects.exists()


def test_the_balance_is_asked_of_the_marketplace(client, study, mona, monkeypatch):
    class Rich:
        def balance(self):
            return Decimal("1234.50")

    monkeypatch.setattr(places, "client", Rich)
    assert "$1,234.50" in text(client.get(url("balance")))

    def gone():
        raise MTurkUnavailable("No answer.", may_have_happened=False)

    monkeypatch.setattr(Rich, "balance", lambda self: gone())
    assert "The marketplace did not say: No answer." in text(client.get(url("balance")))


def test_budget_and_wage_are_set_and_taken_away(client, study, mona):
    assert client.post(url("budget"), {"amount": "20.50", "target_hourly": "15"}).status_code == 302
    budget = Budget.objects.get()
    assert (budget.amount, budget.target_hourly, budget.changed_by) == (Decimal("20.50"), Decimal(15), "user:mona")
    assert client.post(url("budget"), {"amount": "-1"}).status_code == 422
    assert client.post(url("budget"), {"target_hourly": "0"}).status_code == 422
    client.post(url("budget"), {"amount": "", "target_hourly": ""})
    budget.refresh_from_db()
    assert (budget.amount, budget.target_hourly) == (None, None)


# --- Buying -----------------------------------------------------------------------------------------------------


def test_the_form_offers_what_is_missing(client, study, mona):
    form = client.get(url("new_batch")).context["form"]
    assert form.initial == {"stage": "generate", "sittings": 8}  # eight items with two seats each, two items a sitting
    make_batch(study, 3)
    assert client.get(url("new_batch")).context["form"].initial["sittings"] == 5
    assert client.get(url("new_batch"), {"stage": "validate"}).context["form"].initial["stage"] == "validate"


def test_a_batch_is_seen_with_its_cost_and_published_once(client, study, mona):
    spending.set_budget(study, Decimal(10), by="test", at=NOON)
    seen = client.post(url("new_batch"), TERMS | {"do": "plan"})
    page = text(seen)
    for shown in ("$4.00", "$0.80", "$4.80", "$5.20", "Publish 2 HITs for up to $4.80"):
        assert shown in page
    assert not Batch.objects.exists()
    agreed = TERMS | {"do": "publish", "key": key_of(seen)}
    first, second = client.post(url("new_batch"), agreed), client.post(url("new_batch"), agreed)
    assert first.url == second.url == url("batch", 1)
    batch = Batch.objects.get()
    assert (batch.sittings, batch.per_hit, batch.created_by) == (4, 2, "user:mona")
    assert Intent.objects.filter(kind="create").count() == 2
    again = client.post(url("new_batch"), agreed | {"sittings": "3"})
    assert again.status_code == 422
    assert "This key stands for something else" in text(again)
    assert Batch.objects.count() == 1


def test_who_may_take_it_is_asked_in_words(client, study, mona):
    asked = {"approved_percent": "97", "approved_number": "500", "countries": "us, gb", "adult": "on"}
    client.post(url("new_batch"), TERMS | asked | {"do": "publish", "open_to": "qualified", "approval": "by hand"})
    batch = Batch.objects.get()
    assert [r["QualificationTypeId"][-2:] for r in batch.requirements] == ["L0", "40", "71", "60"]
    assert batch.requirements[2]["LocaleValues"] == [{"Country": "US"}, {"Country": "GB"}]
    assert (batch.open_to, batch.approval) == ("qualified", "by hand")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sittings": "0"}, "greater than or equal to 1"),
        ({"reward": "0"}, "above 0"),
        ({"reward": "1.005"}, "2 decimal places"),
        ({"stage": "nowhere"}, "Select a valid choice"),
        ({"countries": "USA"}, "A country is two letters"),
        ({"per_hit": "101"}, "less than or equal to 100"),
    ],
)
def test_terms_that_cannot_be_are_refused_in_a_sentence(client, study, mona, wrong, said):
    answered = client.post(url("new_batch"), TERMS | wrong | {"do": "publish", "key": "k"})
    assert answered.status_code == 422
    assert said in text(answered)
    assert not Batch.objects.exists()


def test_what_the_budget_does_not_reach_for_is_not_bought(client, study, mona):
    spending.set_budget(study, Decimal(4), by="test", at=NOON)
    assert "The budget does not reach" in text(client.post(url("new_batch"), TERMS | {"do": "plan"}))
    answered = client.post(url("new_batch"), TERMS | {"do": "publish", "key": "k"})
    assert (answered.status_code, Batch.objects.count(), Once.objects.count()) == (409, 0, 0)
    assert "has $4.00 left. Nothing was bought." in text(answered)
    spending.set_budget(study, Decimal(5), by="test", at=NOON)  # the same button works once there is money
    assert client.post(url("new_batch"), TERMS | {"do": "publish", "key": "k"}).status_code == 302


def test_the_terms_can_be_changed_after_a_look(client, study, mona):
    page = client.post(url("new_batch"), TERMS | {"do": "change"})
    assert page.status_code == 200
    assert page.context["form"]["sittings"].value() == "4"


def test_a_batch_is_topped_up_once(client, study, mona):
    make_batch(study)
    assert "Show what follows" in text(client.get(url("top_up", 1)))
    seen = client.post(url("top_up", 1), {"sittings": "10", "do": "plan"})
    assert "Publish 2 more HITs for up to $12.00" in text(seen)
    agreed = {"sittings": "10", "do": "act", "key": key_of(seen)}
    for _ in range(2):
        assert client.post(url("top_up", 1), agreed).url == url("batch", 1)
    batch = Batch.objects.get()
    assert (batch.sittings, list(batch.hits.order_by("number").values_list("seats", flat=True))) == (14, [4, 9, 1])
    assert client.post(url("top_up", 1), {"sittings": "0", "do": "act"}).status_code == 422
    spending.set_budget(study, Decimal(10), by="test", at=NOON)
    over = client.post(url("top_up", 1), {"sittings": "10", "do": "act", "key": "other"})
    assert over.status_code == 409
    assert "Nothing was bought." in text(over)


def test_a_batch_is_extended(client, study, mona):
    make_batch(study)
    seen = client.post(url("extend", 1), {"hours": "24", "do": "plan"})
    assert "Offer 1 HIT for 24 hours from now" in text(seen)
    agreed = {"hours": "24", "do": "act", "key": key_of(seen)}
    for _ in range(2):
        assert client.post(url("extend", 1), agreed).status_code == 302
    assert Intent.objects.filter(kind="expiry").count() == 1
    assert client.post(url("extend", 1), {"hours": "0", "do": "act"}).status_code == 422


def test_a_batch_is_paused_resumed_and_ended(client, study, mona):
    make_batch(study)
    for name, label, state in (
        ("pause", "Pause 1 HIT", "paused"),
        ("resume", "Offer 4 sittings again", "open"),
        ("end", "End batch 1, take down 1 HIT", "closed"),
    ):
        page = client.get(url(name, 1))
        assert label in text(page)
        for _ in range(2):  # a double click
            assert client.post(url(name, 1), {"key": key_of(page)}).status_code == 302
        assert Batch.objects.get().state == state
    for name in ("pause", "resume", "end", "top_up"):
        answered = client.post(url(name, 1), {"key": "new", "sittings": "1", "do": "act"})
        assert answered.status_code == 409
        assert "Not done" in text(answered)


def test_a_batch_that_is_not_there_is_404(client, study, mona):
    for name in ("batch", "hits", "top_up", "pause"):
        assert client.get(url(name, 7)).status_code == 404


def test_what_was_bought_elsewhere_is_refused_in_a_sentence(client, study, mona, settings):
    make_batch(study)
    settings.MTURK_ACCESS_KEY = "AKOTHER"
    answered = client.post(url("pause", 1))
    assert answered.status_code == 409
    assert "This was begun at another marketplace" in text(answered)


# --- One batch ---------------------------------------------------------------------------------------------------


def test_a_batch_shows_who_did_what_and_what_it_earns(client, study, mona):
    batch = make_batch(study)
    earn(batch)
    earn(batch, "BEN", state=Visit.State.QUARANTINED, why="It belongs to another HIT.")
    page = text(client.get(url("batch", 1)))
    for shown in ("W001", "W002", "confirmed", "It belongs to another HIT.", "to be decided", "paid by itself"):
        assert shown in page
    odd = text(client.get(url("batch", 1), {"state": "odd"}))
    assert "W001" not in odd.split("<tbody>")[1]
    assert "Nothing is like this" in text(client.get(url("batch", 1), {"state": "paid"}))
    assert "WANDA" not in page  # the id at the marketplace stays with who accounts for money


def test_more_work_comes_on_demand(client, study, mona):
    batch = make_batch(study, 30, per_hit=9)
    for number in range(26):
        earn(batch, f"W{number}")
    first = client.get(url("batch", 1))
    assert len(first.context["work"]) == 25
    more = client.get(url("batch", 1) + first.context["more"], headers={"HX-Request": "true"})
    assert (len(more.context["work"]), "<h1" in text(more)) == (1, False)
    hits = client.get(url("hits", 1))
    assert [hit.seats for hit in hits.context["rows"]] == [9, 9, 9, 3]


def park(batch, state="failed", kind="create", **more):
    hit = batch.hits.first()
    made = {"place": batch.place, "study": batch.study, "batch": batch, "hit": hit, "by": "test", "created_at": NOON}
    return Intent.objects.create(
        kind=kind, target=f"x{kind}", state=state, closed_at=NOON, not_before=NOON, error="Bad title.", **made, **more
    )


def test_a_refused_hit_is_bought_anew_or_left(client, study, mona):
    batch = make_batch(study, 2)
    Intent.objects.filter(kind="create").delete()
    intent = park(batch)
    Hit.objects.update(state=Hit.State.FAILED, unsold=0)
    assert "Publish a HIT: HIT 1" in text(client.get(url("batches")))
    spending.set_budget(study, Decimal(1), by="test", at=NOON)
    assert client.post(url("stuck", intent.pk), {"do": "again"}).status_code == 409
    spending.set_budget(study, Decimal(100), by="test", at=NOON)
    assert client.post(url("stuck", intent.pk), {"do": "again"}).url == url("batch", 1)
    intent.refresh_from_db()
    hit = Hit.objects.get()
    assert (intent.state, intent.unsure, hit.state, hit.unsold) == ("pending", False, "planned", 2)
    assert client.post(url("stuck", intent.pk), {"do": "again"}).status_code == 404
    Intent.objects.filter(pk=intent.pk).update(state="failed", closed_at=NOON)
    assert client.post(url("stuck", intent.pk), {"do": "nonsense"}).status_code == 422
    client.post(url("stuck", intent.pk), {"do": "leave"})
    assert "Needs a person" not in text(client.get(url("batches")))
    assert [e.what for e in Event.objects.filter(actor="user:mona")] == ["call tried again", "call left"]


def test_what_may_have_happened_is_looked_for_before_it_is_done_again(client, study, mona):
    payment = earn(make_batch(study))
    intent = park(payment.batch, "parked", "bonus", visit=payment.visit, sent_at=NOON, params={"payment": payment.pk})
    page = text(client.get(url("batch", 1)))
    assert "It may have happened." in page
    client.post(url("stuck", intent.pk), {"do": "again"})
    intent.refresh_from_db()
    assert (intent.state, intent.unsure) == ("pending", True)
    looked, sent = [], []

    class There:
        def bonuses_of(self, assignment):
            looked.append(assignment)
            return iter([])

        def bonus(self, *args, token):
            sent.append(token)

    Payment.objects.filter(pk=payment.pk).update(state="attention", reason="Good.")
    Intent.objects.filter(kind="qualification").delete()
    with_lease = intents.claim(intent.place, NOON + timedelta(days=400))
    intents.carry_out(with_lease, There(), now=lambda: intent.again_at)
    assert (len(looked), sent) == (1, [intent.token])
    payment.refresh_from_db()
    assert payment.state == "paid"


def test_a_bonus_that_was_refused_is_owed_once_more(client, study, mona):
    payment = earn(make_batch(study))
    intent = park(payment.batch, "failed", "bonus", visit=payment.visit, params={"payment": payment.pk})
    Payment.objects.filter(pk=payment.pk).update(kind="bonus", state="void", settled_at=NOON, intent=intent)
    client.post(url("stuck", intent.pk), {"do": "again"})
    payment.refresh_from_db()
    assert (payment.state, payment.settled_at) == ("asked", None)


def test_a_quarantined_visit_is_looked_at(client, study, mona):
    payment = earn(make_batch(study), state=Visit.State.QUARANTINED, why="Somebody else submitted it.")
    assert "Somebody else submitted it." in text(client.get(url("batches")))
    assert client.post(url("seen", payment.visit_id)).url == url("batch", 1)
    assert "Needs a person" not in text(client.get(url("batches")))
    assert client.post(url("seen", payment.visit_id)).status_code == 404


# --- Deciding -----------------------------------------------------------------------------------------------------


def decide(client, payment, do, **more):
    page = client.get(url("decide"), {"p": payment.pk})
    given = {"p": payment.pk, "do": do, "key": key_of(page), **more}
    return client.post(url("decide"), given), client.post(url("decide"), given)


def state_of(payment):
    payment.refresh_from_db()
    return payment.state


def test_a_reward_is_approved_once(client, study, mona):
    payment = earn(make_batch(study))
    page = text(client.get(url("decide"), {"p": payment.pk}))
    assert "Approve 1 sitting for $1.20" in page
    first, second = decide(client, payment, "approve")
    assert first.url == second.url == url("batch", 1)
    assert state_of(payment) == "asked"
    assert Intent.objects.filter(kind="approve").count() == 1
    assert client.get(url("decide"), {"p": payment.pk}).status_code == 409


def test_a_rejection_needs_a_reason_and_takes_the_answers_out(client, study, mona):
    payment = earn(make_batch(study), seconds=120)
    refused, _ = decide(client, payment, "reject")
    assert refused.status_code == 422
    assert "Say why first." in text(refused)
    assert state_of(payment) == "due"
    decide(client, payment, "reject", why="The same answer to all.")
    assert state_of(payment) == "asked"
    assert Intent.objects.get(kind="reject").params["feedback"] == "The same answer to all."
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"excluded"}


def test_a_soft_rejection_pays_and_leaves_the_answers_out(client, study, mona):
    payment = earn(make_batch(study), seconds=120)
    decide(client, payment, "leave_out", why="Guessing.")
    assert state_of(payment) == "asked"
    assert Intent.objects.filter(kind="approve").exists()
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"excluded"}


def test_a_rejected_reward_is_paid_after_all(client, study, mona):
    payment = earn(make_batch(study))
    Payment.objects.update(state="rejected", settled_at=NOON)
    assert "Pay $1.20 after all" in text(client.get(url("decide"), {"p": payment.pk}))
    decide(client, payment, "override")
    assert (state_of(payment), Intent.objects.filter(kind="override").count()) == ("asked", 1)


def test_several_are_decided_at_once_and_foreign_ones_never(client, study, mona):
    batch = make_batch(study)
    mine = [earn(batch, name) for name in ("ANN", "BEN", "CAT")]
    foreign = earn(make_batch(make_shop(slug="other")), "DAN")
    page = client.get(url("decide"), {"p": [p.pk for p in (*mine[:2], foreign)]})
    assert "Decide about 2 sittings" in text(page)
    client.post(url("decide"), {"p": [p.pk for p in (*mine[:2], foreign)], "do": "approve", "key": key_of(page)})
    assert [state_of(p) for p in (*mine, foreign)] == ["asked", "asked", "due", "due"]


def test_all_that_wait_are_approved_but_not_what_came_since_nor_what_is_quarantined(client, study, mona):
    batch, other = make_batch(study), make_batch(study)
    first, odd = earn(batch, "ANN"), earn(batch, "BEN", state=Visit.State.QUARANTINED, why="Odd.")
    elsewhere = earn(other, "EVE")
    page = client.get(url("pay_all"), {"batch": 1})
    assert "Approve 1 reward for $1.20" in text(page)
    late = earn(batch, "CAT")
    given = {"batch": "1", "key": key_of(page), "last": dict(page.context["kept"])["last"]}
    for _ in range(2):
        assert client.post(url("pay_all"), given).url == url("batch", 1)
    assert [state_of(p) for p in (first, odd, late, elsewhere)] == ["asked", "due", "due", "due"]
    assert Intent.objects.filter(kind="approve").count() == 1
    assert client.post(url("pay_all"), {"key": "other"}).status_code == 409
    both = client.get(url("pay_all"))
    assert "Approve 2 rewards for $2.40" in text(both)


def test_people_with_personal_links_are_paid_by_hand(client, mona, study):
    study.options["pay_per_sitting"] = 0.5
    study.save()
    answer(study, "ann", *[{"label": "normal", "reason": None, "pairs": []}] * 2)
    from hits import payments

    payments.owe_sittings(study, at=NOON)
    page = client.get(url("pay_all"))
    assert "by hand, to people with personal links" in text(page)
    client.post(url("pay_all"), {"key": key_of(page), "last": dict(page.context["kept"])["last"]})
    assert Payment.objects.get().state == "paid"


# --- The ledger ----------------------------------------------------------------------------------------------------


def test_pay_shows_everybody_and_what_an_hour_earns(client, study, mona):
    batch = make_batch(study)
    earn(batch, "ANN", seconds=720)
    earn(batch, "BEN", seconds=360)
    spending.set_target(study, Decimal(9), by="test", at=NOON)
    page = text(client.get(url("pay")))
    for shown in (
        "W001",
        "W002",
        "$5.00",
        "$10.00",
        "median $7.50",
        "10th percentile $5.00",
        "target $9.00",
        "2 people",
    ):
        assert shown in page
    ordered = client.get(url("pay"), {"sort": "-hourly"}).context["rows"]
    assert [w.code for w in ordered] == ["W002", "W001"]
    csv = client.get(url("hourly"), {"format": "csv"}).content.decode().splitlines()
    assert csv == ["worker,sittings,active hours,earned $,$ an hour", "W001,1,0.2,1.00,5.00", "W002,1,0.1,1.00,10.00"]
    assert client.get(url("hourly"), {"format": "svg"}).content.startswith(b"<svg")


def test_the_ledger_costs_a_fixed_number_of_queries(client, study, mona, django_assert_num_queries):
    batch = make_batch(study)
    earn(batch, "ANN", seconds=720)
    with django_assert_num_queries(15):
        client.get(url("pay"))
    earn(batch, "BEN", seconds=360)
    earn(batch, "CAT", seconds=360)
    with django_assert_num_queries(15):
        client.get(url("pay"))


def test_receipts_are_a_file_that_no_spreadsheet_runs(client, study, mona):
    payment = earn(make_batch(study))
    Payment.objects.update(reason="=HYPERLINK(1)", by="@me")
    response = client.get(url("receipts"))
    assert response.streaming
    lines = b"".join(response.streaming_content).decode().splitlines()
    assert lines[0].endswith("worker,marketplace id,kind,amount,fee,state,batch,reference,reason,by,at")
    slot = payment.visit.assignment_id
    assert lines[1] == f"W001,WANDA,reward,1.00,0.20,due,1,{slot},'=HYPERLINK(1),'@me,2026-11-20T12:00:00+00:00"


# --- Bonuses ---------------------------------------------------------------------------------------------------------

BONUS = {"worker": "W001", "kind": "bonus", "amount": "2.00", "reason": "Careful work."}


def test_a_bonus_is_seen_with_its_fee_and_paid_once(client, study, mona):
    earn(make_batch(study))
    assert 'value="W001"' in text(client.get(url("bonus"), {"w": "W001"}))
    seen = client.post(url("bonus"), BONUS | {"do": "plan"})
    assert "Pay W001 $2.40" in text(seen)
    agreed = BONUS | {"do": "pay", "key": key_of(seen)}
    for _ in range(2):
        assert client.post(url("bonus"), agreed).url == url("pay")
    bonus = Payment.objects.get(kind="bonus")
    assert (bonus.amount, bonus.fee, bonus.reason, bonus.by) == (
        Decimal(2),
        Decimal("0.40"),
        "Careful work.",
        "user:mona",
    )
    assert Intent.objects.filter(kind="bonus").count() == 1
    without_key = client.post(url("bonus"), BONUS | {"do": "pay"})
    assert "Pay W001 $2.40" in text(without_key)  # shown once more: a button that was never seen pays nothing
    assert Payment.objects.filter(kind="bonus").count() == 1


def test_a_worker_is_compensated(client, study, mona):
    earn(make_batch(study))
    client.post(url("bonus"), BONUS | {"kind": "compensation", "do": "pay", "key": "k"})
    assert Payment.objects.filter(kind="compensation", state="asked").count() == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"worker": "W999"}, "There is no such worker in this study."),
        ({"amount": "0"}, "above 0"),
        ({"amount": "1001"}, "less than or equal to 1000"),
        ({"reason": ""}, "This field is required"),
        ({"kind": "reward"}, "Select a valid choice"),
    ],
)
def test_a_bonus_that_cannot_be_is_refused_in_a_sentence(client, study, mona, wrong, said):
    earn(make_batch(study))
    answered = client.post(url("bonus"), BONUS | wrong | {"do": "pay", "key": "k"})
    assert answered.status_code == 422
    assert said in text(answered)
    assert not Payment.objects.filter(kind="bonus").exists()


def test_a_bonus_over_the_budget_is_refused(client, study, mona):
    earn(make_batch(study))
    spending.set_budget(study, Decimal(5), by="test", at=NOON)
    answered = client.post(url("bonus"), BONUS | {"do": "pay", "key": "k"})
    assert answered.status_code == 409
    assert "This costs $2.40, and the study's budget has $0.20 left." in text(answered)


def upload(text):
    return {"file": SimpleUploadedFile("bonuses.csv", text.encode()), "do": "plan"}


def test_bonuses_of_a_file_are_seen_with_their_sum_and_paid_once(client, study, mona):
    batch = make_batch(study)
    earn(batch, "ANN")
    earn(batch, "BEN")
    seen = client.post(url("bonuses"), upload("worker,amount,reason\nANN,1.00,Good.\nW002,0.50,Good too.\n"))
    assert "Pay 2 bonuses, $1.80 in all" in text(seen)
    agreed = {"csv": seen.context["csv"], "key": key_of(seen), "do": "pay"}
    for _ in range(2):
        assert client.post(url("bonuses"), agreed).url == url("pay")
    assert list(Payment.objects.filter(kind="bonus").values_list("amount", flat=True)) == [Decimal(1), Decimal("0.50")]
    again = text(client.post(url("bonuses"), upload("worker,amount,reason\nANN,1.00,Good.\n")))
    assert "All of these were decided before" in again


def test_bad_lines_of_a_file_are_named_and_nothing_is_paid(client, study, mona):
    earn(make_batch(study), "ANN")
    page = client.post(url("bonuses"), upload("worker,amount,reason\nANN,x,Good.\nZED,1.00,Good.\nANN,1.00,\n"))
    assert page.status_code == 422
    for said in ("line 2: the amount", "line 3: there is no worker", "line 4: a reason is needed"):
        assert said in text(page)
    assert client.post(url("bonuses"), upload("a,b\n")).status_code == 422
    assert client.post(url("bonuses"), upload("x" * 300_001)).status_code == 422
    assert client.post(url("bonuses"), {"do": "plan"}).status_code == 422
    assert client.post(url("bonuses"), upload("worker,amount,reason\nANN,1.00,\x00\n")).status_code == 422
    spending.set_budget(study, Decimal(5), by="test", at=NOON)
    over = {"csv": "worker,amount,reason\nANN,10.00,Good.\n", "do": "pay", "key": "k"}
    assert client.post(url("bonuses"), over).status_code == 409
    assert not Payment.objects.filter(kind="bonus").exists()


def test_everybody_is_lifted_to_a_wage_once(client, study, mona):
    batch = make_batch(study)
    earn(batch, "ANN", seconds=720)
    earn(batch, "BEN", seconds=360)
    seen = client.get(url("wage"), {"target": "10"})
    assert [(d.code, d.amount) for d, _ in seen.context["drafts"]] == [("W001", Decimal("1.00"))]
    agreed = {"target": "10", "cost": seen.context["cost"], "key": key_of(seen)}
    for _ in range(2):
        assert client.post(url("wage"), agreed).url == url("pay")
    assert Payment.objects.filter(kind="topup").count() == 1
    assert "Nobody earned less than $10" in text(client.get(url("wage"), {"target": "10"}))
    assert [w.hourly for w in wages.wages(study)] == [Decimal(10), Decimal(10)]


def test_a_wage_is_paid_as_it_was_seen_or_not_at_all(client, study, mona):
    batch = make_batch(study)
    earn(batch, "ANN", seconds=720)
    seen = client.get(url("wage"), {"target": "10"})
    earn(batch, "ANN")
    answered = client.post(url("wage"), {"target": "10", "cost": seen.context["cost"], "key": key_of(seen)})
    assert answered.status_code == 409
    assert "has changed since you looked" in text(answered)
    assert not Payment.objects.filter(kind="topup").exists()
    assert client.get(url("wage"), {"target": "x"}).status_code == 422
    assert client.get(url("wage"), {"target": "0"}).status_code == 422


# --- Beside other pages ----------------------------------------------------------------------------------------------


def test_the_studys_page_borrows_what_it_spends(client, study, mona):
    page = text(client.get(reverse("annotation:study", args=["crepe-a"])))
    assert f'hx-get="{url("spend")}"' in page
    assert f'href="{url("batches")}"' in page
    assert "No batch yet" in text(client.get(url("spend"), headers={"HX-Request": "true"}))
    earn(make_batch(study), state=Visit.State.QUARANTINED, why="Odd.")
    region = text(client.get(url("spend"), headers={"HX-Request": "true"}))
    for shown in ("1 of 4 sittings submitted", "$4.80", "needs a person", "<h1"):
        assert (shown in region) == (shown != "<h1")


def test_no_page_has_script_or_style_of_its_own(client, study, mona):
    make_items(study, 1, prefix="x")
    earn(make_batch(study), seconds=60)
    for name, args in [*LOOKS, *((n, a) for n, a in SPENDS if n not in ("receipts", "decide")), *STOPS]:
        page = client.get(url(name, *args)).content.decode()
        assert "<script>" not in page
        assert " style=" not in page
        assert " onclick=" not in page
