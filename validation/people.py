"""The people of a study with their numbers, read off their scores in a fixed number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from annotation.errors import Refusal
from annotation.models import Enrolment, Qualification, Revocation, Study
from annotation.revocation import enrolment_of
from validation.models import Score
from validation.quality import COUNTED


class UnknownWorker(Refusal):
    code, status = "unknown_worker", 404


def find(study: Study, worker: str) -> Enrolment:
    """By running code or the team's own name. Raises UnknownWorker."""
    try:
        return enrolment_of(study, worker)
    except Enrolment.DoesNotExist:
        raise UnknownWorker(f"There is no worker {worker!r} in this study.") from None


@dataclass
class Person:
    """A worker of a study. scores: by stage, of those they answered in. share: of all the study's answers."""

    enrolment: Enrolment
    stages: list[str]
    scores: dict[str, Score] = field(default_factory=dict)
    share: float = 0.0
    proposal: Revocation | None = None

    @property
    def main(self) -> Score | None:
        """The score in the stage of most answers: what the table of workers shows."""
        return max(self.scores.values(), key=lambda s: s.annotations, default=None)

    @property
    def annotations(self) -> int:
        return sum(score.annotations for score in self.scores.values())

    def as_dict(self) -> dict[str, object]:
        """What `manage.py workers` prints; shares over all stages, the median of the main one."""
        total = pooled(self.scores.values())
        return {
            "worker": self.enrolment.running_code,
            "stages": self.stages,
            "state": self.enrolment.state,
            "annotations": self.annotations,
            "gold_accuracy": _rounded(total.gold_accuracy),
            "filler_accuracy": _rounded(total.filler_accuracy),
            "invalid_share": _rounded(total.invalid_share),
            "invalid_share_of_judged": _rounded(total.invalid_share_of_judged),
            "median_seconds": self.main.median_seconds if self.main else None,
            "share_of_study": _rounded(self.share),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def pooled(scores: Iterable[Score]) -> Score:
    """Counts of several stages together; not to be saved."""
    scores = list(scores)
    return Score(**{name: sum(getattr(score, name) for score in scores) for name in COUNTED})


def people_of(study: Study) -> list[Person]:
    """Everybody, by running code, in four queries."""
    enrolments = study.enrolments.select_related("worker").prefetch_related("qualifications")
    people = {e.pk: Person(e, _stages(study, e)) for e in enrolments}
    for person in people.values():
        person.enrolment.study = study  # known, so nobody needs to fetch it
    for score in Score.objects.filter(study=study):
        people[score.enrolment_id].scores[score.stage] = score
    for proposal in Revocation.objects.filter(enrolment__study=study, state=Revocation.State.PROPOSED):
        people[proposal.enrolment_id].proposal = proposal
    total = sum(person.annotations for person in people.values())
    for person in people.values():
        person.share = person.annotations / total if total else 0.0
    return list(people.values())


def _stages(study: Study, enrolment: Enrolment) -> list[str]:
    """Those they may work in, in the protocol's order; the qualifications were fetched before."""
    may = {q.stage for q in enrolment.qualifications.all() if q.state == Qualification.State.QUALIFIED}
    return [stage.name for stage in study.protocol.stages if stage.name in may]


def scored_at(people: Iterable[Person]) -> datetime | None:
    """When the numbers were last counted."""
    return max((score.scored_at for person in people for score in person.scores.values()), default=None)
