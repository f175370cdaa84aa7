"""The frame over HTTP, as a browser without any cookie opens it."""

import re
from html import unescape

import pytest

from annotation.models import Annotation, Sitting
from hits.models import Hit, Visit
from marketplace import work
from tests.factories import FALSE_ANSWER, make_items
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sale(lab):
    study = shop.make_shop_study(4)
    shop.buy(study, 2)
    return study, Hit.objects.get()


def address(client, held, **changes):
    given = {
        "assignmentId": held.assignment_id,
        "hitId": held.hit.hit_id,
        "workerId": held.worker.worker_id,
        "turkSubmitTo": work.submit_to(),
    }
    return client.get(f"/frame/{Hit.objects.get().key}/", {**given, **changes})


def follow(client, response):
    while response.status_code == 302:
        assert not response.cookies
        response = client.get(response["Location"])
    return response


def policy(response):
    return dict(part.strip().split(" ", 1) for part in response["Content-Security-Policy"].split(";") if " " in part)


def test_a_preview_shows_the_task_and_creates_nothing(client, sale, settings):
    study, hit = sale
    make_items(study, 1, role="practice", prefix="p", gold=FALSE_ANSWER)
    settings.TASK_FRAME_HOSTS = ["https://work.example.org"]
    for query in ({}, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": hit.hit_id}):
        response = client.get(f"/frame/{hit.key}/", query)
        assert response.status_code == 200
        assert b"This is a preview" in response.content
        assert "X-Frame-Options" not in response
        assert policy(response)["frame-ancestors"] == "https://work.example.org"
        assert not response.cookies
    assert not Visit.objects.exists()
    assert not Sitting.objects.exists()


def test_the_whole_way_without_cookies_or_scripts(client, sale):
    study, hit = sale
    person = shop.make_worker()
    held = shop.accept(person, hit)
    response = address(client, held)
    page = follow(client, response)
    assert page.status_code == 200
    assert "X-Frame-Options" not in page
    assert "give back" not in page.content.decode()
    stage = study.protocol.stage("generate")
    for _ in range(2):
        action = unescape(re.search(r'action="([^"]*sittings[^"]*)"', page.content.decode())[1])
        response = client.post(action, {**stage.spread(FALSE_ANSWER), "go": "next", "active_seconds": "40"})
        page = follow(client, response)
    text = page.content.decode()
    assert "One step is left" in text
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"unconfirmed"}
    site = policy(page)["form-action"].split()[-1]
    form = re.search(r'action="([^"]*/mturk/externalSubmit)"', text)[1]
    assert form.startswith(site)
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', text))
    assert fields["assignmentId"] == held.assignment_id
    answer = client.post(form.removeprefix(site), fields)
    assert answer.status_code == 200
    assert shop.look(study)["confirmed"] == 1
    again = follow(client, address(client, held))
    assert "One step is left" in again.content.decode()  # a form that got lost may leave again
    assert Annotation.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"turkSubmitTo": "https://evil.example"}, 400, "does not know"),
        ({"turkSubmitTo": "javascript:alert(1)"}, 400, "does not know"),
        ({"turkSubmitTo": ""}, 400, "does not know"),
        ({"workerId": ""}, 400, "did not say who"),
        ({"workerId": "<script>"}, 400, "did not say who"),
        ({"workerId": "W\x00"}, 400, "did not say who"),
        ({"assignmentId": "A" * 65}, 400, "did not say who"),
        ({"hitId": "3AAAA"}, 404, "not one of ours"),
    ],
)
def test_forged_parameters_are_refused_with_a_sentence(client, sale, changes, status, said):
    _, hit = sale
    held = shop.accept(shop.make_worker(), hit)
    response = address(client, held, **changes)
    assert response.status_code == status
    assert said in response.content.decode()
    assert not Visit.objects.exists()


def test_submit_addresses_are_looked_up_with_everything_in_them(client, sale, live_server):
    _, hit = sale
    held = shop.accept(shop.make_worker(), hit)
    host = live_server.url
    for foreign in (f"{host}.evil.example", f"{host}@evil.example", f"{host}/x?y=1", f"{host}#x", f"//{host[7:]}"):
        assert address(client, held, turkSubmitTo=foreign).status_code == 400


def test_a_visits_token_opens_nothing_else(client, sale):
    _, hit = sale
    held = shop.accept(shop.make_worker(), hit)
    link = address(client, held)["Location"]
    token = link.split("/")[-2]
    assert client.get(f"/w/{token}/").status_code in (403, 404)
    assert client.get(f"/frame/go/{token[:-2]}xx/").status_code in (403, 404)
    work_page = client.get(link)["Location"]
    scoped = work_page.split("/")[2]
    assert client.get(f"/w/{scoped}/")["Location"] == link
    assert client.get(f"/w/{scoped}/sittings/999/1/").status_code == 404
    api = client.get("/api/v1/sittings/", headers={"Authorization": f"Token {scoped}"})
    assert api.status_code in (401, 404, 405)


def test_too_many_openings_from_one_address_are_refused(client, sale, settings, monkeypatch):
    from annotation.throttling import PerVisitor

    _, hit = sale
    held = shop.accept(shop.make_worker(), hit)
    monkeypatch.setattr(PerVisitor, "rate", "2/min", raising=False)
    monkeypatch.setattr(PerVisitor, "THROTTLE_RATES", {"frame": "2/min"})
    statuses = [address(client, held).status_code for _ in range(3)]
    assert statuses == [302, 302, 429]


def test_nothing_left_says_so_and_the_hit_can_be_returned(client, sale):
    study, hit = sale
    study.items.update(state="dropped", open_seats=0, stage="")
    page = follow(client, address(client, shop.accept(shop.make_worker(), hit)))
    assert page.status_code == 409
    assert "nothing left" in page.content.decode()
