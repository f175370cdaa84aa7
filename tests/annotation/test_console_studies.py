"""Researchers' pages: who sees them, the list of studies, one study at a glance, a new one, settings."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Event, Study
from annotation.protocols import CREPE
from annotation.views import pages
from tests.factories import LONG_AGO, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker
from tests.people import answer, make_admin, make_onlooker, make_researcher

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
SECOND = timedelta(seconds=1)
HTMX = {"HX-Request": "true"}
EVIL = "<script>alert(1)</script>"

PAGES = [
    ("annotation:study", []),
    ("annotation:days", []),
    ("annotation:times", []),
    ("annotation:settings", []),
    ("annotation:workers", []),
    ("annotation:revoke_links", [1]),
    ("annotation:data", []),
    ("annotation:job", [1]),
    ("annotation:download", [1]),
    ("validation:items", []),
    ("validation:evidence", [1]),
    ("validation:agreement", []),
    ("validation:labels", []),
]
ACTIONS = [
    ("annotation:add_workers", []),
    ("annotation:worker_link", [1]),
    ("annotation:revoke_links", [1]),
    ("annotation:enrolment", []),
    ("annotation:import_items", []),
    ("annotation:export", []),
]


def address(name, study, args=()):
    return reverse(name, args=[study.slug, *args])


def queries_of(client, url):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


# --- Who may see what ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "args"), PAGES)
def test_nobody_sees_a_page_without_logging_in(client, name, args):
    url = address(name, make_study(), args)
    assert client.get(url).headers["Location"] == f"{reverse('account_login')}?next={url}"


def test_a_region_that_refreshes_itself_is_told_that_the_person_is_logged_out(client):
    assert client.get(address("annotation:study", make_study()), headers=HTMX).status_code == 401


@pytest.mark.parametrize(("name", "args"), PAGES)
def test_the_study_of_another_team_is_not_there(client, name, args):
    study = make_study("theirs")
    client.force_login(make_researcher(make_study("ours")))
    assert client.get(address(name, study, args)).status_code == 404


@pytest.mark.parametrize(("name", "args"), ACTIONS)
def test_nothing_can_be_done_in_the_study_of_another_team(client, name, args):
    study = make_study("theirs")
    make_worker(study, "ann")
    client.force_login(make_researcher(make_study("ours")))
    told = Event.objects.count()
    assert client.post(address(name, study, args), {"do": "open", "why": "x"}).status_code == 404
    assert Event.objects.count() == told


@pytest.mark.parametrize(("name", "args"), ACTIONS)
def test_who_is_in_the_team_but_no_researcher_looks_on(client, name, args):
    study = make_study()
    make_worker(study, "ann")
    client.force_login(make_onlooker(study))
    assert client.get(address("annotation:workers", study)).status_code == 200
    assert client.post(address(name, study, args), {"do": "open", "why": "x"}).status_code == 403


def test_an_admin_sees_every_study(client):
    study = make_study("theirs")
    client.force_login(make_admin())
    assert client.get(address("annotation:study", study)).status_code == 200


# --- The list -----------------------------------------------------------------------------------


def test_the_list_shows_the_persons_own_studies_with_their_progress(client):
    ours, _ = make_study("ours", title=EVIL), make_study("theirs")
    make_items(ours, 3)
    client.force_login(make_researcher(ours))
    page = client.get(reverse("annotation:studies")).content.decode()
    assert re.findall(r'href="/studies/([^/"]+)/"', page) == ["ours"]
    assert "waiting 3, being worked on 0" in page
    assert "0 of 3 items are closed" in page
    assert EVIL not in page


def test_an_empty_list_says_what_will_be_here(client):
    client.force_login(make_researcher())
    page = client.get(reverse("annotation:studies"))
    assert "Here will be the studies of your teams." in page.content.decode()


def test_the_list_costs_the_same_for_one_study_and_for_three(client):
    maria = make_researcher(make_study("one"))
    client.force_login(maria)
    for_one = queries_of(client, reverse("annotation:studies"))
    for slug in ("two", "three"):
        make_study(slug).team.add(maria)
    assert (for_one, queries_of(client, reverse("annotation:studies"))) == (5, 5)


# --- One study ----------------------------------------------------------------------------------


@pytest.fixture
def study():
    return make_study(items_per_sitting=1, title="Power plants")


@pytest.fixture
def maria(client, study):
    user = make_researcher(study)
    client.force_login(user)
    return user


def test_a_study_begins_with_its_items_by_where_they_stand_each_a_link(client, study, maria):
    make_items(study, 3)
    answer(study, "ann", NORMAL_ANSWER)
    page = client.get(address("annotation:study", study)).content.decode()
    items = address("validation:items", study)
    counts = re.findall(r'href="([^"]+)">.*?<span class="count">(\d+)</span>', page)
    assert counts == [
        (f"{items}?state={place}", count)
        for place, count in zip(
            ("waiting", "working", "validation", "settled", "filtered", "unresolved"), "210000", strict=True
        )
    ]


def test_the_numbers_are_on_the_page_without_script_or_one_link_away(client, study, maria):
    make_items(study, 1)
    answer(study, "ann", NORMAL_ANSWER)
    page = client.get(address("annotation:study", study)).content.decode()
    assert "<td>2026-11-01</td><td>1</td><td>0</td>" in page
    assert f'href="{address("validation:agreement", study)}"' in page
    assert f'href="{address("validation:labels", study)}"' in page


def test_an_empty_study_says_what_will_be_here(client, study, maria):
    assert "Import the first ones." in client.get(address("annotation:study", study)).content.decode()


def test_a_study_page_costs_the_same_for_one_item_and_for_three(client, study, maria):
    make_items(study, 1)
    answer(study, "ann", NORMAL_ANSWER)
    for_one = queries_of(client, address("annotation:study", study))
    make_items(study, 2, prefix="more")
    for code in ("ben", "cat"):
        answer(study, code, NORMAL_ANSWER)
    assert (for_one, queries_of(client, address("annotation:study", study))) == (10, 10)


@pytest.mark.parametrize("name", ["annotation:study", "annotation:days", "validation:agreement", "validation:labels"])
def test_a_region_stays_as_it_is_until_something_happens_or_a_minute_is_over(client, study, maria, name, monkeypatch):
    clock = [LONG_AGO]
    monkeypatch.setattr(pages, "now", lambda: clock[0])
    make_items(study, 1)
    make_worker(study, "ann")
    url = address(name, study)
    region = client.get(url, headers=HTMX).content.decode()
    again = re.search(r'hx-get="([^"]+)"', region)[1]
    assert again.startswith(f"{url}?after={Event.objects.latest('pk').pk}.")
    for seconds, status in ((59, 204), (60, 200), (0, 204)):
        clock[0] = LONG_AGO + seconds * SECOND
        assert client.get(again, headers=HTMX).status_code == status
    make_sitting(study, "ann")
    changed = client.get(again, headers=HTMX)
    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()


def test_people_at_work_are_counted(client, study, maria):
    make_items(study, 1)
    make_sitting(study, "ann", at=LONG_AGO + timedelta(days=36_500))
    assert "1 person is at work now." in client.get(address("annotation:study", study)).content.decode()


def test_a_picture_is_a_page_a_table_and_a_file(client, study, maria):
    make_items(study, 1)
    answer(study, "ann", NORMAL_ANSWER)
    url = address("annotation:days", study)
    assert "<h1>Power plants</h1>" in client.get(url).content.decode()
    table = client.get(f"{url}?format=csv")
    assert table.content.decode() == "day,Find false assumptions,Judge two annotations\n2026-11-01,1,0\n"
    assert table.headers["Content-Disposition"] == 'attachment; filename="crepe-a-days.csv"'
    drawn = client.get(f"{url}?format=svg")
    assert drawn.headers["Content-Type"] == "image/svg+xml"
    assert drawn.content.startswith(b"<svg ")


# --- A new one ----------------------------------------------------------------------------------

ASKED = {
    "title": "Power plants",
    "slug": "power",
    "protocol": "crepe",
    "option-items_per_sitting": "5",
    "option-lease_minutes": "30",
    "option-adjudication": "third_annotator",
}


def test_a_new_study_has_its_settings_and_its_maker_in_the_team(client):
    maria = make_researcher()
    client.force_login(maria)
    assert "who decides when the two generators differ" in client.get("/new-study/").content.decode().lower()
    assert client.post("/new-study/", ASKED).headers["Location"] == "/studies/power/"
    made = Study.objects.get(slug="power")
    assert (made.title, made.options) == (
        "Power plants",
        CREPE.read_options({"items_per_sitting": 5, "lease_minutes": 30, "adjudication": "third_annotator"}),
    )
    assert list(made.team.all()) == [maria]
    assert list(Event.objects.values_list("what", "actor")) == [("created", "user:maria")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"slug": "Power Plants"}, "Use lower-case letters, digits and hyphens, at most 50."),
        ({"slug": "taken"}, "There is a study with this short name already."),
        ({"title": "nul\x00"}, "Null characters are not allowed."),
        ({"option-items_per_sitting": "0"}, "Ensure this value is greater than or equal to 1."),
        ({"option-adjudication": "dice"}, "dice is not one of the available choices."),
    ],
)
def test_a_study_that_cannot_be_is_refused_and_keeps_what_was_typed(client, change, said):
    make_study("taken")
    client.force_login(make_researcher())
    answer = client.post("/new-study/", ASKED | change)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert 'value="30"' in answer.content.decode()
    assert Study.objects.count() == 1


def test_only_researchers_and_admins_make_studies(client):
    assert client.get("/new-study/").status_code == 302
    client.force_login(make_onlooker())
    assert client.post("/new-study/", ASKED).status_code == 403
    assert not Study.objects.exists()


# --- Settings -----------------------------------------------------------------------------------


def test_settings_show_the_protocol_its_source_the_options_and_the_team(client, study, maria):
    page = client.get(address("annotation:settings", study)).content.decode()
    for said in (
        "CREPE, version 1",
        "Yu, Min, Zettlemoyer",
        "<dt>Items per sitting</dt><dd><strong>1</strong>",
        "maria",
    ):
        assert said in page


def test_what_may_be_changed_at_any_time_is_changed_on_its_page_by_who_may(client, maria):
    study = make_study("claims", protocol="creak")
    study.team.add(maria)
    client.force_login(maria)
    page = address("annotation:settings", study)
    assert "What may be changed" in client.get(page).content.decode()
    assert client.post(page, {"first_person": "shout"}).status_code == 422
    for _ in range(2):  # what is so already changes nothing
        assert client.post(page, {"first_person": "warn", "items_per_sitting": "9"}).status_code == 302
    study.refresh_from_db()
    assert (study.options["first_person"], study.options["items_per_sitting"]) == (
        "warn",
        study.protocol.read_options({})["items_per_sitting"],
    )
    assert list(Event.objects.filter(what="settings changed").values_list("actor", "details")) == [
        ("user:maria", {"first_person": "warn"})
    ]
    client.force_login(onlooker := make_onlooker())
    study.team.add(onlooker)
    assert client.post(page, {"first_person": "block"}).status_code == 403


# --- The account --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["account_login", "account_reset_password", "mfa_index", "account_change_password"])
def test_pages_of_the_account_look_like_the_rest(client, name):
    if name not in ("account_login", "account_reset_password"):
        client.force_login(make_researcher())
    page = client.get(reverse(name))
    assert page.status_code == 200
    assert "css/console.css" in page.content.decode()


def test_nobody_makes_an_account_for_themselves(client):
    password = "a long pass phrase"
    asked = {"username": "eve", "email": "eve@example.org", "password1": password, "password2": password}
    client.post(reverse("account_signup"), asked)
    assert not User.objects.exists()
