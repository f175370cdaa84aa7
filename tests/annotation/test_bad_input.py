"""Bad input and bad luck: a refusal with a sentence, never a 500, and nothing is changed by it."""

import json
from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client

from annotation import submission
from annotation.errors import LostRace
from annotation.models import Annotation, Assignment, Sitting
from annotation.parsers import MAX_DEPTH
from annotation.problems import BUSY, FAILED, NOT_FOUND, NOT_TAKEN
from annotation.throttling import PerAddress, PerWorker
from tests.annotation.program import PROBLEM, Program, ids
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_sitting, make_study, make_worker

LEASE = "studies/crepe-a/sittings/"


@pytest.fixture
def study(db):
    study = make_study(items_per_sitting=2)
    make_items(study, 4)
    return study


@pytest.fixture
def ann(study):
    return Program(make_worker(study, "ann"))


def refused(response):
    """(status, code, detail) of a problem, after checking that it is one as RFC 9457 has it."""
    body = response.json()
    assert response["Content-Type"] == PROBLEM
    assert {"type", "title", "status", "code", "detail"} <= body.keys()
    assert body["status"] == response.status_code
    assert body["detail"].rstrip()[-1] == "."
    return response.status_code, body["code"], body["detail"]


# --- Bodies -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"stage": ', "The body is not JSON: Expecting value: line 1 column 11 (char 10)."),
        (b'{"stage": "gener\xffate"}', "The body is not UTF-8. Send JSON in UTF-8."),
        (b'{"stage": NaN}', "The body cannot be read: NaN is not a number in JSON."),
        (b'{"stage": -Infinity}', "The body cannot be read: -Infinity is not a number in JSON."),
        (b'{"stage": 1e999}', "The body cannot be read: the number 1e999 is too large."),
        (b'{"stage": "a", "stage": "b"}', "The body cannot be read: a name is given twice in one object."),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "The body is nested more than 20 deep. Send it flatter."),
        (b"[" * 100_000 + b"]" * 100_000, "The body is nested more than 20 deep. Send it flatter."),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "The body is nested more than 20 deep. Send it flatter."),
    ],
    ids=["cut short", "broken UTF-8", "NaN", "infinity", "overflow", "a name twice", "deep", "deeper", "deepest"],
)
def test_a_body_that_is_not_json_is_400_and_says_why(ann, body, said):
    assert refused(ann.send("POST", LEASE, body)) == (400, "parse_error", said)


def test_a_body_that_breaks_off_is_400(ann):
    class Gone:
        def read(self, *_):
            raise OSError("the other side hung up")

        readline = read

    response = ann.post(f"/api/v1/{LEASE}", b"{}", "application/json", **{"wsgi.input": Gone()})
    assert refused(response) == (400, "parse_error", "The body broke off. Send it again.")


def test_a_number_too_long_to_be_read_is_400(ann):
    status, code, _ = refused(ann.send("POST", LEASE, b'{"stage": ' + b"9" * 5000 + b"}"))
    assert (status, code) == (400, "parse_error")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (["generate"], "The body must be an object with “stage”."),
        ("generate", "The body must be an object with “stage”."),
        (None, "The body lacks “stage”."),
        ({}, "The body lacks “stage”."),
        ({"stage": 5}, "“stage” must be a text."),
        ({"stage": True}, "“stage” must be a text."),
        ({"stage": ["generate"]}, "“stage” must be a text."),
        ({"stage": None}, "“stage” must be a text."),
        ({"stage": "generate", "worker": "eve"}, "Unknown name 'worker': the body has “stage” and nothing else."),
        ({"stage": "generate", "\ud800": 1}, r"Unknown name '\ud800': the body has “stage” and nothing else."),
    ],
)
def test_a_body_of_the_wrong_shape_is_400(ann, body, said):
    sent = b"" if body is None else json.dumps(body).encode()
    assert refused(ann.send("POST", LEASE, sent)) == (400, "wrong_body", said)
    assert not Sitting.objects.exists()


