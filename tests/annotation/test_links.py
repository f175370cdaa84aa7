"""Personal links and tokens: whom they let in, and when they stop."""

from datetime import timedelta

import pytest
from django.core import signing
from django.test import override_settings
from django.urls import resolve
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation import links, qualification
from annotation.errors import BadLink, LinkExpired, LinkRevoked
from tests.annotation.program import PROBLEM, Program
from tests.factories import LONG_AGO, make_items, make_sitting, make_study, make_worker

DAY = timedelta(days=1)


@pytest.fixture
def ann(db):
    study = make_study()
    make_items(study, 1)
    return make_worker(study, "ann")


def lease(token):
    """(status, code) of a lease with this token."""
    status, body = Program(token=token).ask("POST", "studies/crepe-a/sittings/", {"stage": "generate"})
    return status, body.get("code")


def cut(token):
    return token[:-1]


def changed(token):
    """The same signature under another worker's number."""
    return signing.b64_encode(b"[2,0,9999999999]").decode() + token[token.index(":") :]


def test_a_token_works_until_its_last_day(ann, settings):
    token = links.sign(ann, links.TOKEN, at=LONG_AGO)
    last = LONG_AGO + settings.LINK_DAYS * DAY
    assert links.worker_of(token, links.TOKEN, at=last) == ann
    with pytest.raises(LinkExpired):
        links.worker_of(token, links.TOKEN, at=last + timedelta(seconds=1))


def test_withdrawing_stops_every_earlier_link_and_token_and_no_later_one(ann):
    before = [links.sign(ann, purpose, at=LONG_AGO) for purpose in (links.LINK, links.TOKEN)]
    qualification.revoke_links(ann)
    for token, purpose in zip(before, (links.LINK, links.TOKEN), strict=True):
        with pytest.raises(LinkRevoked):
            links.worker_of(token, purpose, at=LONG_AGO)
    assert links.worker_of(links.sign(ann, links.LINK, at=LONG_AGO), links.LINK, at=LONG_AGO) == ann


def test_a_link_is_no_token_and_a_token_no_link(ann):
    for purpose, other in ((links.LINK, links.TOKEN), (links.TOKEN, links.LINK), (links.ENROLMENT, links.TOKEN)):
        with pytest.raises(BadLink):
            links.worker_of(links.sign(ann, purpose, at=LONG_AGO), other, at=LONG_AGO)


def test_a_personal_link_is_an_address_of_this_site_that_names_its_worker(ann, settings):
    settings.SITE_URL = "https://touchstone.example"
    address = links.personal_link(ann, at=LONG_AGO)
    assert address.startswith("https://touchstone.example/w/")
    token = resolve(address.removeprefix("https://touchstone.example")).kwargs["token"]
    assert links.worker_of(token, links.LINK, at=LONG_AGO) == ann


def test_another_secret_ends_every_link_unless_the_old_one_is_kept_beside_it(ann, settings):
    token = links.sign(ann, links.TOKEN, at=LONG_AGO)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 10
    with pytest.raises(BadLink):
        links.worker_of(token, links.TOKEN, at=LONG_AGO)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert links.worker_of(token, links.TOKEN, at=LONG_AGO) == ann


@pytest.mark.django_db
def test_an_enrolment_link_works_while_enrolment_is_open_and_until_it_is_renewed():
    study = make_study()
    token = resolve(links.enrolment_link(study).split("8000")[-1]).kwargs["token"]
    with pytest.raises(LinkRevoked):
        links.study_of(token)
    study.enrolment_open = True
    study.save()
    assert links.study_of(token) == study
    study.enrolment_serial += 1
    study.save()
    with pytest.raises(LinkRevoked):
        links.study_of(token)


