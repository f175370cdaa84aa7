"""Which pages may be framed, by whom, and that nothing else of the policy is loosened."""

import pytest
from django.http import HttpResponse
from django.urls import path

from annotation.views.framing import framed
from config.urls import urlpatterns as ours

HOST, OTHER = "https://work.example", "https://*.other.example"

urlpatterns = [
    path("plain/", lambda request: HttpResponse("x")),
    path("framed/", lambda request: framed(HttpResponse("x"))),
    path("posting/", lambda request: framed(framed(HttpResponse("x"), form_action=[HOST]))),
    *ours,
]


@pytest.fixture(autouse=True)
def here(settings):
    settings.ROOT_URLCONF = __name__
    settings.TASK_FRAME_HOSTS = [HOST, OTHER]


def headers(client, address):
    """(X-Frame-Options or None, the policy by directive)."""
    response = client.get(address)
    parts = (part.strip().partition(" ") for part in response.headers["Content-Security-Policy"].split(";"))
    return response.headers.get("X-Frame-Options"), {name: value for name, _, value in parts}


def test_a_framed_page_may_be_framed_by_the_hosts_that_are_set_and_is_else_as_strict(client):
    frame, policy = headers(client, "/framed/")
    assert (frame, policy["frame-ancestors"]) == (None, f"{HOST} {OTHER}")
    strict = headers(client, "/plain/")
    assert strict[0] == "DENY"
    assert policy | {"frame-ancestors": "'none'"} == strict[1]


def test_a_framed_form_may_post_to_the_marketplace_besides_this_site(client):
    frame, policy = headers(client, "/posting/")
    assert (frame, policy["form-action"]) == (None, f"'self' {HOST}")
    assert policy | {"form-action": "'self'"} == headers(client, "/framed/")[1]


def test_without_hosts_nobody_frames_anything(client, settings):
    settings.TASK_FRAME_HOSTS = []
    assert headers(client, "/framed/") == headers(client, "/plain/")
