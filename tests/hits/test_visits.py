"""Who is in the frame is a claim, until the marketplace says who it was."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import revocation
from annotation.errors import NothingLeft
from annotation.models import Annotation, Enrolment, Item, Sitting
from annotation.qualification import qualify
from hits import visits
from hits.models import Hit, Payment, Visit
from hits.reconciling import NEVER_SEEN, NO_ANSWER, NO_REFERENCE, OTHER_WORKER
from marketplace import work
from marketplace.models import Worker as MarketplaceWorker
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sale(lab):
    """One HIT with three seats."""
    study = shop.make_shop_study(6)
    shop.buy(study, 3)
    return study, Hit.objects.get()


def uncounted():
    return sorted(set(Annotation.objects.values_list("uncounted", flat=True)))


def test_opening_the_frame_again_is_the_same_visit_and_sitting(sale):
    _, hit = sale
    held = shop.accept(shop.make_worker(), hit)
    first, second = shop.enter(held), shop.enter(held)
    now = timezone.now()
    assert first.pk == second.pk
    assert visits.go_on(first, at=now).sitting == visits.go_on(shop.enter(held), at=now).sitting
    assert Sitting.objects.count() == 1


def test_who_takes_over_a_slot_is_somebody_else_and_credited_alone(sale):
    """F11, P6: an assignment's id is a slot, and not a person."""
    study, hit = sale
    wanda, will = shop.make_worker("wanda"), shop.make_worker("will")
    held = shop.accept(wanda, hit)
    left = shop.answer(shop.enter(held))  # she answers here, but returns the HIT there
    work.give_back(wanda, held.assignment_id, at=timezone.now())
    again = shop.accept(will, hit)
    assert again.assignment_id == held.assignment_id
    visit = shop.answer(shop.enter(again), NORMAL_ANSWER)
    shop.send(again, visit)
    found = shop.look(study)
    assert (found["confirmed"], found["quarantined"]) == (1, 1)
    left.refresh_from_db()
    visit.refresh_from_db()
    assert (left.state, left.why) == (Visit.State.QUARANTINED, OTHER_WORKER)
    assert visit.state == Visit.State.CONFIRMED
    counted = Annotation.objects.filter(uncounted="").values_list("worker__market__remote_worker", flat=True)
    assert set(counted) == {will.worker_id}
    assert [payment.worker.market.remote_worker for payment in Payment.objects.all()] == [will.worker_id]


def test_a_forged_worker_neither_counts_nor_is_paid(sale):
    """F17: all four parameters are the browser's to choose."""
    study, hit = sale
    mallory, victim = shop.make_worker("mallory"), shop.make_worker("victim")
    held = shop.accept(mallory, hit)
    forged = shop.answer(shop.enter(held, worker_id=victim.worker_id), NORMAL_ANSWER)
    shop.send(held, forged)
    shop.look(study)
    forged.refresh_from_db()
    assert forged.state == Visit.State.QUARANTINED
    assert uncounted() == ["excluded"]
    own = Visit.objects.get(remote_worker=mallory.worker_id)
    assert (own.state, own.why) == (Visit.State.QUARANTINED, NO_ANSWER)
    assert Payment.objects.get().state == "due"  # a person decides
    assert not Payment.objects.filter(worker__market__remote_worker=victim.worker_id).exists()


def test_work_submitted_from_another_page_is_quarantined(sale):
    study, hit = sale
    person = shop.make_worker()
    held = shop.accept(person, hit)
    visit = shop.answer(shop.enter(held))
    work.submit(person, held.assignment_id, {"answer": "by hand"}, at=timezone.now())
    shop.look(study)
    visit.refresh_from_db()
    assert (visit.state, visit.why) == (Visit.State.QUARANTINED, NO_REFERENCE)


def test_an_answer_the_marketplace_never_saw_is_kept_and_collected_again(sale):
    study, hit = sale
    person = shop.make_worker()
    held = shop.accept(person, hit)
    now = timezone.now()
    visit = shop.answer(shop.enter(held), at=now)
    before = sum(Item.objects.values_list("open_seats", flat=True))
    assert shop.look(study, at=now + timedelta(minutes=30))["unclaimed"] == 0
    assert shop.look(study, at=now + timedelta(minutes=70))["unclaimed"] == 1
    visit.refresh_from_db()
    assert (visit.state, visit.why) == (Visit.State.UNCLAIMED, NEVER_SEEN)
    assert uncounted() == ["excluded"]
    assert Annotation.objects.count() == 2
    assert sum(Item.objects.values_list("open_seats", flat=True)) == before + 2


def test_an_answer_given_up_too_early_counts_once_it_is_seen(sale):
    study, hit = sale
    person = shop.make_worker()
    held = shop.accept(person, hit)
    now = timezone.now()
    visit = shop.answer(shop.enter(held), at=now)
    shop.look(study, at=now + timedelta(minutes=70))
    shop.send(held, visit, at=now)
    shop.look(study, at=now + timedelta(minutes=71))
    visit.refresh_from_db()
    assert visit.state == Visit.State.CONFIRMED
    assert uncounted() == [""]


def test_a_second_hit_waits_for_the_first_and_then_begins_anew(sale):
    study, hit = sale
    shop.buy(study, 1)
    other = Hit.objects.exclude(pk=hit.pk).get()
    person, now = shop.make_worker(), timezone.now()
    first = visits.go_on(shop.enter(shop.accept(person, hit)), at=now).sitting
    second = shop.enter(shop.accept(person, other))
    with pytest.raises(visits.Busy):
        visits.go_on(second, at=now + timedelta(minutes=1))
    fresh = visits.go_on(second, at=now + timedelta(minutes=4)).sitting
    first.refresh_from_db()
    assert (first.state, fresh.state) == ("returned", "leased")
    assert not set(first.assignments.values_list("item")) & set(fresh.assignments.values_list("item"))


def test_a_later_stage_is_not_entered_through_the_tests_of_the_first(lab):
    """They could not be passed there: they ask for the first stage's answers."""
    study = shop.make_shop_study(4)
    make_items(study, 1, role="practice", prefix="p", gold=FALSE_ANSWER)
    batch = shop.buy(study, 1, stage="validate")
    person = shop.make_worker()
    visit = shop.enter(shop.accept(person, batch.hits.get()))
    onward = visits.go_on(visit, at=timezone.now())
    assert (onward.where, onward.said) == (visits.Where.STOP, visits.CHOSEN)
    qualify(visit.worker, study, ["validate"], by="team", at=timezone.now())
    with pytest.raises(NothingLeft):  # nothing is written yet
        visits.go_on(visit, at=timezone.now())


def test_a_revoked_worker_is_told_to_return_the_hit(sale):
    study, hit = sale
    person = shop.make_worker()
    shop.do(person, hit)
    shop.look(study)
    enrolment = Enrolment.objects.get(worker__market__remote_worker=person.worker_id)
    revocation.revoke(enrolment, why="Too many wrong.", work="keep", by="test", at=timezone.now())
    shop.buy(study, 1)
    last = Hit.objects.order_by("-pk").first()
    assert shop.look(study)["granted"] >= 1
    with pytest.raises(work.NotQualified):
        shop.accept(MarketplaceWorker.objects.get(pk=person.pk), last)