@pytest.mark.parametrize("name", ["", "q1", "-1", "1.5", "01", "１", "1e3", "9" * 20, "\x00", "true"])
def test_what_cannot_be_the_id_of_an_assignment_is_400(study, ann, name):
    sitting = ann.lease()
    sent = json.dumps({"answers": {name: NORMAL_ANSWER}}).encode()
    said = f"{name!r} in “answers” is not the id of an assignment."
    assert refused(ann.send("POST", f"sittings/{sitting['id']}/submit/", sent)) == (400, "wrong_body", said)


def test_a_body_over_the_limit_is_413_and_says_the_limit(ann, settings):
    settings.MAX_BODY_BYTES = 1000
    said = "What you sent is larger than this server takes: the limit is 1,000 bytes. Nothing was changed."
    assert refused(ann.send("POST", LEASE, b" " * 1001)) == (413, "too_large", said)
    assert ann.send("POST", LEASE, b'{"stage": "generate"}'.ljust(1000)).status_code == 201
    page = Client().generic("POST", "/accounts/login/", b" " * 1001, "application/x-www-form-urlencoded")
    assert (page.status_code, page.content.decode()) == (413, said)


@pytest.mark.parametrize("length", ["", "many", "-5", "1e9"])
def test_a_length_that_is_no_number_is_read_as_nothing(ann, length):
    response = ann.generic("POST", f"/api/v1/{LEASE}", b"", "", CONTENT_LENGTH=length, CONTENT_TYPE="application/json")
    assert refused(response)[0] == 400


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x", "/", ";"]
)
def test_what_is_not_json_is_415(ann, kind):
    said = "Send JSON, and say so: Content-Type: application/json."
    assert refused(ann.send("POST", LEASE, b'{"stage": "generate"}', kind)) == (415, "unsupported_media_type", said)


# --- Addresses ----------------------------------------------------------------------------------
def test_an_unknown_study_or_stage_is_404_with_a_sentence(ann):
    body = b'{"stage": "validat"}'
    assert refused(ann.send("POST", "studies/crep/sittings/", body)) == (
        404,
        "not_found",
        "There is no study “crep”. Check the address you were given.",
    )
    assert refused(ann.send("POST", LEASE, body)) == (
        404,
        "unknown_stage",
        "This study has no stage 'validat'; it has generate, validate.",
    )


