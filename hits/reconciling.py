"""Compare with what the marketplace says, and let that decide who did what. Polling alone is sufficient."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from annotation import exclusion, submission
from annotation.events import SYSTEM, event, record
from annotation.models import Annotation, Enrolment, Study
from annotation.models.sittings import State as SittingState
from hits import intents, inviting, payments, people, publishing
from hits.client import MTurkClient, MTurkError, MTurkUnavailable, NotThere, RemoteAssignment
from hits.models import Batch, Hit, Payment, Visit

State = Visit.State
OFTEN, SELDOM = timedelta(seconds=15), timedelta(minutes=10)  # while somebody is expected, and otherwise
GRACE = timedelta(minutes=5)  # after a deadline, for clocks and for lists that lag
UNPROVEN = (State.OPEN, State.LEFT, State.UNCLAIMED)
NO_ANSWER = "It was submitted at the marketplace, but no answer is here."
NO_REFERENCE = "It was submitted at the marketplace, but not from the page that took the answer."
OTHER_HIT = "It belongs to another HIT than the page that was opened."
OTHER_WORKER = "Somebody else submitted this assignment at the marketplace."
NOT_INVITED = "It was for somebody else."
NEVER_SEEN = "An answer is here, but the marketplace never saw it submitted."


def look_at_due(mturk: MTurkClient, place: str, *, at: datetime, parallel: int = 1, most: int = 1000) -> Counter[str]:
    """Look at every HIT whose time has come; returns what was found."""
    due = Hit.objects.filter(look_at__lte=at, batch__place=place, hit_id__isnull=False).order_by("look_at")
    return look_at_all(list(due.values_list("pk", flat=True)[:most]), mturk, parallel=parallel, now=lambda: at)


def look_at_all(
    hits: Iterable[int],
    mturk: MTurkClient,
    *,
    parallel: int = 1,
    now: Callable[[], datetime] = timezone.now,
    tell: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Look at these HITs (ids), in so many threads. One that does not answer is left for the next time, and counted.

    What is decided by it is carried out by the caller, afterwards.
    """
    found: Counter[str] = Counter()

    def one(pk: int) -> Counter[str]:
        try:
            with intents.carrying_out():
                return _counted(pk, mturk, now())
        finally:
            tell()
            if parallel > 1:
                connection.close()

    if parallel == 1:
        for pk in hits:
            found += one(pk)
        return found
    with ThreadPoolExecutor(parallel, thread_name_prefix="looking") as pool:
        for counts in pool.map(one, hits):
            found += counts
    return found


def _counted(pk: int, mturk: MTurkClient, at: datetime) -> Counter[str]:
    hit = Hit.objects.select_related("batch__study").get(pk=pk)
    try:
        return look_at(hit, mturk, at=at)
    except MTurkUnavailable:
        Hit.objects.filter(pk=pk).update(look_at=at + OFTEN)
        return Counter(unavailable=1)
    except MTurkError:
        Hit.objects.filter(pk=pk).update(look_at=at + SELDOM)
        return Counter(refused=1)


def look_at(hit: Hit, mturk: MTurkClient, *, at: datetime) -> Counter[str]:
    """Take in all submitted work of a HIT, and note when it is over. Raises MTurkError; what was read by then stays."""
    found: Counter[str] = Counter(hits=1)
    is_over = hit.over_at is not None and at > hit.over_at + GRACE
    known = _known(hit)
    try:
        for remote in mturk.assignments_of(hit.hit_id or ""):
            if known.get((remote.assignment_id, remote.worker_id)) == remote.status:
                found["assignments"] += 1
            else:
                found += take_in(remote, hit, at=at)
    except NotThere:  # not yet, or not any more
        found["missing"] += 1
    found["unclaimed"] += _give_up(hit, at=at)
    if hit.state in (Hit.State.OPEN, Hit.State.ENDING) and (is_over or _is_sold_out(hit)):
        _end(hit, mturk, at=at)
    _look_again(hit, at)
    return found


def _known(hit: Hit) -> dict[tuple[str, str], str]:
    """Status of those of the HIT's assignments that were judged and decided about: seen again so, nothing follows."""
    judged = hit.visits.filter(state__in=[State.CONFIRMED, State.QUARANTINED], payments__kind=Payment.Kind.REWARD)
    decided = judged.exclude(payments__kind=Payment.Kind.REWARD, payments__state=Payment.State.DUE)
    if hit.batch.approval == Batch.Approval.BY_HAND:
        decided = judged
    rows = decided.values_list("assignment_id", "remote_worker", "remote")
    return {(assignment, worker): remote for assignment, worker, remote in rows}


