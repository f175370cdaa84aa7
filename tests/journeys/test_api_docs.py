"""The API's own page, under the site's policy against inline script: a person can read it and try a request on it."""

import pytest
from django.utils import timezone

from annotation import links
from annotation.models import Sitting
from tests.factories import make_items, make_study, make_worker

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_person_takes_a_sitting_from_the_documentation(page):
    study = make_study()
    make_items(study, 1)
    worker = make_worker(study, "ann")
    page.goto("/api/docs/")
    page.get_by_role("button", name="Authorize").click()
    mine = page.locator(".auth-container form").filter(has_text="token (apiKey)")  # staff have a token of their own
    mine.locator("input").fill(f"Token {links.sign(worker, links.TOKEN, at=timezone.now())}")
    mine.get_by_role("button", name="Apply credentials").click()
    mine.get_by_role("button", name="Close").click()
    operation = page.locator("#operations-studies-take_sitting")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_placeholder("slug").fill(study.slug)
    operation.get_by_role("button", name="Execute").click()
    operation.locator(".live-responses-table .response-col_status", has_text="201").wait_for()
    assert Sitting.objects.get().worker == worker