@pytest.mark.parametrize(
    "path", ["", "sittings", "studies/crepe-a/sittings", "studies/%00/sittings/", "sittings/-1/", "sittings/x/submit/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_any_other_address_is_404(ann, method, path):
    assert refused(ann.send(method, path)) == (404, "not_found", NOT_FOUND)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_another_method_is_405_and_names_the_right_one(ann, method):
    response = ann.send(method, LEASE)
    assert refused(response) == (405, "method_not_allowed", f"{method} is not for this address: use POST.")
    assert set(response["Allow"].split(", ")) == {"POST", "OPTIONS"}


def test_only_json_is_to_be_had(ann):
    said = "This address answers in JSON only. Send Accept: application/json, or leave it out."
    response = ann.get("/api/v1/sittings/1/", headers={"Accept": "text/csv"})
    assert refused(response) == (406, "not_acceptable", said)


@pytest.mark.parametrize("number", [2**31, 2**63, 10**40])
def test_a_number_that_no_row_can_have_is_404(ann, number):
    for method, path, body in (
        ("GET", f"sittings/{number}/", b""),
        ("POST", f"sittings/{number}/submit/", b'{"answers": {}}'),
        ("POST", f"sittings/{number}/return/", b""),
        ("PUT", f"assignments/{number}/draft/", b'{"answer": {}}'),
    ):
        assert refused(ann.send(method, path, body))[:2] == (404, "not_found")


def test_another_workers_sitting_is_404_and_stays_as_it_is(study, ann):
    theirs = make_sitting(study, "ben")
    held = theirs.assignments.first()
    for method, path, body in (
        ("GET", f"sittings/{theirs.pk}/", b""),
        ("POST", f"sittings/{theirs.pk}/submit/", json.dumps({"answers": {held.pk: NORMAL_ANSWER}}).encode()),
        ("POST", f"sittings/{theirs.pk}/return/", b""),
        ("PUT", f"assignments/{held.pk}/draft/", json.dumps({"answer": NORMAL_ANSWER}).encode()),
    ):
        assert refused(ann.send(method, path, body))[:2] == (404, "not_found")
    theirs.refresh_from_db()
    held.refresh_from_db()
    assert (theirs.state, held.state, held.draft) == ("leased", "leased", None)


# --- Answers ------------------------------------------------------------------------------------
BAD_TEXTS = {
    "NUL": ("a\x00b", "This text holds a NUL character, which cannot be stored. Please remove it."),
    "surrogate": (
        "a\ud800b",
        "This text is broken (a character that is not valid Unicode). Please type it again.",
    ),
    "length": ("a" * 5001, "This text is too long: 5,001 characters, at most 5,000 are taken."),
    "number": (7, "This must be text."),
    "object": ({"$ne": "x"}, "This must be text."),
}


@pytest.mark.parametrize(("text", "said"), BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_a_text_that_cannot_be_stored_is_named_in_a_submission(ann, text, said):
    sitting = ann.lease()
    one, two = ids(sitting)
    answer = {**FALSE_ANSWER, "pairs": [{"presupposition": text, "correction": "Current is used at once."}]}
    status, body = ann.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": {one: answer, two: NORMAL_ANSWER}})
    assert (status, body["code"], body["detail"]) == (422, "invalid", NOT_TAKEN)
    assert body["errors"] == {str(one): {"pairs.0.presupposition": [said]}}
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("text", [text for text, _ in BAD_TEXTS.values()], ids=BAD_TEXTS)
def test_a_text_that_cannot_be_stored_is_not_kept_as_a_draft_either(ann, text):
    pk = ids(ann.lease())[0]
    answer = {**FALSE_ANSWER, "pairs": [{"presupposition": text, "correction": "Current is used at once."}]}
    status, body = ann.ask("PUT", f"assignments/{pk}/draft/", {"answer": answer})
    [(field, sentences)] = body["errors"][str(pk)].items()
    assert (status, body["code"], len(sentences)) == (422, "invalid", 1)
    assert field.startswith("pairs.0.presupposition")
    assert Assignment.objects.get(pk=pk).draft is None


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ("normal", [""]),
        ([], [""]),
        (None, [""]),
        ({"label": "true"}, ["label"]),
        ({"label": "normal", "mood": "good"}, ["mood"]),
        ({"label": "normal", "reason": "because"}, ["reason"]),
        ({"label": "normal", "pairs": "none"}, ["pairs"]),
        ({"label": "false presupposition", "pairs": [{"presupposition": "P."}] * 4}, ["pairs.3.presupposition"]),
        ({"label": "false presupposition", "pairs": [{"presupposition": "P.", "note": 0}]}, ["pairs.0.note"]),
    ],
)
def test_a_draft_that_would_lose_something_is_not_kept(ann, answer, fields):
    pk = ids(ann.lease())[0]
    status, body = ann.ask("PUT", f"assignments/{pk}/draft/", {"answer": answer})
    assert (status, list(body["errors"][str(pk)])) == (422, fields)
    assert Assignment.objects.get(pk=pk).draft is None


def test_an_empty_draft_is_nobodys_answer(ann):
    sitting = ann.lease()
    for pk in ids(sitting):
        assert ann.ask("PUT", f"assignments/{pk}/draft/", {"answer": {}})[0] == 200
    status, body = ann.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": {}})
    assert status == 422
    assert body["errors"] == {str(pk): {"question": ["Choose one of these."]} for pk in ids(sitting)}


def test_an_assignment_of_another_sitting_is_named(study, ann):
    sitting = ann.lease()
    theirs = make_sitting(study, "ben").assignments.first().pk
    answers = dict.fromkeys((*[a["id"] for a in sitting["assignments"]], theirs), NORMAL_ANSWER)
    status, body = ann.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": answers})
    assert (status, body["errors"]) == (422, {str(theirs): {"": ["This assignment is not part of the sitting."]}})


def test_markup_is_text_like_any_other(ann):
    sitting = ann.lease()
    pair = {"presupposition": "<script>alert(1)</script> runs.", "correction": "<b onclick='x'>Nothing</b> & no one."}
    answer = {**FALSE_ANSWER, "pairs": [pair]}
    assert ann.submit(sitting, answer)[0] == 200
    assert Annotation.objects.first().answer == answer


# --- Bad luck -----------------------------------------------------------------------------------
def test_too_many_requests_are_429_and_say_how_long_to_wait(ann, monkeypatch):
    monkeypatch.setattr(PerWorker, "rate", "2/min", raising=False)
    monkeypatch.setattr(PerWorker, "timer", lambda self: 6000.0 + 48)
    sent = [ann.send("GET", "sittings/1/") for _ in range(3)]
    assert [response.status_code for response in sent] == [404, 404, 429]
    assert refused(sent[2]) == (429, "throttled", "Too many requests. Wait 12 seconds and send this again.")
    assert sent[2]["Retry-After"] == "12"
    monkeypatch.setattr(PerWorker, "timer", lambda self: 6060.0)
    assert ann.send("GET", "sittings/1/").status_code == 404


def test_one_worker_does_not_use_up_anothers_requests(study, ann, monkeypatch):
    monkeypatch.setattr(PerWorker, "rate", "1/min", raising=False)
    monkeypatch.setattr(PerWorker, "timer", lambda self: 12_000.0)
    ben = Program(make_worker(study, "ben"))
    assert [caller.send("GET", "sittings/1/").status_code for caller in (ann, ben, ann, ben)] == [404, 404, 429, 429]


def test_what_is_open_to_all_is_limited_by_address(client, monkeypatch):
    monkeypatch.setattr(PerAddress, "rate", "1/min", raising=False)
    monkeypatch.setattr(PerAddress, "timer", lambda self: 18_000.0)
    asked = [client.get("/api/schema/", REMOTE_ADDR=address) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.1")]
    assert [response.status_code for response in asked] == [200, 200, 429]


@pytest.mark.parametrize("error", [OperationalError("database is locked"), LostRace("1 of 2 rows was moved")])
def test_what_may_succeed_the_next_time_is_503_and_changes_nothing(ann, caplog, error):
    sitting = ann.lease()
    with patch.object(submission, "record", side_effect=error):
        status, body = ann.submit(sitting, NORMAL_ANSWER)
    assert (status, body["code"], body["detail"]) == (503, "busy", BUSY)
    assert str(error) in caplog.text
    assert not Annotation.objects.exists()
    assert ann.submit(sitting, NORMAL_ANSWER)[0] == 200


def test_a_fault_of_ours_is_a_problem_too_and_changes_nothing(ann):
    ann.raise_request_exception = False
    sitting = ann.lease()
    with patch.object(submission, "record", side_effect=ZeroDivisionError):
        status, body = ann.submit(sitting, NORMAL_ANSWER)
    assert (status, body["code"], body["detail"]) == (500, "error", FAILED)
    assert not Annotation.objects.exists()


def test_an_unknown_host_is_refused_in_the_same_form(ann):
    response = ann.get("/api/v1/sittings/1/", headers={"Host": "elsewhere.example"})
    assert refused(response)[:2] == (400, "bad_request")