@given(st.text(max_size=80) | st.from_regex(r"\A[\w=.-]{0,40}:[\w-]{0,10}:[\w=-]{0,60}\Z"))
def test_any_other_text_is_a_bad_link(text):
    for read in (
        links.study_of,
        lambda token: links.worker_of(token, links.LINK, at=LONG_AGO),
        lambda token: links.scope_of(token, at=LONG_AGO),
    ):
        with pytest.raises(BadLink):
            read(text)


# --- At the door of the API ---------------------------------------------------------------------
def test_the_api_says_why_a_token_does_not_let_anybody_in(ann):
    token = links.sign(ann, links.TOKEN, at=timezone.now())
    assert lease(token) == (201, None)
    assert lease("") == (401, "not_authenticated")
    for broken in (cut(token), changed(token), "x", links.sign(ann, links.LINK, at=timezone.now())):
        assert lease(broken) == (401, "bad_token")
    assert lease(links.sign(ann, links.TOKEN, at=LONG_AGO - 400 * DAY)) == (401, "token_expired")
    qualification.revoke_links(ann)
    assert lease(token) == (401, "token_revoked")


@override_settings(LINK_DAYS=1)
def test_an_expired_token_is_told_so_in_a_sentence(ann):
    token = links.sign(ann, links.TOKEN, at=timezone.now() - 2 * DAY)
    response = Program(token=token).send("POST", "studies/crepe-a/sittings/", b'{"stage": "generate"}')
    assert (response.status_code, response["Content-Type"], response["WWW-Authenticate"]) == (401, PROBLEM, "Token")
    assert response.json() == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "code": "token_expired",
        "detail": "This token has expired. Your work is kept; please ask the study's team for a new token.",
    }


@pytest.mark.parametrize("header", ["", "Token", "Token ", "Basic YW5uOmFubg==", "Bearer x", "token\tx", "Token é ü"])
def test_any_other_authorization_is_401(ann, header):
    client = Program()
    client.defaults["HTTP_AUTHORIZATION"] = header
    status, body = client.ask("POST", "studies/crepe-a/sittings/", {"stage": "generate"})
    assert (status, body["code"]) in [(401, "not_authenticated"), (401, "bad_token")]


# --- Scoped links ---------------------------------------------------------------------------------


def scoped(ann, then="/go/on/", sitting=None):
    study = ann.enrolments.get().study
    return links.sign_scope(ann, study, "generate", sitting=sitting, then=then, until=LONG_AGO + DAY)


def test_a_scoped_token_says_which_place_it_opens_until_its_time(ann):
    sitting = make_sitting(ann.enrolments.get().study, worker=ann)
    for place, pk in ((None, None), (sitting, sitting.pk)):
        scope = links.scope_of(scoped(ann, sitting=place), at=LONG_AGO + DAY)
        assert scope == links.Scope(ann, "crepe-a", "generate", pk, "/go/on/")
    with pytest.raises(LinkExpired):
        links.scope_of(scoped(ann), at=LONG_AGO + DAY + timedelta(seconds=1))


def test_withdrawing_links_ends_scoped_ones(ann):
    token = scoped(ann)
    qualification.revoke_links(ann)
    with pytest.raises(LinkRevoked):
        links.scope_of(token, at=LONG_AGO)
    assert links.is_scoped(token)


def test_a_scoped_token_is_neither_link_nor_token_and_they_are_no_scope(ann):
    for purpose in (links.LINK, links.TOKEN):
        with pytest.raises(BadLink):
            links.worker_of(scoped(ann), purpose, at=LONG_AGO)
        whole = links.sign(ann, purpose, at=LONG_AGO)
        with pytest.raises(BadLink):
            links.scope_of(whole, at=LONG_AGO)
        assert not links.is_scoped(whole)


@pytest.mark.parametrize("then", ["", "go/", "https://evil.example/", "//evil.example/", "/\\evil.example/"])
def test_a_scope_leads_nowhere_but_to_this_site(ann, then):
    with pytest.raises(ValueError, match="no path of this site"):
        scoped(ann, then)
