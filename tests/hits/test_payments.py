"""What is owed, decided and paid, each once."""

import io
import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation import submission
from annotation.models import Annotation
from annotation.reading import BadFile
from hits import payments, publishing, spending, wages
from hits.errors import BadTerms, NotNow, OverBudget, ReasonNeeded
from hits.models import Batch, Hit, Intent, Payment
from hits.publishing import Terms
from marketplace import ledger
from marketplace.models import Assignment, Transfer
from tests.factories import FALSE_ANSWER, make_sitting
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)
BY_HAND = Batch.Approval.BY_HAND


def done(study, count=1, **more):
    """So many people have done a sitting each; their rewards wait. Returns the payments."""
    batch = shop.buy(study, count, **{"approval": BY_HAND, **more})
    people = [shop.make_worker(f"p{n}") for n in range(count)]
    for person in people:
        shop.do(person, batch.hits.first())
    shop.look(study)
    return list(Payment.objects.order_by("pk"))


def bonuses():
    return sorted(Transfer.objects.filter(what="bonus").values_list("cents", flat=True))


def test_by_hand_nothing_is_paid_before_somebody_decides(lab):
    study = shop.make_shop_study(6)
    first, second = done(study, 2)
    assert {first.state, second.state} == {"due"}
    assert payments.approve(first, by="ann", at=timezone.now())
    assert not payments.approve(Payment.objects.get(pk=first.pk), by="ben", at=timezone.now())
    shop.drain()
    first.refresh_from_db()
    assert (first.state, first.by) == ("paid", "ann")
    assert sorted(Assignment.objects.values_list("state", flat=True)) == ["Approved", "Submitted"]


def test_a_rejection_needs_a_person_with_a_reason_and_takes_the_answers_out(lab):
    study = shop.make_shop_study(6)
    (payment,) = done(study)
    with pytest.raises(ReasonNeeded):
        payments.reject(payment, "  ", by="ann", at=timezone.now())
    assert payments.reject(payment, "Copied texts.", by="ann", at=timezone.now())
    shop.drain()
    payment.refresh_from_db()
    remote = Assignment.objects.get()
    assert (payment.state, remote.state, remote.feedback) == ("rejected", "Rejected", "Copied texts.")
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"excluded"}
    assert spending.committed(study) == 0
    assert payments.override(payment, by="ann", at=timezone.now())
    shop.drain()
    payment.refresh_from_db()
    assert (payment.state, Assignment.objects.get().state) == ("paid", "Approved")


def test_a_soft_rejection_pays_and_leaves_the_answers_out(lab):
    study = shop.make_shop_study(6)
    (payment,) = done(study)
    payments.reject_softly(payment, "All the same.", by="ann", at=timezone.now())
    shop.drain()
    payment.refresh_from_db()
    assert (payment.state, Assignment.objects.get().state) == ("paid", "Approved")
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"excluded"}


def test_auto_approval_is_noticed_and_no_rejection_is_claimed_after_it(lab, settings):
    """F12, P7."""
    study = shop.make_shop_study(6)
    (payment,) = done(study, auto_approval_hours=1)
    settings.MARKETPLACE_FAULTS = json.dumps({"clock_shift": 3601})
    payments.reject(payment, "Too late.", by="ann", at=timezone.now())
    shop.drain()
    intent = Intent.objects.get(kind="reject")
    assert (intent.state, "approved" in intent.error) == ("failed", True)
    shop.look(study)
    payment.refresh_from_db()
    assert payment.state == "paid"
    assert Assignment.objects.get().state == "Approved"


def test_a_bonus_is_paid_once_however_often_it_is_decided(lab):
    study = shop.make_shop_study(6)
    (payment,) = done(study)
    given = {"key": "bonus 1", "by": "ann", "at": timezone.now()}
    for _ in range(3):
        payments.offer(study, payment.worker, "bonus", Decimal("0.25"), "Careful work.", **given)
        shop.drain()
    assert bonuses() == [25]
    assert Payment.objects.get(kind="bonus").state == "paid"


@pytest.mark.parametrize("amount", ["0", "-1", "0.005", "1000.01"])
def test_an_odd_amount_is_refused(lab, amount):
    study = shop.make_shop_study(6)
    (payment,) = done(study)
    with pytest.raises(BadTerms):
        payments.offer(study, payment.worker, "bonus", Decimal(amount), "x", key="b", by="ann", at=timezone.now())


