"""Compensation of people whose work never reached the marketplace: a HIT that is theirs alone."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.models import Worker
from hits import inviting, payments, publishing, spending, visits, wages
from hits.errors import NotNow, OverBudget
from hits.models import Batch, Grant, Hit, Payment, Visit
from hits.visits import Where
from hits.wages import Draft
from marketplace import work
from marketplace.models import Assignment, Transfer
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "A fault of ours ate your answers."


@pytest.fixture
def study(lab):
    return shop.make_shop_study(6)


@pytest.fixture
def unlucky(study):
    """Somebody began a HIT and lost it."""
    person = shop.make_worker("unlucky")
    held = shop.accept(person, shop.buy(study, 1).hits.get())
    visits.go_on(shop.enter(held), at=timezone.now())
    work.give_back(person, held.assignment_id, at=timezone.now())
    return person


def local(person):
    return Worker.objects.get(market__remote_worker=person.worker_id)


def compensate(study, person, amount="2.00", key="c", kind=Payment.Kind.COMPENSATION):
    draft = Draft(local(person), "W001", Decimal(amount), REASON, key, kind)
    decided = wages.decide(study, [draft], by="ann", at=timezone.now())
    shop.look(study)
    shop.look(study)  # the grant follows once its type is there
    return decided


def invitation(study):
    return Batch.objects.get(study=study, invited__isnull=False)


def test_they_alone_take_the_hit_and_are_paid_once(study, unlucky, client, admin_user):
    assert [compensate(study, unlucky), compensate(study, unlucky)] == [1, 0]
    batch = invitation(study)
    assert Grant.objects.get(worker__remote_worker=unlucky.worker_id, qualification__purpose__startswith="for ").held
    with pytest.raises(work.NotQualified):
        shop.accept(shop.make_worker("other"), batch.hits.get())
    held = shop.accept(unlucky, batch.hits.get())
    visit = shop.enter(held)
    assert visits.go_on(visit, at=timezone.now()).where == Where.LEAVE
    shop.send(held, visits.leave(visit, at=timezone.now()))
    shop.look(study)
    shop.look(study)
    payment = Payment.objects.get()
    assert (payment.kind, payment.state, payment.amount, payment.visit.state) == (
        "compensation",
        "paid",
        Decimal("2.00"),
        Visit.State.CONFIRMED,
    )
    assert Assignment.objects.get(hit__hit_id=batch.hits.get().hit_id).state == "Approved"
    client.force_login(admin_user)
    page = client.get(f"/studies/{study.slug}/batches/{batch.number}/?state=paid").content.decode()
    assert ("nothing owed" in page, "$2.00" in page) == (False, True)
    assert list(Transfer.objects.filter(what="reward").values_list("cents", flat=True)) == [200]


def test_who_only_claims_to_be_them_is_sent_away(study, unlucky):
    compensate(study, unlucky)
    held = shop.accept(unlucky, invitation(study).hits.get())
    onward = visits.go_on(shop.enter(held, worker_id=shop.make_worker("other").worker_id), at=timezone.now())
    assert (onward.where, onward.said) == (Where.STOP, visits.NOT_FOR_YOU)


def test_the_budget_holds_it_once_and_gets_it_back_when_nobody_comes(study, unlucky):
    before = spending.committed(study)
    spending.set_budget(study, before + Decimal("2.00"), by="ann", at=timezone.now())
    with pytest.raises(OverBudget):
        compensate(study, unlucky, "2.01")
    compensate(study, unlucky)
    assert spending.committed(study) == before + Decimal("2.00")
    publishing.end(invitation(study), by="ann", at=timezone.now())
    shop.drain()
    shop.look(study, at=timezone.now() + timedelta(hours=2))
    assert (invitation(study).hits.get().state, Payment.objects.get().state) == (Hit.State.ENDED, "void")
    assert spending.committed(study) == before


def test_what_comes_in_after_its_hit_was_taken_to_be_over_is_owed_all_the_same(study, unlucky):
    compensate(study, unlucky)
    held = shop.accept(unlucky, invitation(study).hits.get())
    visit = visits.leave(shop.enter(held), at=timezone.now())
    inviting.lapse(visit.hit, at=timezone.now())
    assert Payment.objects.get().state == "void"
    shop.send(held, visit)
    shop.look(study)
    shop.look(study)
    assert Payment.objects.get().state == "paid"


def test_who_has_submitted_work_is_paid_through_it(study):
    person = shop.make_worker("done")
    shop.do(person, shop.buy(study, 1).hits.get())
    shop.look(study)
    compensate(study, person)
    assert not Batch.objects.filter(invited__isnull=False).exists()
    assert Payment.objects.get(kind="compensation").state == "paid"


def test_a_bonus_still_needs_submitted_work(study, unlucky):
    with pytest.raises(NotNow, match="no submitted work"):
        compensate(study, unlucky, kind=Payment.Kind.BONUS)


def test_it_is_not_topped_up_and_its_frame_shows_no_task(study, unlucky, client):
    compensate(study, unlucky)
    batch = invitation(study)
    with pytest.raises(NotNow):
        publishing.top_up(batch, 1, by="ann", at=timezone.now())
    page = client.get(publishing.task_address(batch.hits.get()))
    assert (page.status_code, REASON in page.content.decode()) == (200, True)


def test_a_second_compensation_is_a_second_hit(study, unlucky):
    compensate(study, unlucky)
    compensate(study, unlucky, "1.00", key="d")
    assert sorted(Payment.objects.values_list("amount", flat=True)) == [Decimal("1.00"), Decimal("2.00")]
    assert payments.newest(study, local(unlucky)) is None