def confirm(visit: Visit, mturk: MTurkClient, *, at: datetime) -> bool:
    """Ask about the one assignment of a visit whose form has left; False when the marketplace does not have it yet."""
    try:
        remote = mturk.get_assignment(visit.assignment_id)
    except NotThere:
        return False
    hit = Hit.objects.select_related("batch__study").get(pk=visit.hit_id)
    if remote.hit_id != hit.hit_id:
        quarantine(visit, OTHER_HIT, at=at)
        return True
    take_in(remote, hit, at=at)
    return True


@transaction.atomic
def take_in(remote: RemoteAssignment, hit: Hit, *, at: datetime) -> Counter[str]:
    """One submitted assignment: who really did it, what it is owed, and whether the marketplace has paid it.

    May be called any number of times at once. Locks the visit.
    """
    batch, found = hit.batch, Counter(assignments=1)
    market = people.find_or_make(batch.place, remote.worker_id, at=at)
    seen = {
        "accepted_at": remote.accepted_at,
        "submitted_at": remote.submitted_at,
        "approves_at": remote.approves_at,
        "remote": remote.status,
    }
    made = {"hit": hit, "worker": market.worker, "opened_at": remote.accepted_at}
    visit, _ = Visit.objects.get_or_create(
        assignment_id=remote.assignment_id, remote_worker=remote.worker_id, defaults=made
    )
    visit = Visit.objects.select_for_update(of=("self",)).get(pk=visit.pk)
    Visit.objects.filter(pk=visit.pk).update(**seen)
    payment = inviting.is_taken_by(visit, hit) or payments.owe_reward(visit, hit, market.worker, at=at)
    if visit.state in UNPROVEN:
        if problem := _problem(visit, remote, hit):
            quarantine(visit, problem, at=at)
            found["quarantined"] += 1
        else:
            _prove(visit, at=at)
            found["confirmed"] += 1
        for other in Visit.objects.filter(assignment_id=remote.assignment_id, state__in=[State.LEFT, State.UNCLAIMED]):
            if other.pk != visit.pk:
                quarantine(other, OTHER_WORKER, at=at)
                found["quarantined"] += 1
    payments.note_remote(payment, remote, at=at)
    visit.refresh_from_db()
    if payment.state == Payment.State.DUE and batch.approval == Batch.Approval.CHECKED and passes(visit):
        payments.approve(payment, by=SYSTEM, at=at)
        found["approved"] += 1
    return found


def passes(visit: Visit) -> bool:
    """The study's checks: the answer is proven to be this worker's, and the study lets them work."""
    if visit.state != State.CONFIRMED or visit.worker is None:
        return False
    if visit.hit.batch.invited_id:
        return True
    enrolled = Enrolment.objects.filter(study=visit.hit.batch.study, worker=visit.worker)
    return enrolled.filter(state=Enrolment.State.ACTIVE).exists()


def _problem(visit: Visit, remote: RemoteAssignment, hit: Hit) -> str:
    """Why this submission does not prove the answer that is here, or ""."""
    if visit.hit_id != hit.pk:
        return OTHER_HIT
    if hit.batch.invited_id:
        return "" if visit.worker_id == hit.batch.invited_id else NOT_INVITED
    sitting = visit.sitting
    if sitting is None or sitting.state != SittingState.SUBMITTED:
        return NO_ANSWER
    if remote.answer.get("reference") != visit.reference:
        return NO_REFERENCE
    return ""


def _prove(visit: Visit, *, at: datetime) -> None:
    """The answers count from here on."""
    before, sitting = visit.state, visit.sitting
    Visit.objects.filter(pk=visit.pk).update(state=State.CONFIRMED, why="")
    visit.state = State.CONFIRMED
    if sitting is None:  # a compensation: there is nothing to count
        return
    submission.confirm(sitting, at=at)
    if before == State.UNCLAIMED and passes(visit):  # given up too early: what nobody has collected since counts
        ids = Annotation.objects.filter(assignment__sitting=sitting).values_list("pk", flat=True)
        exclusion.reinstate(sitting.study, ids, by=SYSTEM, why="The marketplace confirmed it.", at=at)