def test_the_budget_counts_what_may_still_be_sold_and_refuses_more(lab):
    """P5."""
    study = shop.make_shop_study(6)
    spending.set_budget(study, Decimal("1.20"), by="ann", at=timezone.now())
    (first, _) = done(study, 2, reward="0.50")
    assert spending.left(study) == Decimal("0.20")
    with pytest.raises(OverBudget):
        publishing.publish(study, Terms("generate", 1, Decimal("0.50")), by="ann", at=timezone.now())
    with pytest.raises(OverBudget):
        payments.offer(study, first.worker, "bonus", Decimal("0.21"), "x", key="b", by="ann", at=timezone.now())
    payments.offer(study, first.worker, "bonus", Decimal("0.20"), "x", key="b", by="ann", at=timezone.now())
    assert spending.left(study) == 0


def test_a_batch_that_ends_gives_back_what_was_not_sold(lab):
    study = shop.make_shop_study(8)
    batch = shop.buy(study, 4, per_hit=2, reward="0.50")
    shop.do(shop.make_worker(), batch.hits.first())
    now = timezone.now()
    publishing.end(batch, by="ann", at=now)
    shop.drain()
    assert set(Hit.objects.values_list("state", flat=True)) == {"ending"}
    shop.look(study)
    assert spending.committed(study) == Decimal("2.00")  # somebody may still hold one
    shop.look(study, at=now + timedelta(minutes=70))
    assert spending.committed(study) == Decimal("0.50")
    assert ledger.is_balanced()


def test_personal_links_earn_in_the_same_ledger(lab):
    study = shop.make_shop_study(4, pay_per_sitting=1.25)
    sitting, now = make_sitting(study, "ann"), timezone.now()
    submission.submit(sitting, {a.pk: FALSE_ANSWER for a in sitting.bundle}, at=now)
    assert [payments.owe_sittings(study, at=now) for _ in range(2)] == [1, 0]
    (payment,) = payments.due(study)
    assert (payment.amount, payment.visit, payment.worker.code) == (Decimal("1.25"), None, "ann")
    payments.approve(payment, by="ann", at=now)
    assert [row["state"] for row in payments.ledger(study)] == ["paid"]


def timed(study, seconds):
    """Everybody's answers took so long, together."""
    Annotation.objects.update(active_seconds=seconds // 2)


def test_a_top_up_lifts_to_the_wage_and_asking_again_asks_for_nothing(lab):
    study = shop.make_shop_study(6)
    done(study, 2, reward="0.50")
    timed(study, 360)
    drafts = wages.topups(study, Decimal("15.00"))
    assert [(draft.code, draft.amount) for draft in drafts] == [("W001", Decimal("1.00")), ("W002", Decimal("1.00"))]
    assert wages.decide(study, drafts, by="ann", at=timezone.now()) == 2
    assert wages.decide(study, drafts, by="ann", at=timezone.now()) == 0
    assert wages.topups(study, Decimal("15.00")) == []
    shop.drain()
    assert bonuses() == [100, 100]
    assert [wage.hourly for wage in wages.wages(study)] == [Decimal(15), Decimal(15)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("worker,amount\nW001,1\n", "reason is missing"),
        ("worker,amount,reason\nW009,1,ok\n", "line 2: there is no worker 'W009'"),
        ("worker,amount,reason\nW001,1.005,ok\n", "line 2: the amount '1.005'"),
        ("worker,amount,reason\nW001,nan,ok\n", "line 2: the amount 'nan'"),
        ("worker,amount,reason\nW001,1,\n", "line 2: a reason is needed"),
    ],
)
def test_a_file_of_bonuses_is_refused_line_by_line(lab, rows, said):
    study = shop.make_shop_study(6)
    done(study)
    with pytest.raises(BadFile, match=said):
        wages.read_bonuses(study, io.BytesIO(rows.encode()))


def test_the_same_file_of_bonuses_pays_once_and_the_same_line_twice_pays_twice(lab):
    study = shop.make_shop_study(6)
    done(study)
    rows = b"worker,amount,reason\nW001,$0.30,Careful\nW001,0.30,Careful\nW001,0.10,Quick\n"
    for expected in (3, 0):
        drafts = wages.read_bonuses(study, io.BytesIO(rows))
        assert wages.decide(study, drafts, by="ann", at=timezone.now()) == expected
    shop.drain()
    assert bonuses() == [10, 30, 30]


def test_who_has_submitted_nothing_there_cannot_get_a_bonus_through_it(lab):
    study = shop.make_shop_study(6)
    batch = shop.buy(study, 1)
    visit = shop.enter(shop.accept(shop.make_worker(), batch.hits.first()))
    with pytest.raises(NotNow):
        payments.offer(study, visit.worker, "bonus", Decimal(1), "x", key="b", by="ann", at=timezone.now())
