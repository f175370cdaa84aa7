"""F11, F12: whose an assignment is, and what happens where a clock and a decision meet."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client

from annotation.models import Annotation
from hits import intents, payments, publishing, spending
from hits.models import Hit, Intent, Payment, Visit
from hits.publishing import Terms
from hits.reconciling import NEVER_SEEN, OTHER_WORKER
from marketplace import work
from marketplace.models import HIT, Assignment, Transfer
from tests.factories import NORMAL_ANSWER
from tests.hits import shop
from tests.hits.faults.judge import calls, problems
from tests.marketplace.market import make_requester

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]
HOUR = timedelta(hours=1)


def publish(study, beat, sittings=1, **more):
    terms = Terms(stage="generate", sittings=sittings, reward=Decimal("0.50"), **more)
    batch = publishing.publish(study, terms, by="test", at=beat.now())
    beat.until_quiet()
    return batch.hits.get()


def rewards():
    return sorted(Transfer.objects.filter(what="reward").values_list("credit__worker__name", flat=True))


# --- F11: an assignment's id is a slot --------------------------------------------------------------------------


def test_of_three_in_one_slot_only_who_submitted_is_credited_paid_and_given_a_bonus(lab, beat, suffer):
    """One returned it after answering, one ran out of time after answering, one submitted; and answers get lost."""
    study = shop.make_shop_study(6)
    hit = publish(study, beat, duration_minutes=30)
    suffer(All={"lost_after": 0.2, "cut": 0.1}, seed=3)
    ann, ben, cleo = (shop.make_worker(name) for name in ("ann", "ben", "cleo"))
    held = shop.accept(ann, hit, at=beat.now())
    shop.answer(shop.enter(held, at=beat.now()), at=beat.now())
    work.give_back(ann, held.assignment_id, at=beat.now())
    again = shop.accept(ben, hit, at=beat.now())
    late = shop.answer(shop.enter(again, at=beat.now()), NORMAL_ANSWER, at=beat.now())
    beat.ahead += HOUR  # his time at the marketplace runs out
    beat.sweep()
    with pytest.raises(work.Refused):
        shop.send(again, late, at=beat.now())
    third = shop.accept(cleo, hit, at=beat.now())
    assert {held.assignment_id, again.assignment_id} == {third.assignment_id}
    shop.send(third, shop.answer(shop.enter(third, at=beat.now()), at=beat.now()), at=beat.now())
    beat.until_quiet()
    assert Visit.objects.count() == 3
    whys = dict(Visit.objects.exclude(state="confirmed").values_list("remote_worker", "why"))
    assert whys.keys() == {ann.worker_id, ben.worker_id}
    assert set(whys.values()) <= {OTHER_WORKER, NEVER_SEEN}
    counted = Annotation.objects.filter(uncounted="").values_list("worker__market__remote_worker", flat=True)
    assert set(counted) == {cleo.worker_id}
    assert Annotation.objects.count() == 6  # and nothing that was written is lost
    payment = Payment.objects.get()
    payments.offer(study, payment.worker, "bonus", Decimal("0.20"), "Thanks", key="b", by="test", at=beat.now())
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert rewards() == ["cleo"]


def test_who_returns_a_hit_and_takes_it_again_hands_in_the_same_answer_once(lab, beat):
    study = shop.make_shop_study(4)
    hit = publish(study, beat)
    wanda = shop.make_worker()
    held = shop.accept(wanda, hit, at=beat.now())
    first = shop.answer(shop.enter(held, at=beat.now()), at=beat.now())
    work.give_back(wanda, held.assignment_id, at=beat.now())
    again = shop.accept(wanda, hit, at=beat.now())
    second = shop.enter(again, at=beat.now())
    assert second.pk == first.pk
    shop.send(again, second, at=beat.now())
    beat.until_quiet()
    assert (Visit.objects.get().state, Annotation.objects.filter(uncounted="").count()) == ("confirmed", 2)
    assert problems(study, at=beat.now()) == []
    assert rewards() == ["wanda"]


# --- F12: two clocks, or two people, at the same moment -------------------------------------------------------------


@pytest.mark.parametrize("fault", ["", "lost_after"])
def test_a_rejection_after_the_work_approved_itself_is_not_reported_as_done(lab, beat, suffer, fault):
    """P7."""
    study = shop.make_shop_study(4)
    hit = publish(study, beat, approval="by hand", auto_approval_hours=1)
    shop.do(shop.make_worker(), hit, at=beat.now())
    beat.until_quiet()
    beat.ahead += HOUR
    payment = Payment.objects.get()
    if fault:
        suffer(RejectAssignment={fault: 1})
    assert payments.reject(payment, "Not an answer", by="test", at=beat.now())
    beat.sweep()
    suffer()
    beat.until_quiet()
    payment.refresh_from_db()
    assert payment.state == "paid"
    assert "approved" in Intent.objects.get(kind="reject").error
    assert problems(study, at=beat.now()) == []
    assert rewards() == ["wanda"]


def test_an_approval_and_the_works_own_meet_and_it_is_paid_once(lab, beat, suffer):
    study = shop.make_shop_study(4)
    hit = publish(study, beat, approval="by hand", auto_approval_hours=1)
    shop.do(shop.make_worker(), hit, at=beat.now())
    beat.until_quiet()
    suffer(ApproveAssignment={"lost_before": 1})
    payments.approve(Payment.objects.get(), by="test", at=beat.now())
    beat.sweep()
    suffer()
    beat.ahead += HOUR
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert rewards() == ["wanda"]


def test_what_could_not_be_approved_and_approves_itself_later_is_seen_as_paid(lab, beat):
    """A payment that needs attention is settled by looking, also when its HIT is over."""
    study = shop.make_shop_study(4)
    hit = publish(study, beat, approval="by hand", auto_approval_hours=2)
    shop.do(shop.make_worker(), hit, at=beat.now())
    beat.until_quiet()
    payment = Payment.objects.get()
    HIT.objects.update(requester=make_requester("somebody else"))  # so that what is decided about it is refused
    assert payments.approve(payment, by="test", at=beat.now())
    beat.ahead += intents.LAG
    beat.until_quiet()
    payment.refresh_from_db()
    hit.refresh_from_db()
    assert (payment.state, hit.state) == ("attention", "ended")
    HIT.objects.update(requester=lab)
    beat.ahead += 2 * HOUR
    beat.until_quiet()
    payment.refresh_from_db()
    assert payment.state == "paid"
    assert problems(study, at=beat.now()) == []


def test_work_in_somebodys_hands_is_taken_and_paid_after_its_batch_was_ended(lab, beat):
    study = shop.make_shop_study(8)
    spending.set_budget(study, Decimal("1.00"), by="test", at=beat.now())
    hit = publish(study, beat, 2)
    wanda = shop.make_worker()
    held = shop.accept(wanda, hit, at=beat.now())
    publishing.end(hit.batch, by="test", at=beat.now())
    beat.until_quiet()
    with pytest.raises(work.Refused):
        shop.accept(shop.make_worker("will"), hit, at=beat.now())
    beat.ahead += timedelta(minutes=50)
    shop.send(held, shop.answer(shop.enter(held, at=beat.now()), at=beat.now()), at=beat.now())
    beat.until_quiet()
    assert (Visit.objects.get().state, rewards()) == ("confirmed", ["wanda"])
    beat.ahead += HOUR
    beat.until_quiet()
    assert problems(study, budget=Decimal("1.00"), at=beat.now()) == []
    assert Hit.objects.get().state == "deleted"
    assert spending.committed(study) == Decimal("0.50")


def test_a_form_that_is_sent_twice_is_taken_and_paid_once(lab, beat):
    study = shop.make_shop_study(4)
    hit = publish(study, beat)
    held = shop.accept(shop.make_worker(), hit, at=beat.now())
    visit = shop.answer(shop.enter(held, at=beat.now()), at=beat.now())
    form = {"assignmentId": held.assignment_id, "reference": visit.reference}
    browser = Client(enforce_csrf_checks=True)
    assert [browser.post("/marketplace/mturk/externalSubmit", form).status_code for _ in range(2)] == [200, 409]
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert (Assignment.objects.count(), rewards(), calls("ApproveAssignment")) == (1, ["wanda"], 1)


# --- The newest decision about a HIT is the last one the marketplace hears ------------------------------------------


def test_a_pause_and_a_resumption_at_once_leave_the_hit_offered(lab, beat):
    study = shop.make_shop_study(4)
    hit = publish(study, beat)
    publishing.pause(hit.batch, by="test", at=beat.now())
    publishing.resume(hit.batch, by="test", at=beat.now())
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert (Hit.objects.get().state, HIT.objects.get().expires_at > beat.now() + HOUR) == ("open", True)


def test_an_old_decision_whose_answer_was_lost_does_not_undo_a_newer_one(lab, beat, suffer):
    study = shop.make_shop_study(4)
    hit = publish(study, beat)
    suffer(UpdateExpirationForHIT={"lost_after": 1})
    publishing.pause(hit.batch, by="test", at=beat.now())
    beat.sweep()
    publishing.resume(hit.batch, by="test", at=beat.now())
    beat.sweep()
    suffer()
    beat.until_quiet()
    assert problems(study, at=beat.now()) == []
    assert (Hit.objects.get().state, HIT.objects.get().expires_at > beat.now() + HOUR) == ("open", True)
