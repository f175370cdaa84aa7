"""Researchers' pages of people and links."""

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation import links
from annotation.errors import LinkRevoked
from annotation.models import Annotation, Event, Worker
from tests.factories import LONG_AGO, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker
from tests.people import answer, make_onlooker, make_researcher

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def study(client):
    made = make_study(items_per_sitting=1)
    client.force_login(make_researcher(made))
    return made


def address(name, study, *args):
    return reverse(f"annotation:{name}", args=[study.slug, *args])


def rows(client, study, query=""):
    """Of each row of the table: running code, the researcher's name, answers."""
    page = client.get(address("workers", study) + query).content.decode()
    cells = r'code">(W\d+)</span></td>\s*<td[^>]*>(.*?)</td>.*?data-label="Answers"[^>]*>(\d+)<'
    return [(code, html.unescape(name), answers) for code, name, answers in re.findall(cells, page, re.DOTALL)]


def link_in(answer):
    """The personal link a page shows, as its token."""
    return re.search(r'value="[^"]*/w/([^/"]+)/"', answer.content.decode())[1]


def test_workers_are_listed_with_their_answers_and_their_names_are_text(client, study):
    make_items(study, 1)
    answer(study, "ann", NORMAL_ANSWER)
    make_worker(study, EVIL)
    assert rows(client, study) == [("W001", "ann", "1"), ("W002", EVIL, "0")]
    assert EVIL not in client.get(address("workers", study)).content.decode()


@pytest.mark.parametrize(
    ("sort", "codes"),
    [
        ("worker", ["W001", "W002"]),
        ("-worker", ["W002", "W001"]),
        ("answers", ["W001", "W002"]),
        ("-answers", ["W002", "W001"]),
        ("-seen", ["W002", "W001"]),
        ("nonsense", ["W001", "W002"]),
    ],
)
def test_workers_are_sorted_by_what_the_address_says(client, study, sort, codes):
    make_items(study, 1)
    make_worker(study, "ann")
    answer(study, "ben", NORMAL_ANSWER)
    assert [code for code, *_ in rows(client, study, f"?sort={sort}")] == codes


def test_the_table_can_be_kept_by_running_code_alone(client, study):
    make_items(study, 1)
    answer(study, "ann", NORMAL_ANSWER)
    Annotation.objects.update(active_seconds=60)
    response = client.get(address("workers", study) + "?format=csv&sort=-worker")
    assert b"".join(response.streaming_content).decode("utf-8-sig").splitlines() == [
        "worker,stage,state,answers,median seconds,low (95%),high (95%),last seen",
        f"W001,generate,qualified,1,60.0,60,60,{LONG_AGO.isoformat()}",
        f"W001,validate,qualified,0,,,,{LONG_AGO.isoformat()}",
    ]


def test_twenty_five_workers_are_shown_and_more_on_demand(client, study):
    for n in range(26):
        make_worker(study, f"ann-{n}")
    assert len(rows(client, study)) == 25
    assert rows(client, study, "?page=2") == [("W026", "ann-25", "0")]
    region = client.get(address("workers", study) + "?page=2", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in region
    assert "W026" in region


def test_a_page_of_workers_costs_the_same_for_one_and_for_three(client, study):
    costs = []
    for code in ("ann", "ben", "cat"):
        make_worker(study, code)
        with CaptureQueriesContext(connection) as captured:
            client.get(address("workers", study))
        costs.append(len(captured))
    assert costs == [10, 10, 10]


def test_added_workers_get_links_that_let_them_in(client, study):
    asked = {"code": "ann", "stages": ["generate"], "count": "2"}
    answer = client.post(address("add_workers", study), asked)
    assert re.findall(r'code">(W\d+)</span> ([\w-]+)', answer.content.decode()) == [
        ("W001", "ann-1"),
        ("W002", "ann-2"),
    ]
    assert links.worker_of(link_in(answer), links.LINK, at=timezone.now()).code == "ann-1"
    assert "no-store" in answer.headers["Cache-Control"]
    assert list(Event.objects.values_list("what", "actor")) == [("qualified", "user:maria")] * 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"code": " "}, "This field is required."),
        ({"code": "a\x00b"}, "Null characters are not allowed."),
        ({"code": "a" * 91}, "Ensure this value has at most 90 characters"),
        ({"stages": ["judge"]}, "judge is not one of the available choices."),
        ({"count": "501"}, "Ensure this value is less than or equal to 500."),
    ],
)
def test_workers_that_cannot_be_are_refused_beside_the_field(client, study, change, said):
    answer = client.post(address("add_workers", study), {"code": "ann", "stages": ["generate"], "count": "1"} | change)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Worker.objects.exists()


def test_a_new_link_is_one_more_and_is_shown_once(client, study):
    worker = make_worker(study, "ann")
    token = link_in(client.post(address("worker_link", study, 1)))
    assert links.worker_of(token, links.LINK, at=timezone.now()) == worker
    assert token not in client.get(address("workers", study)).content.decode()
    assert client.get(address("worker_link", study, 1)).status_code == 405


def test_revoking_says_first_what_stops_and_asks_why(client, study):
    make_items(study, 1)
    worker = make_worker(study, "ann")
    make_sitting(study, worker=worker)
    token = links.sign(worker, links.LINK, at=timezone.now())
    page = client.get(address("revoke_links", study, 1)).content.decode()
    assert "Revoke the links of W001" in page
    assert "1 open sitting goes back when the lease ends" in page
    assert client.post(address("revoke_links", study, 1), {"why": ""}).status_code == 422
    assert links.worker_of(token, links.LINK, at=timezone.now()) == worker
    assert client.post(address("revoke_links", study, 1), {"why": "Lost."}).status_code == 302
    with pytest.raises(LinkRevoked):
        links.worker_of(token, links.LINK, at=timezone.now())
    assert Event.objects.filter(what="links revoked", why="Lost.", actor="user:maria").count() == 1


@pytest.mark.parametrize("number", [2, 10**30])
def test_a_worker_who_is_not_there_is_404(client, study, number):
    assert client.post(address("worker_link", study, number)).status_code == 404


def test_the_enrolment_link_is_shown_while_it_is_open(client, study):
    def shown():
        return re.findall(r'/join/([^/"]+)/', client.get(address("workers", study)).content.decode())

    assert shown() == []
    client.post(address("enrolment", study), {"do": "open"})
    [first] = shown()
    assert links.study_of(first) == study
    client.post(address("enrolment", study), {"do": "renew"})
    [renewed] = shown()
    assert links.study_of(renewed) == study
    with pytest.raises(LinkRevoked):
        links.study_of(first)
    client.post(address("enrolment", study), {"do": "close"})
    assert shown() == []
    assert client.post(address("enrolment", study), {"do": "sell"}).status_code == 422


def test_who_only_looks_on_sees_no_links(client, study):
    make_worker(study, "ann")
    client.post(address("enrolment", study), {"do": "open"})
    client.force_login(make_onlooker(study))
    page = client.get(address("workers", study)).content.decode()
    assert "W001" in page
    assert "/join/" not in page
    assert "New link" not in page