def quarantine(visit: Visit, why: str, *, at: datetime) -> None:
    """Keep what is not proven out of the count, where a person sees it. Its seats are given to others."""
    with transaction.atomic():
        changed = Visit.objects.filter(pk=visit.pk, state__in=UNPROVEN).update(state=State.QUARANTINED, why=why)
        if changed and visit.sitting_id:
            _set_aside(visit, why, at=at)
        if changed:
            study = visit.hit.batch.study
            record([event(study, "quarantined", by=SYSTEM, at=at, worker=visit.worker_id, why=why)])


def _give_up(hit: Hit, *, at: datetime) -> int:
    """Answers whose time at the marketplace ran out unseen: kept, shown, and collected again."""
    latest = at - timedelta(minutes=hit.batch.duration_minutes) - GRACE
    given_up = 0
    for visit in hit.visits.filter(state=State.LEFT, left_at__lt=latest, remote=""):
        with transaction.atomic():
            still = Visit.objects.filter(pk=visit.pk, state=State.LEFT, remote="")
            if still.update(state=State.UNCLAIMED, why=NEVER_SEEN):
                _set_aside(visit, NEVER_SEEN, at=at)
                given_up += 1
    return given_up


def _set_aside(visit: Visit, why: str, *, at: datetime) -> None:
    ids = Annotation.objects.filter(assignment__sitting=visit.sitting_id).values_list("pk", flat=True)
    exclusion.set_aside(visit.hit.batch.study, ids, Annotation.Why.EXCLUDED, by=SYSTEM, why=why, at=at)


def _is_sold_out(hit: Hit) -> bool:
    return not Hit.objects.filter(pk=hit.pk, unsold__gt=0).exists()


def _end(hit: Hit, mturk: MTurkClient, *, at: datetime) -> None:
    """Nothing can come any more, so nothing is held for it; unless the marketplace says that it is still offered."""
    if not _is_sold_out(hit):
        try:
            remote = mturk.get_hit(hit.hit_id or "")
        except NotThere:
            remote = None
        if remote and remote.status in ("Assignable", "Unassignable"):
            Hit.objects.filter(pk=hit.pk).update(expires_at=remote.expires_at)
            hit.expires_at = remote.expires_at
            return
    live = Hit.objects.filter(pk=hit.pk, state__in=[Hit.State.OPEN, Hit.State.ENDING])
    live.update(state=Hit.State.ENDED, unsold=0)
    hit.state = Hit.State.ENDED
    inviting.lapse(hit, at=at)


def _look_again(hit: Hit, at: datetime) -> None:
    """Soon while an answer is expected or money is on its way, seldom otherwise; never once nothing can change."""
    hit.refresh_from_db(fields=["state", "expires_at"])
    expected = hit.visits.filter(state=State.LEFT).exists()
    open_ones = [Payment.State.DUE, Payment.State.ASKED, Payment.State.ATTENTION]  # all of which may approve itself
    through_approval = [Payment.Kind.REWARD, Payment.Kind.COMPENSATION]
    unsettled = Payment.objects.filter(visit__hit=hit, kind__in=through_approval, state__in=open_ones).exists()
    live = hit.state in (Hit.State.OPEN, Hit.State.ENDING)
    when = at + OFTEN if expected else at + SELDOM if live or unsettled else None
    if when and not expected and hit.over_at and at < hit.over_at + GRACE < when:
        when = hit.over_at + GRACE + timedelta(seconds=1)
    Hit.objects.filter(pk=hit.pk).update(looked_at=at, look_at=when)


def live_hits(study: Study) -> list[int]:
    """HITs (ids) about which something may still change."""
    hits = Hit.objects.filter(batch__study=study, hit_id__isnull=False).exclude(state=Hit.State.DELETED)
    return list(hits.order_by("pk").values_list("pk", flat=True))


def tidy(study: Study, *, at: datetime) -> int:
    """Decide to delete HITs that are over and of which everything is reviewed; returns how many."""
    open_payments = [Payment.State.DUE, Payment.State.ASKED, Payment.State.ATTENTION]
    over = Hit.objects.filter(batch__study=study, state=Hit.State.ENDED, hit_id__isnull=False)
    over = over.exclude(visits__payments__state__in=open_payments).exclude(intents__kind="delete")
    hits = list(over.select_related("batch__study"))
    for hit in hits:
        publishing.delete_hit(hit, at=at)
    return len(hits)
