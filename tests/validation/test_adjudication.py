"""What people did not agree on, one person decides: once, with a reason, for as long as it stands."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation import exclusion, staff
from annotation.errors import Refusal
from annotation.models import Annotation, Event, Item
from tests.annotation.program import Program
from tests.factories import LONG_AGO, make_study
from tests.people import make_onlooker, make_researcher
from tests.ratings import give, make_answers_study, make_pairs_study
from validation import adjudication, exports
from validation.models import Resolution
from validation.replay import replay

pytestmark = pytest.mark.django_db
YES, NO = {"acceptable": True}, {"acceptable": False}
BY = {"by": "user:maria", "at": LONG_AGO}


@pytest.fixture
def study():
    """a1 and a2 are contested, a3 is agreed on, a4 has one rating."""
    made = make_answers_study(4, items_per_sitting=4)
    give(made, "ann", YES, NO, YES, YES)
    made.options["items_per_sitting"] = 3
    made.save()
    give(made, "ben", NO, YES, YES)
    return made


def refs(items):
    return [item.ref for item in items]


def row(study, ref):
    return next(row for row in exports.gold_rows(study) if row["id"] == ref)


def decide(study, ref="a1", value="true", **more):
    return adjudication.adjudicate(study, ref, value, **{"why": "It is right.", **BY, **more})


def test_items_whose_ratings_differ_wait_for_a_decision(study):
    assert refs(adjudication.contested(study)) == ["a1", "a2"]


def test_a_decision_stands_beside_the_ratings_and_in_the_log(study):
    assert decide(study).as_dict() == {
        "item": "a1",
        "value": "true",
        "before": "",
        "state": "settled",
        "label": "acceptable",
    }
    assert row(study, "a1")["adjudicated"] is True
    assert (row(study, "a1")["score"], row(study, "a1")["ratings"]) == (0.5, [True, False])
    assert refs(adjudication.contested(study)) == ["a2"]
    told = Event.objects.get(what="adjudicated")
    assert (told.actor, told.why, told.details) == (
        "user:maria",
        "Acceptable: It is right.",
        {"value": "true", "before": ""},
    )


def test_deciding_the_same_again_changes_nothing(study):
    decide(study)
    assert decide(study).before == "true"
    assert Event.objects.filter(what="adjudicated").count() == 1


def test_a_decision_may_be_changed_and_taken_back_and_the_log_keeps_all(study):
    decide(study)
    decide(study, value="false", why="It is not.")
    assert row(study, "a1")["adjudicated"] is False
    assert decide(study, value="", why="Let us ask more people.").label == "raters differ"
    assert row(study, "a1")["adjudicated"] is None
    assert refs(adjudication.contested(study)) == ["a1", "a2"]
    assert [e.details["value"] for e in Event.objects.filter(what="adjudicated")] == ["true", "false", ""]


def test_nobody_overwrites_a_decision_they_did_not_see(study):
    decide(study)
    with pytest.raises(adjudication.NotContested, match="Somebody decided meanwhile: Acceptable"):
        decide(study, value="false", believed="")
    assert row(study, "a1")["adjudicated"] is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ref": "a3"}, "There is nothing to decide about 'a3': it is settled as acceptable."),
        ({"ref": "a4"}, "There is nothing to decide about 'a4': it is still being worked on."),
        ({"ref": "zz"}, "There is no item 'zz' in this study."),
        ({"value": "maybe"}, "It can be decided as true or false; it was 'maybe'."),
        ({"why": " "}, "Say why, in at most 400 characters; it stays in the log."),
    ],
)
def test_what_cannot_be_decided_is_refused_with_a_sentence(study, given, said):
    with pytest.raises(Refusal) as refused:
        decide(study, **given)
    assert str(refused.value) == said
    assert not Item.objects.exclude(ruling="").exists()


def test_a_decision_outlives_exclusion_and_new_ratings(study):
    decide(study)
    excluded = Annotation.objects.get(item__ref="a1", worker__code="ben")
    exclusion.set_aside(study, [excluded.pk], Annotation.Why.EXCLUDED, **BY, why="sloppy")
    assert not Resolution.objects.filter(item__ref="a1").exists()
    study.options["items_per_sitting"] = 1
    study.save()
    give(study, "cem", NO)  # a4, which waited longer
    give(study, "dan", NO)
    assert row(study, "a1") | {"ratings": [True, False], "adjudicated": True} == row(study, "a1")


def test_replaying_under_other_options_keeps_it(study):
    decide(study)
    assert replay(study, {"raters": 2})["differences"] == []
    assert replay(study, {"raters": 3})["needs_more"] == 4


def test_a_disputed_pair_is_settled_by_a_decision_and_open_again_without_it():
    study = make_pairs_study(1)
    for code, verdict in (("ann", "keep"), ("ben", "holds"), ("cem", "nonsense")):
        give(study, code, {"verdict": verdict})
    item = study.items.get()
    assert (item.state, refs(adjudication.contested(study))) == ("unresolved", ["p1"])
    assert decide(study, "p1", "keep").as_dict() == {
        "item": "p1",
        "value": "keep",
        "before": "",
        "state": "settled",
        "label": "kept",
    }
    assert row(study, "p1")["verdict"] == "keep"
    assert decide(study, "p1", "").state == "unresolved"


def test_a_protocol_without_decisions_says_so(client):
    study = make_study()
    with pytest.raises(adjudication.NotContested, match=r"In CREPE nothing is decided by one person\."):
        decide(study)
    client.force_login(make_researcher(study))
    assert client.get(reverse("validation:adjudicate", args=[study.slug])).status_code == 404


# --- The command, the API, the page ---------------------------------------------------------------


def test_the_command_lists_and_decides(study, capsys):
    call_command("adjudicate", study.slug)
    waiting = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["item"], each["gold"]["ratings"]) for each in waiting] == [
        ("a1", [True, False]),
        ("a2", [False, True]),
    ]
    call_command("adjudicate", study.slug, "a1", "--value", "false", "--why", "It evades the question.")
    assert json.loads(capsys.readouterr().out)["label"] == "not acceptable"


def test_the_command_says_what_is_missing(study):
    with pytest.raises(CommandError, match="Say what is decided and why: --value VALUE --why TEXT"):
        call_command("adjudicate", study.slug, "a1")
    with pytest.raises(CommandError, match="It can be decided as true or false"):
        call_command("adjudicate", study.slug, "a1", "--value", "yes", "--why", "x")


def test_a_program_of_the_team_decides_and_a_worker_may_not(study):
    maria = Program(token=staff.sign(make_researcher(study), at=timezone.now()))
    body = {"item": "a1", "value": "true", "reason": "It is right."}
    assert maria.ask("POST", "studies/acceptability/adjudicate/", body) == (
        200,
        {"item": "a1", "value": "true", "before": "", "state": "settled", "label": "acceptable"},
    )
    assert maria.ask("POST", "studies/acceptability/adjudicate/", body | {"item": "a3"})[0] == 409
    assert maria.ask("POST", "studies/acceptability/adjudicate/", body | {"value": "x"})[0] == 422
    assert maria.ask("POST", "studies/acceptability/adjudicate/", body | {"item": "zz"})[0] == 404
    worker = Program(study.enrolments.first().worker)
    assert worker.ask("POST", "studies/acceptability/adjudicate/", body)[0] == 403


def page(client, study, query=""):
    return client.get(reverse("validation:adjudicate", args=[study.slug]) + query)


def test_the_page_lists_what_waits_with_what_was_said_and_decides(client, study):
    client.force_login(make_researcher(study))
    text = page(client, study).content.decode()
    assert [ref in text for ref in (">a1<", ">a2<", ">a3<")] == [True, True, False]
    assert "W001" in text
    assert "Yes, acceptable" in text
    posted = {"item": "a1", "believed": "", "value": "true", "why": "It is right."}
    done = client.post(reverse("validation:adjudicate", args=[study.slug]), posted)
    assert (done.status_code, done.url) == (302, reverse("validation:adjudicate", args=[study.slug]))
    decided = page(client, study, "?decided").content.decode()
    assert "Acceptable: It is right." in decided
    assert "user:maria" in decided


def test_the_page_keeps_a_reason_that_was_not_taken(client, study):
    client.force_login(make_researcher(study))
    decide(study)
    posted = {"item": "a1", "believed": "", "value": "false", "why": "Mine."}
    again = client.post(reverse("validation:adjudicate", args=[study.slug]), posted)
    assert (again.status_code, "Somebody decided meanwhile: Acceptable." in again.content.decode()) == (422, True)
    posted = {"item": "a2", "believed": "", "value": "false", "why": ""}
    again = client.post(reverse("validation:adjudicate", args=[study.slug]), posted)
    assert (again.status_code, "This field is required." in again.content.decode()) == (422, True)


def test_who_only_looks_decides_nothing(client, study):
    client.force_login(make_onlooker(study))
    assert '<button name="value"' not in page(client, study).content.decode()
    posted = {"item": "a1", "believed": "", "value": "true", "why": "x"}
    assert client.post(reverse("validation:adjudicate", args=[study.slug]), posted).status_code == 403


@pytest.mark.parametrize("count", [1, 3])
def test_the_page_asks_as_many_questions_for_one_item_as_for_three(client, django_assert_max_num_queries, count):
    study = make_answers_study(count)
    give(study, "ann", *[YES] * count)
    give(study, "ben", *[NO] * count)
    client.force_login(make_researcher(study))
    with django_assert_max_num_queries(12):
        assert page(client, study).status_code == 200


def test_items_say_how_many_wait(client, study):
    client.force_login(make_researcher(study))
    text = client.get(reverse("validation:contested", args=[study.slug])).content.decode()
    assert "2 items wait for a decision" in text
