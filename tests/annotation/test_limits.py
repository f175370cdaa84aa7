"""How much one worker may do, and what nobody gets twice: held where seats are leased."""

from datetime import UTC, datetime

import pytest

from annotation import leasing, submission
from annotation.errors import LimitReached, NothingLeft
from annotation.intake import import_items
from annotation.limits import limits_of
from annotation.models import Enrolment, Exposure
from annotation.protocols.base import BadOption
from annotation.protocols.crepe import CREPE
from tests.factories import NORMAL_ANSWER, make_items, make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def bring(study, *rows):
    """Items q1, q2, ...; each row names what it has beside its texts."""
    full = [{"id": f"q{n}", "question": f"Why {n}?", "comment": f"Because {n}."} | row for n, row in enumerate(rows, 1)]
    import_items(study, full, by="test", at=NOON)


def take(study, worker, stage="generate"):
    sitting, _ = leasing.lease(worker, study, stage, at=NOON)
    return sitting


def refs(sitting):
    return [assignment.item.ref for assignment in sitting.bundle]


def do(study, worker, stage="generate"):
    sitting = take(study, worker, stage)
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON)
    return refs(sitting)


def test_an_absolute_limit_shortens_the_last_sitting_and_then_refuses():
    study = make_study(items_per_sitting=4, max_annotations=6)
    bring(study, *[{}] * 20)
    ann = make_worker(study)
    assert [len(do(study, ann)), len(do(study, ann))] == [4, 2]
    with pytest.raises(LimitReached):
        take(study, ann)
    assert [(limit.words, limit.violations) for limit in limits_of(study)] == [("at most 6 items for one person", 0)]


def test_a_share_is_of_the_items_that_were_imported():
    study = make_study(items_per_sitting=10, max_share=0.15)
    bring(study, *[{}] * 20)
    assert refs(take(study, make_worker(study))) == ["q1", "q2", "q3"]


def test_what_is_given_back_does_not_use_up_the_limit():
    study = make_study(items_per_sitting=2, max_annotations=2)
    bring(study, *[{}] * 6)
    ann = make_worker(study)
    leasing.give_back(take(study, ann), at=NOON)
    assert (Enrolment.objects.get().taken, refs(take(study, ann))) == (0, ["q3", "q4"])


def test_a_late_answer_counts_for_the_limit():
    study = make_study(items_per_sitting=2, lease_minutes=1)
    bring(study, *[{}] * 2)
    ann = make_worker(study)
    sitting = take(study, ann)
    leasing.expire(at=NOON.replace(hour=13))
    assert Enrolment.objects.get().taken == 0
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON.replace(hour=14))
    assert Enrolment.objects.get().taken == 2


def test_of_one_entity_a_worker_meets_so_many():
    study = make_study(items_per_sitting=3, max_per_group="entity:2")
    bring(study, *[{"entity": "Paris"}] * 4, {"entity": "Rome"}, {})
    ann = make_worker(study)
    assert refs(take(study, ann)) == ["q1", "q2", "q5"]
    assert dict(Exposure.objects.values_list("group", "met")) == {"entity=Paris": 2, "entity=Rome": 1}
    submission.submit(take(study, ann), {a.pk: NORMAL_ANSWER for a in take(study, ann).bundle}, at=NOON)
    assert refs(take(study, ann)) == ["q6"]
    assert [limit.violations for limit in limits_of(study)] == [0]


def test_nobody_gets_both_members_of_a_pair_even_after_giving_one_back():
    study = make_study(items_per_sitting=2, max_per_group="pair:1")
    bring(study, {"pair": "a"}, {"pair": "a"}, {"pair": "b"}, {"pair": "b"})
    ann, ben = make_worker(study, "ann"), make_worker(study, "ben")
    sitting = take(study, ann)
    assert refs(sitting) == ["q1", "q3"]
    leasing.give_back(sitting, at=NOON)
    with pytest.raises(NothingLeft):
        take(study, ann)
    assert refs(take(study, ben)) == ["q1", "q3"]


def test_nobody_gets_an_item_they_met_in_a_named_earlier_study():
    pilot, study = make_study("pilot"), make_study("main", items_per_sitting=2, not_seen_in="pilot")
    bring(pilot, {}, {})
    bring(study, {}, {}, {})
    ann, ben = make_worker(pilot, "ann"), make_worker(study, "ben")
    make_worker(study, "ann")
    assert refs(take(pilot, ann)) == ["q1", "q2"]
    assert (refs(take(study, ann)), refs(take(study, ben))) == (["q3"], ["q1", "q2"])
    assert [(limit.words, limit.violations) for limit in limits_of(study)] == [("nothing that was met in pilot", 0)]


def test_open_sittings_are_counted_over_all_stages():
    study = make_study(items_per_sitting=1, max_open_sittings=1)
    make_items(study, 3)
    ann = make_worker(study, "ann")
    first = take(study, ann)
    assert take(study, ann) == first  # the open one is no new one
    with pytest.raises(LimitReached, match="as many sittings open"):
        take(study, ann, "validate")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_per_group": "entity"}, "max_per_group: write FIELD:NUMBER"),
        ({"max_per_group": "entity:0"}, "max_per_group: write FIELD:NUMBER"),
        ({"not_seen_in": "A b"}, "not_seen_in: write the studies' short names"),
        ({"max_share": "1.5"}, "max_share must be from 0 to 1; it was 1.5."),
        ({"max_share": "nan"}, "max_share must be from 0 to 1; it was nan."),
        ({"gold_rate": "often"}, "gold_rate must be a number; it was 'often'."),
        ({"revoke": "maybe"}, "revoke must be one of propose, act; it was 'maybe'."),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_what_would_be_right(given, said):
    with pytest.raises(BadOption) as refusal:
        CREPE.read_options(given)
    assert str(refusal.value).startswith(said)
