"""The team's pages about people: numbers, one person, revoking and restoring, appeals, rule sets, the log."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from annotation import jobs, revocation
from annotation.models import Annotation, Appeal, Enrolment, Event, Job, Revocation
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from tests.people import answer, make_onlooker, make_researcher
from validation import quality

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
def study():
    """ann and ben agree on two items; a rule proposes ben."""
    study = make_study(items_per_sitting=2, revoke_after=1, revoke_gold_accuracy=0.5)
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER, NORMAL_ANSWER)
    answer(study, "ben", NORMAL_ANSWER, NORMAL_ANSWER)
    answer(study, "ben", FALSE_ANSWER, FALSE_ANSWER)
    quality.refresh(study, at=NOON)
    return study


@pytest.fixture
def maria(study, client):
    user = make_researcher(study)
    client.force_login(user)
    return user


def url(name, study, *args):
    return reverse(f"validation:{name}", args=[study.slug, *args])


def ben():
    return Enrolment.objects.get(worker__code="ben")


def propose():
    found = {"rule": "revoke_gold_accuracy", "numbers": {"gold": 4}, "why": "1 of 4 right.", "work": "keep", "at": NOON}
    return revocation.propose(ben(), **found)


def test_the_table_shows_everybody_with_their_numbers(client, study, maria):
    page = client.get(url("people", study)).content.decode()
    for shown in ("W001", "W002", "2 people", "66.7%", "33.3%", "Seconds"):
        assert shown in page
    assert "W002" not in client.get(url("people", study), {"q": "ann"}).content.decode()
    assert "Nobody is like this" in client.get(url("people", study), {"state": "revoked"}).content.decode()


@pytest.mark.parametrize("sort", ["worker", "-answers", "invalid", "-gold", "seconds", "copies", "-share", "nonsense"])
def test_the_table_is_sorted_by_the_address(client, study, maria, sort):
    assert client.get(url("people", study), {"sort": sort}).status_code == 200


def test_the_table_is_a_file_by_running_code_alone(client, study, maria):
    lines = b"".join(client.get(url("people", study), {"format": "csv"}).streaming_content).decode().splitlines()
    assert lines[1].startswith("W001,active,generate,2,")
    assert "ben" not in "".join(lines)


def test_the_table_costs_a_fixed_number_of_queries(client, study, maria, django_assert_num_queries):
    with django_assert_num_queries(10):
        client.get(url("people", study))
    for code in ("cat", "dan", "eve"):
        make_worker(study, code)
    quality.refresh(study, at=NOON + timedelta(hours=1), everybody=True)
    with django_assert_num_queries(10):
        client.get(url("people", study))


def test_a_proposal_is_shown_dismissed_with_a_reason_or_leads_to_the_revocation(client, study, maria):
    proposal = propose()
    page = client.get(url("people", study)).content.decode()
    assert "1 of 4 right." in page
    assert client.post(url("dismiss", study, proposal.pk), {"why": ""}).status_code == 422
    assert client.post(url("dismiss", study, proposal.pk), {"why": "Hard items."}).status_code == 302
    assert client.post(url("dismiss", study, proposal.pk), {"why": "Again."}).status_code == 409
    assert Revocation.objects.get().state == "dismissed"


def test_one_worker_with_everything(client, study, maria):
    propose()
    page = client.get(url("worker", study, 2)).content.decode()
    for shown in ("W002", "ben", "4, of which 4 count", "q1", "q4", "upheld", "proposed", "submitted"):
        assert shown in page
    assert client.get(url("worker", study, 99)).status_code == 404


def test_a_note_is_kept_with_an_event(client, study, maria):
    assert client.post(url("note", study, 2), {"note": "Writes well."}).status_code == 302
    assert (ben().note, Event.objects.latest("pk").what) == ("Writes well.", "note written")


def test_single_answers_are_excluded_and_count_again(client, study, maria):
    chosen = list(Annotation.objects.filter(worker__code="ben").values_list("pk", flat=True)[:1])
    others = list(Annotation.objects.filter(worker__code="ann").values_list("pk", flat=True))
    asked = {"answer": [*chosen, *others], "why": "Copied.", "do": "excluded"}
    assert "1 of 1 changed; 1 seats were opened." in client.post(url("answers", study, 2), asked).content.decode()
    assert list(Annotation.objects.exclude(uncounted="").values_list("pk", "uncounted")) == [(chosen[0], "excluded")]
    assert client.post(url("answers", study, 2), asked | {"why": ""}).status_code == 422
    client.post(url("answers", study, 2), asked | {"do": "reinstate"})
    assert not Annotation.objects.exclude(uncounted="").exists()


def test_a_validator_is_chosen_among_the_generators(client, study, maria):
    make_worker(study, "cat", stages=["generate"])
    assert "Qualify for “Judge two annotations”" in client.get(url("worker", study, 3)).content.decode()
    assert client.post(url("qualify", study, 3), {"stage": "validate"}).status_code == 302
    cat = Enrolment.objects.get(number=3)
    assert sorted(cat.qualifications.values_list("stage", "state")) == [
        ("generate", "qualified"),
        ("validate", "qualified"),
    ]
    assert client.post(url("qualify", study, 3), {"stage": "paint"}).status_code == 404


# --- Revoking and restoring -----------------------------------------------------------------------
def test_revoking_shows_first_what_follows_and_names_the_button_by_the_act(client, study, maria):
    asked = {"w": ["2"], "work": "exclude", "why": "Guessing."}
    page = client.get(url("revoke", study), {"w": "2"}).content.decode()
    assert "Show what follows" in page
    seen = client.post(url("revoke", study), asked | {"do": "preview"}).content.decode()
    assert "4 answers excluded; they stay stored and paid." in seen
    assert "Revoke 1 worker, reopen 4 items" in seen
    assert ben().state == "active"
    done = client.post(url("revoke", study), asked | {"do": "revoke"})
    assert (done.status_code, ben().state) == (302, "revoked")
    job = Job.objects.get()
    assert (job.kind, done.headers["Location"]) == (
        "set_aside_work",
        reverse("annotation:job", args=[study.slug, job.pk]),
    )
    jobs.run(job.pk)
    assert set(Annotation.objects.filter(worker__code="ben").values_list("uncounted", flat=True)) == {"excluded"}
    assert "4 answers on 4 items; 4 seats opened" in client.get(done.headers["Location"]).content.decode()


def test_a_reason_is_needed_and_work_that_is_kept_needs_no_job(client, study, maria):
    assert client.post(url("revoke", study), {"w": ["2"], "work": "keep", "why": "", "do": "revoke"}).status_code == 422
    asked = {"w": ["1", "2"], "work": "keep", "why": "The pilot is over.", "do": "revoke"}
    assert client.post(url("revoke", study), asked).headers["Location"] == url("people", study)
    assert (Enrolment.objects.filter(state="revoked").count(), Job.objects.count()) == (2, 0)


def test_excluding_everybody_is_refused_before_anything_is_done(client, study, maria):
    asked = {"w": ["1", "2"], "work": "exclude", "why": "All of it.", "do": "revoke"}
    page = client.post(url("revoke", study), asked)
    assert (page.status_code, "exclude everybody" in page.content.decode()) == (422, True)
    assert not Enrolment.objects.filter(state="revoked").exists()


def test_a_page_that_is_out_of_date_does_nothing(client, study, maria):
    revocation.revoke(ben(), why="Guessing.", by="user:eva", at=NOON)
    asked = {"w": ["2"], "work": "keep", "why": "Guessing.", "do": "revoke"}
    assert client.post(url("revoke", study), asked).headers["Location"] == url("people", study)
    assert Revocation.objects.count() == 1


def test_restoring_lets_work_count_again_when_asked(client, study, maria):
    revoked = revocation.revoke(ben(), why="Guessing.", work="exclude", by="user:eva", at=NOON)
    revocation.apply_work(revoked, by="user:eva", at=NOON)
    assert "Restore W002" in client.get(url("restore", study), {"w": "2"}).content.decode()
    client.post(url("restore", study), {"w": ["2"], "why": "A mistake.", "reinstate": "on"})
    jobs.run(Job.objects.get().pk)
    assert (ben().state, Annotation.objects.filter(uncounted="").count()) == ("active", 6)


def test_an_appeal_is_read_beside_the_reason_and_answered(client, study, maria):
    revocation.revoke(ben(), why="Nine copies.", by="user:eva", at=NOON)
    revocation.appeal(ben(), "I wrote <b>all</b> of them.", at=NOON)
    page = client.get(url("appeals", study)).content.decode()
    assert "I wrote &lt;b&gt;all&lt;/b&gt; of them." in page
    assert "Nine copies." in page
    decide = url("decide_appeal", study, Appeal.objects.get().pk)
    assert client.post(decide, {"answer": "", "do": "grant"}).status_code == 422
    assert client.post(decide, {"answer": "You are right.", "do": "grant"}).status_code == 302
    assert client.post(decide, {"answer": "No.", "do": "refuse"}).status_code == 409
    assert (ben().state, Appeal.objects.get().outcome) == ("active", "granted")


# --- Rule sets, limits and the log ------------------------------------------------------------------
def test_rule_sets_stand_side_by_side_and_one_is_applied_in_the_background(client, study, maria):
    from validation.models import Score

    Score.objects.filter(enrolment=ben()).update(decided=4, invalid=4)
    page = client.get(url("recollect", study), {"revoke_invalid_share": "0.5"}).content.decode()
    assert "own: revoke 1 worker, reopen 4 items" in page
    asked = {"rules": '{"revoke_invalid_share": 0.5}', "why": "By our rules."}
    job_page = client.post(url("recollect", study), asked)
    assert job_page.status_code == 302
    jobs.run(Job.objects.get().pk)
    assert (ben().state, Revocation.objects.get().why) == (
        "revoked",
        "By our rules. 4 of 4 answers were found invalid (100.0%); the study allows at most 50%.",
    )


@pytest.mark.parametrize("rules", ["", "[]", "{", '{"pasting": 1}', '{"revoke_invalid_share": "x"}', "{}"])
def test_rules_that_cannot_be_read_are_refused(client, study, maria, rules):
    assert client.post(url("recollect", study), {"rules": rules, "why": "So."}).status_code == 422
    assert not Job.objects.exists()


def test_limits_are_shown_with_their_violations(client, maria, study):
    study.options["max_annotations"] = 3
    study.save(update_fields=["options"])
    assert "at most 3 items for one person: <strong" in client.get(url("limits", study)).content.decode()


def test_the_log_says_who_revoked_whom_when_and_why_and_can_be_exported(client, study, maria):
    revocation.revoke(ben(), why="Guessing.", by="user:eva", at=NOON)
    page = client.get(url("log", study), {"what": "revoked", "worker": "W002"}).content.decode()
    assert "Guessing." in page
    assert "user:eva" in page
    assert "Nothing is like this" in client.get(url("log", study), {"who": "nobody"}).content.decode()
    assert client.get(url("log", study), {"since": "yesterday"}).status_code == 422
    for kind in ("csv", "jsonl"):
        text = b"".join(client.get(url("log", study), {"what": "revoked", "format": kind}).streaming_content).decode()
        assert text.count("Guessing.") == 1
    assert Event.objects.filter(what="log exported").count() == 2


@pytest.mark.parametrize("name", ["people", "appeals", "recollect", "log", "limits"])
def test_strangers_see_nothing_and_onlookers_look(client, study, name):
    client.force_login(make_researcher(name="stranger"))
    assert client.get(url(name, study)).status_code == 404
    client.force_login(make_onlooker(study))
    assert client.get(url(name, study)).status_code == 200


@pytest.mark.parametrize(
    ("name", "args"),
    [("revoke", []), ("restore", []), ("dismiss", [1]), ("note", [2]), ("answers", [2]), ("recollect", [])],
)
def test_onlookers_change_nothing(client, study, name, args):
    client.force_login(make_onlooker(study))
    propose()
    sent = {"w": ["2"], "why": "x", "work": "keep", "do": "revoke", "rules": '{"revoke_invalid_share": 0.1}'}
    assert client.post(url(name, study, *args), sent).status_code == 403
