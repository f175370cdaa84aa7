"""Who comes in, and whose links stop."""

from datetime import UTC, datetime

import pytest

from annotation import enrolment, links
from annotation.errors import LinkRevoked, UnknownStage
from annotation.models import Event, Worker
from tests.factories import make_study, make_worker

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def told():
    return list(Event.objects.values_list("what", "actor", "why", "worker__code"))


@pytest.mark.parametrize(("count", "codes"), [(1, ["ann"]), (3, ["ann-1", "ann-2", "ann-3"])])
def test_workers_are_added_by_code_and_number(count, codes):
    study = make_study()
    added = enrolment.add_workers(study, "ann", ["generate"], count, by="user:maria", at=NOON)
    assert [w.code for w in added] == codes
    assert told() == [("qualified", "user:maria", "", code) for code in codes]


def test_an_unknown_stage_adds_nobody():
    with pytest.raises(UnknownStage):
        enrolment.add_workers(make_study(), "ann", ["judge"], 2, by="user:maria", at=NOON)
    assert not Worker.objects.exists()


def test_revoking_stops_every_link_and_token_and_says_why():
    study = make_study()
    worker = make_worker(study, "ann")
    tokens = [links.sign(worker, purpose, at=NOON) for purpose in (links.LINK, links.TOKEN)]
    enrolment.revoke_links(study.enrolments.get(), by="user:maria", at=NOON, why="Phone lost.")
    for token, purpose in zip(tokens, (links.LINK, links.TOKEN), strict=True):
        with pytest.raises(LinkRevoked):
            links.worker_of(token, purpose, at=NOON)
    worker.refresh_from_db()
    assert links.worker_of(links.sign(worker, links.LINK, at=NOON), links.LINK, at=NOON) == worker
    assert told()[-1] == ("links revoked", "user:maria", "Phone lost.", "ann")


def test_the_enrolment_link_works_while_enrolment_is_open():
    study = make_study()
    token = links.enrolment_link(study).rstrip("/").rsplit("/", 1)[1]
    for is_open in (True, True, False):
        enrolment.set_enrolment(study, is_open, by="user:maria", at=NOON)
        if is_open:
            assert links.study_of(token) == study
    with pytest.raises(LinkRevoked):
        links.study_of(token)
    assert [what for what, *_ in told()] == ["enrolment opened", "enrolment closed"]


def test_a_renewed_enrolment_link_ends_the_old_one():
    study = make_study()
    enrolment.set_enrolment(study, True, by="user:maria", at=NOON)
    old = links.enrolment_link(study).rstrip("/").rsplit("/", 1)[1]
    enrolment.renew_enrolment_link(study, by="user:maria", at=NOON)
    with pytest.raises(LinkRevoked):
        links.study_of(old)
    assert links.study_of(links.enrolment_link(study).rstrip("/").rsplit("/", 1)[1]) == study
