"""Removing people while everybody clicks: one defined outcome each, on real threads."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from annotation import exclusion, leasing, qualification, revocation, submission
from annotation.errors import Closed, LimitReached, NothingLeft, Revoked
from annotation.models import (
    Annotation,
    Appeal,
    Assignment,
    Attempt,
    Enrolment,
    Event,
    Item,
    Qualification,
    Revocation,
    Sitting,
)
from annotation.revocation import NotNow
from tests.concurrency.crowd import at_once
from tests.factories import NORMAL_ANSWER, make_items, make_study, make_worker
from validation import quality

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
BY = {"by": "user:eva", "at": NOON}


def enrolment(code="ann"):
    return Enrolment.objects.select_related("study", "worker").get(worker__code=code)


def submit(sitting):
    mine = Sitting.objects.select_related("study", "worker").get(pk=sitting.pk)
    return submission.submit(mine, {a.pk: NORMAL_ANSWER for a in mine.bundle}, at=NOON)


@pytest.mark.parametrize("n", range(5))
def test_revoking_while_the_worker_submits_keeps_all_answers_or_takes_all_seats_back(n):
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    sitting = leasing.lease(make_worker(study, "ann"), study, "generate", at=NOON)[0]

    def act(which):
        return submit(sitting) if which == "submit" else revocation.revoke(enrolment(), why="Guessing.", **BY)

    submitted, revoked = at_once(["submit", "revoke"], act)
    assert isinstance(revoked, Revocation)
    seats = set(Item.objects.values_list("open_seats", flat=True))
    if isinstance(submitted, Closed):
        assert (seats, Annotation.objects.count(), Sitting.objects.get().state) == ({2}, 0, "withdrawn")
    else:
        assert (seats, Annotation.objects.count(), Sitting.objects.get().state) == ({1}, 3, "submitted")


@pytest.mark.parametrize("n", range(5))
def test_nothing_is_leased_once_the_revocation_is_through(n):
    study = make_study(items_per_sitting=2)
    make_items(study, 8)
    ann = make_worker(study, "ann")

    def act(which):
        if which == "revoke":
            return revocation.revoke(enrolment(), why="Guessing.", **BY)
        return leasing.lease(ann, study, "generate", at=NOON)[0]

    at_once(["lease", "revoke", "lease"], act)
    assert set(Item.objects.values_list("open_seats", flat=True)) == {2}
    assert not Assignment.objects.filter(state="leased").exists()
    assert enrolment().taken == 0
    with pytest.raises(Revoked):
        leasing.lease(ann, study, "generate", at=NOON)


def test_two_admins_revoking_and_restoring_at_once_leave_one_story():
    study = make_study()
    make_items(study, 1)
    make_worker(study, "ann")

    def act(n):
        if n % 2:
            return revocation.restore(enrolment(), why="A mistake.", **BY)
        return revocation.revoke(enrolment(), why="Guessing.", **BY)

    results = at_once(range(8), act)
    assert {type(r) for r in results} <= {Revocation, NotNow}
    states = Counter(Revocation.objects.values_list("state", flat=True))
    assert states["in force"] == (enrolment().state == "revoked")
    done = [r for n, r in enumerate(results) if isinstance(r, Revocation)]
    assert len(done) == states["in force"] + 2 * states["restored"]


def test_a_limit_holds_in_many_tabs_and_stages():
    study = make_study(items_per_sitting=2, max_annotations=3, max_per_group="entity:1")
    from annotation.intake import import_items

    rows = [{"id": f"q{n}", "question": "Why?", "comment": "So.", "entity": f"e{n // 2}"} for n in range(12)]
    import_items(study, rows, by="test", at=NOON)
    ann = make_worker(study, "ann")

    def act(n):
        sitting = leasing.lease(ann, study, "generate", at=NOON)[0]
        return submit(sitting)

    for _ in range(3):
        results = at_once(range(4), act)
    assert any(isinstance(r, LimitReached | NothingLeft) for r in results)
    assert (enrolment().taken, Annotation.objects.count()) == (3, 3)
    assert max(Counter(Annotation.objects.values_list("item__payload__meta__entity", flat=True)).values()) == 1


def test_excluding_while_others_fill_the_seats_ends_with_two_answers_each():
    study = make_study(items_per_sitting=2)
    make_items(study, 10)
    for code in ("ann", "ben"):
        worker = make_worker(study, code)
        for _ in range(5):
            submit(leasing.lease(worker, study, "generate", at=NOON)[0])
    bad = list(Annotation.objects.filter(worker__code="ben").values_list("pk", flat=True))
    crowd = [make_worker(study, f"w{n}") for n in range(4)]

    def act(who):
        if who == "exclude":
            return exclusion.set_aside(study, bad, "excluded", by="user:eva", why="Guessing.", at=NOON)
        done = 0
        for _ in range(8):
            try:
                done += len(submit(leasing.lease(who, study, "generate", at=NOON)[0]))
            except NothingLeft:
                continue
        return done

    at_once(["exclude", "exclude", *crowd], act)
    while True:  # what was excluded last
        try:
            submit(leasing.lease(make_worker(study, "late"), study, "generate", at=NOON)[0])
        except NothingLeft:
            break
    counted = Counter(Annotation.objects.filter(uncounted="").values_list("item__ref", flat=True))
    assert (len(counted), set(counted.values())) == (10, {2})
    assert set(Item.objects.values_list("state", flat=True)) == {"settled"}


def test_an_appeal_is_written_once_and_decided_once():
    study = make_study()
    make_items(study, 1)
    make_worker(study, "ann")
    revocation.revoke(enrolment(), why="Guessing.", **BY)
    at_once(range(4), lambda n: revocation.appeal(enrolment(), f"No {n}.", at=NOON))
    appeal = Appeal.objects.get()

    def decide(n):
        mine = Appeal.objects.select_related("revocation__enrolment__study", "revocation__enrolment__worker").get()
        return revocation.decide_appeal(mine, granted=bool(n % 2), answer=f"So {n}.", **BY)

    results = at_once(range(4), decide)
    assert Counter(type(r) for r in results) == {type(None): 1, NotNow: 3}
    appeal.refresh_from_db()
    assert enrolment().state == {"granted": "active", "refused": "revoked"}[appeal.outcome]


def test_the_last_place_goes_to_one_person():
    study = make_study(max_qualified=1)
    make_items(study, 1, role="qualification", prefix="t", gold=NORMAL_ANSWER)
    attempts = []
    for code in ("ann", "ben", "cat"):
        worker = make_worker(study, code, stages=[])
        found = qualification.enrol(worker, study, "generate", by="test", at=NOON)
        Qualification.objects.filter(pk=found.pk).update(state="review")
        sitting = Sitting.objects.create(
            study=study, worker=worker, stage="generate", purpose="test", leased_until=NOON, opened_at=NOON
        )
        attempts.append(Attempt.objects.create(qualification=found, sitting=sitting, number=1, state="review"))

    def decide(attempt):
        mine = Attempt.objects.select_related("qualification__enrolment__study", "qualification__enrolment__worker")
        return qualification.decide(mine.get(pk=attempt.pk), passed=True, by="user:eva", why="", at=NOON)

    at_once(attempts, decide)
    assert Counter(Qualification.objects.values_list("state", flat=True)) == {"qualified": 1, "full": 2}


def test_scoring_beside_submitting_and_beside_itself_ends_right():
    study = make_study(items_per_sitting=1)
    make_items(study, 12)
    crowd = [make_worker(study, f"w{n}") for n in range(4)]

    def act(who):
        for _ in range(6):
            if who == "score":
                quality.refresh(study, at=NOON)
            else:
                try:
                    submit(leasing.lease(who, study, "generate", at=NOON)[0])
                except NothingLeft:
                    continue

    results = at_once(["score", "score", *crowd], act)
    assert results == [None] * 6
    scores = quality.refresh(study, at=NOON, everybody=True)
    assert sum(s.annotations for s in scores) == Annotation.objects.count()
    assert sum(s.decided for s in scores) == 2 * Item.objects.filter(state="settled").count()


def claim(study, code):
    """A sitting that somebody submitted in the name of `code`."""
    sitting = leasing.lease(make_worker(study, code), study, "generate", at=NOON)[0]
    submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.bundle}, at=NOON, confirmed=False)
    return sitting


def confirm(sitting):
    return submission.confirm(Sitting.objects.select_related("study", "worker").get(pk=sitting.pk), at=NOON)


def test_a_sitting_confirmed_many_times_at_once_is_confirmed_once():
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    sittings = [claim(study, code) for code in ("ann", "ben")]
    results = at_once([*sittings] * 4, confirm)
    assert Counter(results) == {3: 2, 0: 6}
    told = Counter(Event.objects.filter(what="confirmed").values_list("worker__code", flat=True))
    assert told == {"ann": 3, "ben": 3}
    assert set(Item.objects.values_list("state", "open_seats")) == {("settled", 0)}
    assert set(Annotation.objects.values_list("uncounted", "upheld")) == {("", True)}


@pytest.mark.parametrize("work", ["hold", "exclude"])
@pytest.mark.parametrize("n", range(5))
def test_nothing_of_a_revoked_worker_slips_into_gold_by_being_confirmed(n, work):
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    submit(leasing.lease(make_worker(study, "ben"), study, "generate", at=NOON)[0])
    sitting = claim(study, "ann")

    def act(which):
        if which == "confirm":
            return confirm(sitting)
        revoked = revocation.revoke(enrolment(), why="Guessing.", work=work, **BY)
        return revocation.apply_work(revoked, **BY)

    results = at_once(["confirm", "revoke"], act)
    assert [r for r in results if isinstance(r, Exception)] == []
    out, seats = {"hold": ("held", 0), "exclude": ("excluded", 1)}[work]
    assert set(Annotation.objects.filter(worker__code="ann").values_list("uncounted", "unproven")) == {(out, False)}
    assert set(Item.objects.values_list("state", "open_seats")) == {("open", seats)}


@pytest.mark.parametrize("n", range(5))
def test_excluding_and_confirming_one_sitting_at_once_ends_excluded(n):
    study = make_study(items_per_sitting=3)
    make_items(study, 3)
    submit(leasing.lease(make_worker(study, "ben"), study, "generate", at=NOON)[0])
    sitting = claim(study, "ann")
    theirs = list(Annotation.objects.filter(worker__code="ann").values_list("pk", flat=True))

    def act(which):
        if which == "confirm":
            return confirm(sitting)
        return exclusion.set_aside(study, theirs, "excluded", why="Guessing.", **BY)

    results = at_once(["confirm", "exclude"], act)
    assert [r for r in results if isinstance(r, Exception)] == []
    assert set(Annotation.objects.filter(worker__code="ann").values_list("uncounted", "unproven")) == {
        ("excluded", False)
    }
    assert set(Item.objects.values_list("state", "open_seats")) == {("open", 1)}
