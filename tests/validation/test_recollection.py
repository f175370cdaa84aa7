"""What excluding people would cost, and that doing it does exactly that."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from random import Random

import pytest

from annotation import leasing, revocation, simulation, submission
from annotation.errors import NothingLeft
from annotation.models import Annotation, Enrolment, Event, Item
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study, make_worker
from validation import quality, recollection
from validation.models import Resolution, Score

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
RULES = {"revoke_invalid_share": 0.1}


def crowd(study, habits, workers=6, items=30, seed=1, limit=None):
    """A crowd with these habits does the study; the others are always right."""
    rng = Random(seed)
    for item in make_items(study, items):
        item.gold = rng.choice([NORMAL_ANSWER, FALSE_ANSWER])
        item.save(update_fields=["gold"])
    made = {n: simulation.Habit(accuracy) for n, accuracy in habits.items()}
    for stage in ("generate", "validate"):
        simulation.simulate(
            study,
            workers=workers,
            accuracy=1,
            habits=made,
            seed=seed,
            stages=[stage],
            limit=limit,
            clock=lambda n: NOON,
        )
    quality.refresh(study, at=NOON + timedelta(hours=1), everybody=True)
    return study


def bad_crowd(**options):
    options = {"items_per_sitting": 5, "revoke_after": 5, "pay_per_sitting": 1.0} | options
    return crowd(make_study(**options), {4: 0.3})


def test_a_plan_says_what_leaves_what_is_missing_and_what_that_costs():
    study = bad_crowd()
    plan = recollection.plan(study, RULES)
    bad = Enrolment.objects.get(worker__code="crepe-a-sim-4")
    work = Annotation.objects.filter(worker=bad.worker, uncounted="")
    assert list(plan.found) == [bad.pk]
    assert plan.annotations == work.count()
    generated = work.filter(stage="generate").count()
    assert plan.items_below >= generated > 0
    assert plan.cost == Decimal(plan.seats) / 5
    assert plan.before.gold > plan.after.gold
    assert plan.after.agreement.value > plan.before.agreement.value


@pytest.mark.parametrize("seed", range(4))
def test_applying_does_what_was_planned_and_again_does_nothing(seed):
    study = crowd(make_study(items_per_sitting=5, revoke_after=5), {2: 0.3, 3: 0.6}, seed=seed, limit=40)
    plan = recollection.plan(study, RULES)
    before = dict(Item.objects.values_list("pk", "open_seats"))
    recollection.apply(study, RULES, by="user:eva", why="By the rules.", at=NOON)
    opened = sum(max(0, seats - before[pk]) for pk, seats in Item.objects.values_list("pk", "open_seats"))
    gold = dict(plan.after.labels)
    assert (opened, Annotation.objects.filter(uncounted="excluded").count()) == (plan.seats, plan.annotations)
    settled = Resolution.objects.filter(outcome="settled").values_list("label", flat=True)
    assert {label: list(settled).count(label) for label in set(settled)} == gold
    events = Event.objects.count()
    assert recollection.apply(study, RULES, by="user:eva", why="Again.", at=NOON).annotations == 0
    assert Event.objects.count() == events


def test_what_is_missing_goes_to_people_who_have_not_met_it():
    study = bad_crowd()
    recollection.apply(study, RULES, by="user:eva", why="By the rules.", at=NOON)
    short = Item.objects.filter(stage="generate", open_seats__gt=0).order_by("queued_at").first()
    writer = Annotation.objects.get(item=short, stage="generate", uncounted="")
    met = Annotation.objects.filter(worker=writer.worker).values_list("item", flat=True)
    study.options["items_per_sitting"] = 200
    with suppress(NothingLeft):
        again = leasing.lease(writer.worker, study, "generate", at=NOON)[0]
        assert not {a.item_id for a in again.bundle} & set(met)
    new = make_worker(study, "new")
    sitting = leasing.lease(new, study, "generate", at=NOON)[0]
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    assert Annotation.objects.filter(item=short, stage="generate", uncounted="").count() == 2


def test_rule_sets_stand_side_by_side():
    study = bad_crowd(revoke_invalid_share=0.1)
    found = recollection.compare(study)
    assert list(found) == ["none", "declared", "stricter"]
    assert (found["none"].workers, found["none"].seats, found["declared"].workers) == (0, 0, 1)
    assert found["none"].before == found["none"].after
    assert found["stricter"].rules == {"revoke_invalid_share": 0.05}


def test_rules_that_would_exclude_everybody_are_refused():
    study = bad_crowd()
    Score.objects.update(decided=10, invalid=5)
    for refused in (recollection.plan, partial(recollection.apply, by="user:eva", why="x", at=NOON)):
        with pytest.raises(recollection.Everybody, match="exclude everybody"):
            refused(study, RULES)
    assert set(Enrolment.objects.values_list("state", flat=True)) == {"active"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pasting": "0.1"}, "There is no rule 'pasting'"),
        ({"revoke_invalid_share": "lots"}, "revoke_invalid_share is a share from 0 to 1; it was 'lots'."),
        ({"revoke_invalid_share": "10"}, "revoke_invalid_share is a share from 0 to 1; it was '10'."),
        ({"revoke_invalid_share": "nan"}, "revoke_invalid_share is a share from 0 to 1; it was 'nan'."),
    ],
)
def test_rules_that_cannot_be_are_refused(given, said):
    with pytest.raises(recollection.BadRules, match=said.replace("(", r"\(")):
        recollection.read_rules(given)


@pytest.mark.parametrize("work", ["keep", "hold", "exclude"])
def test_a_preview_of_one_revocation_is_what_it_then_does(work):
    study = bad_crowd()
    bad = Enrolment.objects.get(worker__code="crepe-a-sim-4")
    seen = recollection.preview(study, [bad], work)
    before = dict(Item.objects.values_list("pk", "open_seats"))
    done = revocation.revoke(bad, why="Guessing.", work=work, by="user:eva", at=NOON)
    effect = revocation.apply_work(done, by="user:eva", at=NOON)
    opened = sum(max(0, seats - before[pk]) for pk, seats in Item.objects.values_list("pk", "open_seats"))
    assert (seen.annotations, seen.seats) == (effect.annotations, opened)
