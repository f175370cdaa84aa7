"""F17: everything that comes by the frame's address is the browser's to choose, and no cookie comes at all."""

from datetime import timedelta
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from annotation.models import Annotation, Sitting
from hits import publishing, visits
from hits.models import Hit, Visit
from hits.publishing import Terms
from marketplace import work
from tests.factories import NORMAL_ANSWER
from tests.hits import shop
from tests.hits.faults.judge import problems

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def sale(lab, beat):
    """Two HITs."""
    study = shop.make_shop_study(8)
    terms = Terms(stage="generate", sittings=4, reward=Decimal("0.50"), per_hit=2)
    publishing.publish(study, terms, by="test", at=timezone.now())
    beat.until_quiet()
    return study, *Hit.objects.order_by("pk")


@pytest.fixture
def browser():
    """One that keeps no cookie, whatever it is sent."""

    class Forgetful(Client):
        def request(self, **request):
            answer = super().request(**request)
            assert not answer.cookies, "the frame has no cookies"
            self.cookies.clear()
            return answer

    return Forgetful(enforce_csrf_checks=True, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"})


def address(hit, **given):
    return f"/frame/{hit.key}/?{urlencode(given)}"


def honest(held):
    return {
        "assignmentId": held.assignment_id,
        "hitId": held.hit.hit_id,
        "workerId": held.worker.worker_id,
        "turkSubmitTo": work.submit_to(),
    }


FORGED = {
    "another HIT's id": ({"hitId": "3" + "X" * 29}, 404),
    "no HIT": ({"hitId": ""}, 404),
    "no worker": ({"workerId": ""}, 400),
    "a worker with spaces": ({"workerId": "A B"}, 400),
    "a script for a worker": ({"workerId": "<script>alert(1)</script>"}, 400),
    "a worker that never ends": ({"workerId": "A" * 5_000}, 400),
    "a path for an assignment": ({"assignmentId": "../../admin"}, 400),
    "nothing in an assignment": ({"assignmentId": "\x00"}, 400),
    "no site": ({"turkSubmitTo": ""}, 400),
    "a foreign site": ({"turkSubmitTo": "https://evil.example"}, 400),
    "a foreign site with ours before": ({"turkSubmitTo": "{site}.evil.example"}, 400),
    "a foreign site with ours as its user": ({"turkSubmitTo": "{site}@evil.example"}, 400),
    "ours as a user of its own": ({"turkSubmitTo": "http://user@{host}"}, 400),
    "a foreign scheme": ({"turkSubmitTo": "javascript:alert(1)//{host}"}, 400),
    "no scheme": ({"turkSubmitTo": "//evil.example"}, 400),
    "a backslash": ({"turkSubmitTo": "{site}\\@evil.example"}, 400),
    "a query": ({"turkSubmitTo": "{site}/marketplace?to=https://evil.example"}, 400),
    "a broken address": ({"turkSubmitTo": "http://[::1"}, 400),
}


def test_a_forged_parameter_opens_nothing(sale, browser, settings):
    _, hit, _ = sale
    held = shop.accept(shop.make_worker(), hit)
    site, statuses = settings.SITE_URL, {}
    for name, (forged, _) in FORGED.items():
        given = {key: text.replace("{site}", site).replace("{host}", site[7:]) for key, text in forged.items()}
        answer = browser.get(address(hit, **{**honest(held), **given}))
        statuses[name] = answer.status_code
        assert b"evil" not in answer.content
        assert b"<script>alert" not in answer.content
    assert statuses == {name: status for name, (_, status) in FORGED.items()}
    assert (Visit.objects.count(), Sitting.objects.count()) == (0, 0)


def test_one_hits_parameters_open_no_other(sale, browser):
    _, hit, other = sale
    held = shop.accept(shop.make_worker(), hit)
    assert browser.get(address(hit, **honest(held))).status_code == 302
    crossed = {**honest(held), "hitId": other.hit_id}
    assert browser.get(address(other, **crossed)).status_code == 404
    assert Visit.objects.get().hit == hit


def test_the_whole_way_needs_no_cookie_and_may_be_framed_by_the_marketplace_alone(sale, browser, settings, beat):
    study, hit, _ = sale
    held = shop.accept(shop.make_worker(), hit)
    answer, seen = browser.get(address(hit, **honest(held))), []
    while True:
        seen.append(answer)
        if answer.status_code != 302:
            break
        answer = browser.get(answer["Location"])
    visit = shop.answer(Visit.objects.get())
    seen += [browser.get(f"/frame/go/{visits.token_of(visit)}/"), browser.get(address(hit)), browser.get("/frame/no/")]
    assert [page.status_code for page in seen] == [302, 302, 200, 200, 200, 404]
    for page in seen:
        assert "X-Frame-Options" not in page
        assert f"frame-ancestors {settings.SITE_URL}" in page["Content-Security-Policy"]
    for private in ("/accounts/login/", "/admin/login/", "/studies/"):
        page = browser.__class__.__base__().get(private)
        assert page["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    shop.send(held, visit)
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []


def test_a_token_that_is_forged_or_replayed_gives_nothing_away(sale, browser, beat):
    study, hit, _ = sale
    held = shop.accept(shop.make_worker(), hit)
    visit = shop.answer(shop.enter(held))
    token = visits.token_of(visit)
    foreign = signing.dumps(visit.pk), signing.dumps(visit.pk, salt="marketplace.worker")
    for forged in (token[:-1] + ("A" if token[-1] != "A" else "B"), *foreign):
        assert browser.get(f"/frame/go/{forged}/").status_code == 403
    shop.send(held, visit)
    beat.until_quiet()
    before = list(Annotation.objects.order_by("pk").values("answer", "uncounted"))
    for _ in range(2):  # once confirmed, it leads to the end alone
        page = browser.get(f"/frame/go/{token}/")
        assert page.status_code == 200
        assert b"externalSubmit" in page.content
    assert list(Annotation.objects.order_by("pk").values("answer", "uncounted")) == before
    assert problems(study, at=beat.now()) == []


def test_who_claims_to_be_another_sees_nothing_of_theirs_and_takes_nothing(sale, beat):
    """The victim is at work in one HIT; a thief opens another under the victim's id, and submits under their own."""
    study, hit, other = sale
    victim, thief = shop.make_worker("victim"), shop.make_worker("thief")
    now = timezone.now()
    held = shop.accept(victim, hit, at=now)
    mine = shop.enter(held, at=now)
    work_of_mine = visits.go_on(mine, at=now).sitting
    stolen = shop.accept(thief, other, at=now)
    forged = shop.enter(stolen, worker_id=victim.worker_id, at=now)
    with pytest.raises(visits.Busy):
        visits.go_on(forged, at=now)
    late = now + timedelta(minutes=4)  # as if the victim had left
    theirs = visits.go_on(forged, at=late).sitting
    assert not set(theirs.assignments.values_list("item")) & set(work_of_mine.assignments.values_list("item"))
    shop.send(stolen, shop.answer(forged, NORMAL_ANSWER, at=late), at=late)
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"excluded"}
