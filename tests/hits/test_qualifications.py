"""The study's word on its workers, kept at the marketplace."""

import pytest
from django.utils import timezone

from annotation import revocation
from annotation.models import Enrolment
from hits import places, qualifications
from hits.models import Grant, QualificationType
from marketplace.models import Grant as RemoteGrant
from tests.hits import shop

pytestmark = pytest.mark.django_db(transaction=True)


def granted():
    """What stands at the marketplace: (type, worker)."""
    rows = RemoteGrant.objects.filter(is_revoked=False).order_by("qualification_type__name", "worker__name")
    return list(rows.values_list("qualification_type__name", "worker__name"))


@pytest.fixture
def sale(lab):
    """A study with one person who has done a sitting."""
    study = shop.make_shop_study(6)
    batch = shop.buy(study, 3)
    shop.do(shop.make_worker("wanda"), batch.hits.get())
    shop.look(study)
    return study


def test_stages_and_being_out_become_qualifications_and_follow_the_study(sale):
    names = sorted(QualificationType.objects.values_list("name", flat=True))
    assert names == ["Excluded from crepe-a", "May generate in crepe-a", "May validate in crepe-a"]
    assert granted() == [("May generate in crepe-a", "wanda")]
    enrolment = Enrolment.objects.get()
    revocation.revoke(enrolment, why="Too many wrong.", work="keep", by="test", at=timezone.now())
    shop.look(sale)
    assert granted() == [("Excluded from crepe-a", "wanda")]
    revocation.restore(enrolment, by="test", why="A mistake.", at=timezone.now())
    shop.look(sale)
    assert granted() == [("May generate in crepe-a", "wanda")]
    assert shop.look(sale)["granted"] == 0


def test_drift_is_found_and_mended(sale):
    lost = RemoteGrant.objects.get(is_revoked=False)
    RemoteGrant.objects.filter(pk=lost.pk).update(is_revoked=True)
    out = QualificationType.objects.get(purpose="out")
    mturk = places.client()
    mturk.grant(out.type_id, lost.worker.worker_id, 1)
    for kind in QualificationType.objects.all():
        qualifications.mend(kind, mturk, at=timezone.now())
    shop.drain()
    assert granted() == [("May generate in crepe-a", "wanda")]
    assert sum(qualifications.mend(kind, mturk, at=timezone.now()) for kind in QualificationType.objects.all()) == 0
    assert set(Grant.objects.filter(wanted=True).values_list("held", flat=True)) == {True}
