"""Reads that more than one place needs."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Exists, OuterRef, Q, Sum

from annotation import limits, qualification
from annotation.models import Annotation, Appeal, Attempt, Item, Qualification, Revocation, Sitting, Study, Try, Worker
from annotation.models.sittings import State
from annotation.protocols.base import Stage
from annotation.way_in import Step, next_step


@dataclass(frozen=True)
class Place:
    """Somewhere a worker may work, or is on the way to: one stage of one study.

    at_most, left: items that one person may do, and those they may still do (None: no limit). is_free: whether some
    seat is free. done: answers, hidden items among them, so that their number stays hidden. decided, upheld: of
    their answers, those others settled, and those that were upheld. earned: what submitted sittings pay. seconds:
    active ones. attempt: the last taking of the test. revocation: the last one, if it is in force or was lifted.
    """

    study: Study
    stage: Stage
    step: Step
    resumes: bool
    at_most: int | None
    left: int | None
    is_free: bool
    done: int
    decided: int = 0
    upheld: int = 0
    sittings: int = 0
    seconds: int = 0
    attempt: Attempt | None = None
    revocation: Revocation | None = None
    appeal: Appeal | None = None

    @property
    def revoked(self) -> bool:
        return self.step == Step.REVOKED

    @property
    def is_done_up(self) -> bool:
        """Whether one person may do no more here."""
        return self.left is not None and self.left < 1

    @property
    def earned(self) -> Decimal:
        return self.sittings * Decimal(str(self.study.options.get("pay_per_sitting", 0)))

    @property
    def hourly(self) -> Decimal | None:
        """What an hour of active time has paid; None where nothing is paid, or no time was taken."""
        if not (self.earned and self.seconds):
            return None
        return (self.earned * 3600 / self.seconds).quantize(Decimal("0.01"))

    @property
    def currency(self) -> str:
        return str(self.study.options.get("currency", "USD"))


def places_of(worker: Worker) -> list[Place]:
    """All of a worker's places, in nine queries."""
    found = Qualification.objects.filter(enrolment__worker=worker).select_related("enrolment__study")
    seats = Item.objects.filter(study=OuterRef("enrolment__study"), stage=OuterRef("stage"), open_seats__gt=0)
    in_part = seats.filter(part=OuterRef("enrolment__part"))
    found = found.annotate(is_free=Exists(seats), is_free_in_part=Exists(in_part))
    qualifications = list(found.order_by("-enrolment__created_at", "-enrolment_id", "pk"))
    studies = {q.enrolment.study_id for q in qualifications}
    places_taken = qualification.places_by_stage(studies)
    proven = Annotation.objects.filter(worker=worker, unproven=False)  # what others did in their name is not theirs
    mine = proven.exclude(uncounted__in=["practice", "test"])
    counted = mine.values_list("study", "stage").annotate(
        n=Count("pk"), decided=Count("upheld"), upheld_n=Count("pk", filter=Q(upheld=True))
    )
    answers = {(study, stage): rest for study, stage, *rest in counted.order_by()}
    times = proven.values_list("study", "stage").annotate(s=Sum("active_seconds"))
    seconds = {(study, stage): total or 0 for study, stage, total in times.order_by()}
    submitted = Sitting.objects.filter(worker=worker, state=State.SUBMITTED, purpose=Sitting.Purpose.WORK)
    unproven = Annotation.objects.filter(worker=worker, unproven=True).values("assignment__sitting")
    rows = submitted.exclude(pk__in=unproven).values_list("study", "stage").annotate(n=Count("pk")).order_by()
    sittings = {(study, stage): count for study, stage, count in rows}
    begun = set(Sitting.objects.filter(worker=worker, state=State.LEASED).values_list("study", "stage"))
    right = Try.objects.filter(item=OuterRef("pk"), enrolment__worker=worker, is_right=True)
    practice = Item.objects.filter(study__in=studies, role=Item.Role.PRACTICE, gold__isnull=False)
    unlearnt = set(practice.exclude(Exists(right)).order_by().values_list("study", flat=True).distinct())
    attempts = {a.qualification_id: a for a in Attempt.objects.filter(qualification__in=qualifications).order_by("pk")}
    told = [Revocation.State.IN_FORCE, Revocation.State.RESTORED]
    revocations = Revocation.objects.filter(enrolment__worker=worker, state__in=told).order_by("pk")
    revoked = {r.enrolment_id: r for r in revocations.select_related("appeal")}
    places = []
    for q in qualifications:
        study, key = q.enrolment.study, (q.enrolment.study_id, q.stage)
        done, decided, upheld = answers.get(key, (0, 0, 0))
        revocation = revoked.get(q.enrolment_id)
        most = int(study.options.get("max_qualified", 0))
        is_full = bool(most) and places_taken.get(key, 0) >= most
        stage = study.protocol.stage(q.stage)
        part = q.enrolment.part if stage.binds else ""
        places.append(
            Place(
                study,
                stage,
                next_step(q, study, practice_left=study.pk in unlearnt, is_full=is_full),
                key in begun,
                limits.most(study) if stage.binds or not study.protocol.part else None,
                limits.left(q.enrolment, study, q.stage, part),
                q.is_free_in_part if part else q.is_free,
                done,
                decided,
                upheld,
                sittings.get(key, 0),
                seconds.get(key, 0),
                attempts.get(q.pk),
                revocation,
                getattr(revocation, "appeal", None),
            )
        )
    return places
