"""Two people decide the same item at the same moment, or one decides while a rating is taken out."""

import pytest

from annotation import exclusion
from annotation.models import Annotation, Event, Item
from tests.concurrency.crowd import at_once
from tests.factories import LONG_AGO
from tests.ratings import give, make_answers_study
from validation import adjudication
from validation.models import Resolution

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
BY = {"by": "user:eva", "at": LONG_AGO}


@pytest.fixture
def study():
    made = make_answers_study(1)
    give(made, "ann", {"acceptable": True})
    give(made, "ben", {"acceptable": False})
    return made


@pytest.mark.parametrize("n", range(5))
def test_of_two_who_decide_at_once_one_is_told_of_the_other(study, n):
    def decide(value):
        return adjudication.adjudicate(study, "a1", value, why="Mine.", believed="", **BY)

    outcomes = at_once(["true", "false"], decide)
    (won,) = [o for o in outcomes if isinstance(o, adjudication.Decided)]
    (lost,) = [o for o in outcomes if isinstance(o, adjudication.NotContested)]
    assert "Somebody decided meanwhile" in lost.sentence
    assert Item.objects.get().ruling == won.value
    assert Resolution.objects.get().gold["adjudicated"] == (won.value == "true")
    assert Event.objects.filter(what="adjudicated").count() == 1


@pytest.mark.parametrize("n", range(5))
def test_a_decision_while_a_rating_is_taken_out_stands_or_finds_nothing_to_decide(study, n):
    pk = Annotation.objects.get(worker__code="ben").pk

    def act(which):
        if which == "decide":
            return adjudication.adjudicate(study, "a1", "true", why="Mine.", **BY)
        return exclusion.set_aside(study, [pk], Annotation.Why.EXCLUDED, why="sloppy", **BY)

    decided, _ = at_once(["decide", "exclude"], act)
    item = Item.objects.get()
    assert (item.state, item.open_seats, Resolution.objects.count()) == ("open", 1, 0)
    assert item.ruling == ("true" if isinstance(decided, adjudication.Decided) else "")
