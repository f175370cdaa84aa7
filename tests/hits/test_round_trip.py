"""From a batch to gold and pay, over HTTP against the own marketplace."""

from decimal import Decimal

import pytest

from annotation.models import Annotation
from hits import spending
from hits.models import Call, Intent, Payment, Visit
from marketplace import ledger
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_batch_is_published_done_confirmed_and_paid(lab):
    study = shop.make_shop_study(4)
    batch = shop.buy(study, 4, per_hit=2)
    remote = shop.remote_hits(lab)
    assert [(hit.max_assignments, hit.hit_type.reward, hit.hit_type.title) for hit in remote] == [
        (2, 50, "Study crepe-a: Find false assumptions"),
        (2, 50, "Study crepe-a: Find false assumptions"),
    ]
    assert spending.committed(study) == Decimal("2.00")
    hit = batch.hits.order_by("pk").first()
    person = shop.make_worker()
    visit = shop.do(person, hit)
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {"unconfirmed"}
    found = shop.look(study)
    assert found["confirmed"] == 1
    visit.refresh_from_db()
    assert visit.state == Visit.State.CONFIRMED
    assert set(Annotation.objects.values_list("uncounted", flat=True)) == {""}
    payment = Payment.objects.get()
    assert (payment.state, payment.amount, payment.kind) == ("paid", Decimal("0.50"), "reward")
    assert ledger.account("owed", worker=person).balance == 50
    assert ledger.is_balanced()
    assert spending.committed(study) == Decimal("2.00")
    person.refresh_from_db()
    assert (person.submitted, person.approved) == (1, 1)
    assert not Intent.objects.exclude(state="done").exists()
    assert Call.objects.filter(operation="ApproveAssignment", outcome="ok").count() == 1
