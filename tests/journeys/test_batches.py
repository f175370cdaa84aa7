"""A researcher buys work in a real browser: from the plan to a batch on offer, and to people who are paid."""

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation
from hits import places
from hits.models import Batch, Payment, Visit
from marketplace import ledger
from tests.hits import shop
from tests.hits.rows import earn, make_spender, open_account
from tests.marketplace import market
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
PHONE, DESK = {"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 1280, "height": 800}}
SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])


@pytest.fixture
def lab(live_server, settings, new_page):  # pages are closed before the server is waited for
    yield shop.open_shop(settings, live_server.url)
    places.close()
    market.close_all()


@pytest.fixture
def study(lab):
    made = shop.make_shop_study(4, slug="plants", title="Power plants")
    make_spender(made)
    return made


def log_in(page, then):
    page.goto(f"/accounts/login/?next={then}")
    page.get_by_label("Login", exact=True).fill("mona")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"**{then}")


def look(page, axe, screenshots, name):
    """No barrier and no sideways scroll; a picture."""
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)
    axe(page)
    width = page.viewport_size["width"]
    page.screenshot(path=screenshots / f"hits-{name}-{width}.png", full_page=True, caret="initial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@SIZES
def test_from_the_plan_to_people_who_are_paid(new_page, lab, study, axe, screenshots, size):
    page = new_page(**size)
    log_in(page, "/studies/plants/")
    look(page, axe, screenshots, "study")
    page.get_by_role("link", name="HITs and pay").first.click()
    look(page, axe, screenshots, "empty")
    page.get_by_role("link", name="Budget and wage").click()
    page.get_by_label("Budget in dollars").fill("50")
    page.get_by_label("Target wage").fill("15")
    look(page, axe, screenshots, "budget")
    page.get_by_role("button", name="Set budget and wage").click()
    expect(page.get_by_text("$1,000.00")).to_be_visible()  # the marketplace answered
    page.get_by_role("link", name="New batch").click()
    expect(page.get_by_label("Sittings", exact=True)).to_have_value("4")
    page.get_by_label("Reward").fill("0.50")
    page.get_by_label("Sittings of one HIT").fill("2")
    page.get_by_label("by hand").check()
    look(page, axe, screenshots, "new")
    page.get_by_role("button", name="See the cost").click()
    expect(page.get_by_text("$48.00")).to_be_visible()
    expect(page.get_by_text("$1,000.00")).to_be_visible()
    look(page, axe, screenshots, "confirm")
    page.get_by_role("button", name="Publish 2 HITs for up to $2.00").dblclick()
    page.wait_for_url("**/batches/1/")
    expect(page.get_by_text("Publishing: 0 of 2 HITs.")).to_be_visible()
    look(page, axe, screenshots, "publishing")
    assert Batch.objects.count() == 1
    shop.drain()
    expect(page.get_by_text("Publishing:")).to_have_count(0)  # without a reload
    expect(page.get_by_role("list", name="HITs").get_by_text("on offer")).to_be_visible()

    hit, people = Batch.objects.get().hits.order_by("pk").first(), [shop.make_worker(n) for n in ("wanda", "walt")]
    for person in people:
        shop.do(person, hit)
    Annotation.objects.update(active_seconds=90)
    shop.look(study)
    page.reload()
    expect(page.get_by_text("2 sittings wait for a decision.")).to_be_visible()
    look(page, axe, screenshots, "batch")
    page.get_by_role("link", name="Decide about the work of W002 in HIT 1").click()
    look(page, axe, screenshots, "decide")
    page.get_by_label("Reason").fill("Guessing.")
    page.get_by_role("button", name="Pay $0.50, leave the answers out of the data").click()
    expect(page.get_by_text("1 approved, and their answers left out.")).to_be_visible()
    page.get_by_role("link", name="Approve all that wait").click()
    look(page, axe, screenshots, "approve-all")
    page.get_by_role("button", name="Approve 1 reward for $0.50").click()
    expect(page.get_by_text("1 reward approved.")).to_be_visible()
    shop.drain()
    assert {ledger.account("owed", worker=person).balance for person in people} == {50}
    assert set(Annotation.objects.filter(worker__enrolments__number=2).values_list("uncounted", flat=True)) == {
        "excluded"
    }

    page.get_by_role("link", name="HITs and pay").first.click()
    page.get_by_role("link", name="Pay", exact=True).click()
    expect(page.get_by_role("img", name="What an hour earns")).to_be_visible()
    page.get_by_text("As a table").click()
    look(page, axe, screenshots, "pay")
    page.get_by_role("link", name="Top up to a wage").click()
    page.get_by_role("button", name="See who gets how much").click()
    look(page, axe, screenshots, "wage")
    page.get_by_role("button", name="Pay 2 bonuses, $0.50 in all").click()
    expect(page.get_by_text("2 people topped up.")).to_be_visible()
    page.get_by_role("link", name="Bonus for W001").click()
    page.get_by_label("Dollars").fill("1.00")
    page.get_by_label("Reason").fill("Careful work.")
    look(page, axe, screenshots, "bonus")
    page.get_by_role("button", name="See the cost").click()
    look(page, axe, screenshots, "bonus-cost")
    page.get_by_role("button", name="Pay W001 $1.00").click()
    expect(page.get_by_text("$1.00 for W001 is on its way.")).to_be_visible()
    shop.drain()
    assert Payment.objects.exclude(state="paid").count() == 0
    assert sorted(ledger.account("owed", worker=person).balance for person in people) == [75, 175]
    assert ledger.is_balanced()


@SIZES
def test_a_batch_is_stopped_and_what_needs_a_person_is_seen(new_page, lab, study, axe, screenshots, size):
    batch = shop.buy(study, 4, per_hit=2)
    earn(batch, state=Visit.State.QUARANTINED, why="Somebody else submitted this assignment at the marketplace.")
    page = new_page(**size)
    log_in(page, "/studies/plants/batches/")
    expect(page.get_by_role("heading", name="Needs a person")).to_be_visible()
    look(page, axe, screenshots, "needs")
    page.get_by_role("button", name="Leave the visit of W001 so").click()
    expect(page.get_by_role("heading", name="Needs a person")).to_have_count(0)
    page.get_by_role("link", name="Top up").click()
    page.get_by_label("More sittings").fill("3")
    page.get_by_role("button", name="Show what follows").click()
    expect(page.get_by_role("button", name="Publish 2 more HITs for up to $1.50")).to_be_visible()
    look(page, axe, screenshots, "top-up")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="End…", exact=True).click()
    look(page, axe, screenshots, "end")
    page.get_by_role("button", name="End batch 1, take down 2 HITs").click()
    expect(page.get_by_text("Ended.")).to_be_visible()
    shop.drain()
    expect(page.get_by_role("list", name="HITs").get_by_text("offered no more")).to_be_visible()  # without a reload
    page.get_by_role("link", name="Its HITs one by one").click()
    look(page, axe, screenshots, "one-by-one")


def test_without_script_and_without_a_marketplace_everything_can_be_done(new_page, study, settings):
    open_account(settings)
    page = new_page(java_script_enabled=False, **DESK)
    log_in(page, "/studies/plants/batches/")
    page.get_by_role("link", name="ask for the balance").click()
    expect(page.get_by_text("The marketplace did not say")).to_be_visible()
    page.get_by_role("link", name="Back to the batches").click()
    page.get_by_role("link", name="New batch").click()
    page.get_by_label("Reward").fill("0.50")
    page.get_by_role("button", name="See the cost").click()
    page.get_by_role("button", name="Publish 1 HIT for up to $2.40").click()
    expect(page.get_by_text("Publishing: 0 of 1 HITs.")).to_be_visible()
    page.get_by_role("link", name="Pause").click()
    page.get_by_role("button", name="Pause 1 HIT").click()
    expect(page.get_by_text("Paused.")).to_be_visible()
