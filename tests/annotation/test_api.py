"""The API: the whole way through, what it costs, and who is let in."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import leasing, qualification
from annotation.models import Annotation, Assignment, Enrolment, Sitting
from tests.annotation.program import Program, ids
from tests.factories import (
    FALSE_ANSWER,
    FILTER_ANSWER,
    NORMAL_ANSWER,
    make_items,
    make_sitting,
    make_study,
    make_worker,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(items_per_sitting=2)


@pytest.fixture
def items(study):
    items = make_items(study, 2)
    for item in items:
        item.payload |= {"score": 7, "meta": {"source": "secret"}}
        item.gold = NORMAL_ANSWER
        item.save()
    return items


@pytest.fixture
def ann(study, items):
    return Program(make_worker(study, "ann"))


def test_a_new_sitting_shows_what_a_worker_may_see(study, items, ann):
    began = timezone.now()
    status, body = ann.ask("POST", "studies/crepe-a/sittings/", {"stage": "generate"})
    sitting = Sitting.objects.get()
    until = datetime.fromisoformat(body.pop("leased_until"))
    assert status == 201
    assert timedelta(minutes=60) <= until - began < timedelta(minutes=61)
    assert body == {
        "id": sitting.pk,
        "stage": "generate",
        "state": "leased",
        "assignments": [
            {
                "id": assignment.pk,
                "item": {"id": item.ref, "payload": {n: item.payload[n] for n in ("id", "question", "comment")}},
                "draft": None,
            }
            for assignment, item in zip(sitting.assignments.all(), items, strict=True)
        ],
    }


def test_asking_again_gives_the_open_sitting_with_its_drafts(ann):
    first = ann.lease()
    begun = first["assignments"][0]["id"]
    assert ann.ask("PUT", f"assignments/{begun}/draft/", {"answer": {"label": "normal"}})[0] == 200
    status, again = ann.ask("POST", "studies/crepe-a/sittings/", {"stage": "generate"})
    assert status == 200
    first["assignments"][0]["draft"] = {"question": "usable", "response": "informative", "wrong": "no"}
    first["leased_until"] = again["leased_until"]  # activity moved it on
    assert again == first
    assert ann.ask("GET", f"sittings/{first['id']}/") == (200, again)


def test_a_judge_sees_both_answers_and_not_who_gave_them(study, items, ann):
    for code, answer in (("ann", FALSE_ANSWER), ("ben", NORMAL_ANSWER)):
        writer = Program(make_worker(study, code))
        sitting = writer.lease()
        writer.submit(sitting, answer)
    judge = Program(make_worker(study, "eve"))
    sitting = judge.lease(stage="validate")
    assert [a["judges"] for a in sitting["assignments"]] == [{"A": FALSE_ANSWER, "B": NORMAL_ANSWER}] * 2
    status, body = judge.submit(sitting, {"valid": "A"})
    assert (status, [a["counted"] for a in body["annotations"]]) == (200, [True, True])


def test_submitting_says_what_became_of_every_answer(ann):
    sitting = ann.lease()
    one, two = ids(sitting)
    status, body = ann.ask(
        "POST", f"sittings/{sitting['id']}/submit/", {"answers": {one: FALSE_ANSWER, two: FILTER_ANSWER}}
    )
    assert status == 200
    assert datetime.fromisoformat(body.pop("submitted_at")) <= timezone.now()
    assert body == {
        "id": sitting["id"],
        "state": "submitted",
        "annotations": [
            {"assignment": one, "item": "q1", "counted": True, "why": ""},
            {"assignment": two, "item": "q2", "counted": True, "why": ""},
        ],
    }
    assert [a.answer for a in Annotation.objects.all()] == [FALSE_ANSWER, FILTER_ANSWER]


def test_submitting_again_gets_the_same_body_whatever_it_says_now(ann):
    sitting = ann.lease()
    first = ann.submit(sitting, NORMAL_ANSWER)
    again = ann.submit(sitting, FILTER_ANSWER)
    assert first[0] == 200
    assert again == first
    assert [a.answer for a in Annotation.objects.all()] == [NORMAL_ANSWER, NORMAL_ANSWER]


def test_a_late_answer_is_kept_and_marked(study, items, ann):
    sitting = ann.lease()
    leasing.expire(at=timezone.now() + timedelta(minutes=61))
    for code in ("ben", "cy"):
        make_sitting(study, code, at=timezone.now())
    status, body = ann.submit(sitting, NORMAL_ANSWER)
    assert (status, [(a["counted"], a["why"]) for a in body["annotations"]]) == (200, [(False, "late")] * 2)


def test_what_is_not_named_is_answered_from_its_draft(ann):
    sitting = ann.lease()
    for pk in ids(sitting):
        ann.ask("PUT", f"assignments/{pk}/draft/", {"answer": FALSE_ANSWER})
    assert ann.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": {}})[0] == 200
    assert [a.answer for a in Annotation.objects.all()] == [FALSE_ANSWER, FALSE_ANSWER]


def test_a_draft_says_when_it_was_saved(ann):
    pk = ids(ann.lease())[0]
    status, body = ann.ask("PUT", f"assignments/{pk}/draft/", {"answer": FALSE_ANSWER})
    kept = Assignment.objects.get(pk=pk)
    assert (status, body) == (200, {"saved_at": iso(kept.draft_at)})
    assert kept.draft == {
        "question": "usable",
        "response": "informative",
        "wrong": "yes",
        "pairs.0.presupposition": "Power plants store current.",
        "pairs.0.correction": "Current is used as soon as it is made.",
    }


def test_what_was_given_back_is_closed(ann):
    sitting = ann.lease()
    assert ann.ask("POST", f"sittings/{sitting['id']}/return/") == (200, {"id": sitting["id"], "state": "returned"})
    for path, body in (("return", None), ("submit", {"answers": {}})):
        status, problem = ann.ask("POST", f"sittings/{sitting['id']}/{path}/", body)
        assert (status, problem["code"]) == (409, "closed")


def test_a_draft_after_submitting_is_closed(ann):
    sitting = ann.lease()
    ann.submit(sitting, NORMAL_ANSWER)
    status, problem = ann.ask("PUT", f"assignments/{ids(sitting)[0]}/draft/", {"answer": FALSE_ANSWER})
    assert (status, problem["code"]) == (409, "closed")


def test_nothing_left_not_qualified_and_revoked_are_told_apart(study, items, ann):
    sitting = ann.lease()
    ann.submit(sitting, NORMAL_ANSWER)
    nobody = Program(qualification.add_worker(study, "nobody", [], by="test", at=timezone.now()))
    out = make_worker(study, "out")
    Enrolment.objects.filter(worker=out).update(state="revoked")
    callers = [(ann, 409, "nothing_left"), (nobody, 403, "not_qualified"), (Program(out), 403, "revoked")]
    for caller, status, code in callers:
        answer = caller.ask("POST", "studies/crepe-a/sittings/", {"stage": "generate"})
        assert (answer[0], answer[1]["code"]) == (status, code)


def test_the_cost_of_each_request_in_queries(study, ann):
    """Whatever the number of items: what is pinned here, a load test feels."""
    make_items(study, 30, prefix="r")
    ann.lease()  # opens the connection and fills what is remembered per process
    costs = {}
    for size, code in ((1, "ben"), (10, "cy")):
        study.options["items_per_sitting"] = size
        study.save(update_fields=["options"])
        caller = Program(make_worker(study, code))
        costs[size] = dict(cost_of_a_round(caller))
    assert costs[1] == costs[10] == {"lease": 13, "again": 7, "draft": 4, "submit": 9, "submit again": 4, "look": 3}


def cost_of_a_round(caller):
    with CaptureQueriesContext(connection) as queries:
        sitting = caller.lease()
    yield "lease", counted(queries)
    answers = dict.fromkeys(ids(sitting), NORMAL_ANSWER)
    for name, method, path, body in (
        ("again", "POST", "studies/crepe-a/sittings/", {"stage": "generate"}),
        ("draft", "PUT", f"assignments/{ids(sitting)[0]}/draft/", {"answer": NORMAL_ANSWER}),
        ("submit", "POST", f"sittings/{sitting['id']}/submit/", {"answers": answers}),
        ("submit again", "POST", f"sittings/{sitting['id']}/submit/", {"answers": {}}),
        ("look", "GET", f"sittings/{sitting['id']}/", None),
    ):
        with CaptureQueriesContext(connection) as queries:
            status, answer = caller.ask(method, path, body)
        assert status == 200, answer
        yield name, counted(queries)


def counted(queries):
    """Without what only the test's own outer transaction adds."""
    return sum("SAVEPOINT" not in query["sql"] for query in queries)


def iso(at):
    """As Django writes times in JSON: to the millisecond."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
