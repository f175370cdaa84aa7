"""A HIT of a study, worked in the marketplace's frame: the worker site at 127.0.0.1, the tasks at localhost, and no
third-party cookies.
"""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import way_in
from annotation.models import Annotation
from hits import places
from hits.models import Hit, Payment, Visit
from marketplace import ledger, work
from tests.factories import FALSE_ANSWER, make_items
from tests.hits import shop
from tests.marketplace.market import make_worker

pytestmark = pytest.mark.django_db(transaction=True)
PHONE, DESK = {"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 1280, "height": 800}}


@pytest.fixture
def study(live_server, settings, worker_site):
    """On sale at the worker site; its tasks are served under the server's other name."""
    shop.open_shop(settings, worker_site)
    settings.PUBLIC_URL = live_server.url
    yield shop.make_shop_study(4)
    places.close()


def enter(page, worker):
    page.goto(f"/marketplace/enter/{work.token_of(worker)}/")
    expect(page.get_by_role("heading", level=1, name="Find work")).to_be_visible()


def look(page, axe, screenshots, name):
    page.wait_for_load_state()
    axe(page)
    width = page.viewport_size["width"]
    page.screenshot(path=screenshots / f"hit-{name}-{width}.png", full_page=True, caret="initial")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def answer_by_keys(page, frame, number, total):
    """An item without a false assumption, with the keyboard alone."""
    expect(frame.get_by_role("heading", level=1, name=f"{number} of {total}")).to_be_visible()
    for key, legend in (("1", "answered with facts"), ("4", "informative"), ("n", "assumes is wrong")):
        step = frame.locator("fieldset", has_text=legend)
        expect(step.first).to_be_visible()
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_hit_is_done_in_the_frame_and_paid(new_worker_page, study, axe, screenshots, size):
    shop.buy(study, 2)
    page, worker = new_worker_page(**size), make_worker()
    enter(page, worker)
    page.get_by_role("link", name="Study crepe-a").click()
    frame = page.frame_locator(".task-frame")
    expect(frame.get_by_text("This is a preview")).to_be_visible()
    look(page, axe, screenshots, "preview")
    assert not Visit.objects.exists()
    page.get_by_role("button", name="Accept and work").click()
    expect(frame.get_by_role("heading", level=1, name="1 of 2")).to_be_visible()
    look(page, axe, screenshots, "item")
    frame.get_by_role("heading", level=1).click()
    for number in (1, 2):
        answer_by_keys(page, frame, number, 2)
    expect(page.get_by_role("heading", name="Thank you. Your work is submitted")).to_be_visible()
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"unconfirmed"}
    shop.look(study)
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {""}
    assert Payment.objects.get().state == "paid"
    page.get_by_role("link", name="My work").click()
    expect(page.get_by_text("$0.50").first).to_be_visible()
    expect(page.get_by_text("approved", exact=True)).to_be_visible()
    look(page, axe, screenshots, "paid")
    assert ledger.is_balanced()


def test_the_way_in_is_walked_in_the_frame(new_worker_page, study, axe, screenshots):
    make_items(study, 1, role="practice", prefix="p", gold=FALSE_ANSWER)
    way_in.set_consent(study, "You can stop at any time.", by="test", at=timezone.now())
    shop.buy(study, 1)
    page, worker = new_worker_page(**PHONE), make_worker()
    enter(page, worker)
    page.get_by_role("button", name="Accept and work").click()
    frame = page.frame_locator(".task-frame")
    expect(frame.get_by_text("You can stop at any time.")).to_be_visible()
    look(page, axe, screenshots, "consent")
    frame.get_by_role("button", name="I have read this and agree").click()
    frame.get_by_role("button", name="I have read this: go on").click()
    expect(frame.get_by_text("Practice: nothing counts here")).to_be_visible()
    assert Hit.objects.get().visits.get().sitting.purpose == "practice"
    look(page, axe, screenshots, "practice")
