"""What excluding people would cost, and doing it: whom rules find, which items fall below, how gold changes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db.models import Count

from annotation import exclusion, revocation
from annotation.errors import Refusal
from annotation.exclusion import Effect, Progress
from annotation.intake import batched
from annotation.models import Annotation, Enrolment, Item, Sitting, Study
from annotation.models.sittings import State as SittingState
from annotation.progress import seats_of, wanted
from annotation.protocols.base import Collect, Counted, Cuts, Labelling, Measure, Settle, Step, Unresolved
from validation import labelling
from validation.agreement import Estimate, estimate, leave_out
from validation.models import Resolution, Score, Tally
from validation.rules import RULES, first_met, stricter, thresholds_of
from validation.tallies import histogram, profile_from, profile_of, votes_of

CHUNK = 5_000
OUT = exclusion.FROM[Annotation.Why.EXCLUDED]  # what excluding takes out


class BadRules(Refusal):
    code, status = "bad_rules", 422


class Everybody(Refusal):
    code, status = "everybody", 422
    sentence = "These rules would exclude everybody who has answered, so nothing would be left. Choose milder ones."


@dataclass(frozen=True)
class State:
    """A study as it stands, or would: settled items by label, and how far the first stage's answers agree."""

    labels: Mapping[str, int]
    agreement: Estimate

    @property
    def gold(self) -> int:
        return sum(self.labels.values())


@dataclass(frozen=True)
class Plan:
    """What a set of rules would do. found: enrolment id -> why. changed: items whose gold goes or becomes another.

    seats: those that would be opened. cost: of these, at the study's pay.
    """

    rules: Mapping[str, float]
    found: Mapping[int, str]
    annotations: int
    items_below: int
    seats: int
    cost: Decimal
    currency: str
    before: State
    after: State
    changed: int = field(default=0)

    @property
    def workers(self) -> int:
        return len(self.found)

    def as_dict(self) -> dict[str, object]:
        """What `manage.py recollect` prints."""
        return {
            "workers": self.workers,
            "annotations": self.annotations,
            "items_below": self.items_below,
            "seats": self.seats,
            "cost": float(self.cost),
        }


def read_rules(given: Mapping[str, object]) -> dict[str, float]:
    """Thresholds by the names of rules. Raises BadRules, saying what would be right."""
    rules = {}
    for name, value in given.items():
        if name not in RULES:
            raise BadRules(f"There is no rule {name!r}. There are: {', '.join(RULES)}.")
        try:
            rules[name] = float(str(value))
        except ValueError:
            rules[name] = -1.0
        if not 0 <= rules[name] <= 1:
            raise BadRules(f"{name} is a share from 0 to 1; it was {value!r}.")
    return rules


def find(study: Study, rules: Mapping[str, float]) -> dict[int, str]:
    """Enrolment id -> why, of everybody whom the rules find by their scores and whose work would leave."""
    after = int(study.options.get("revoke_after", 20))
    scores = Score.objects.filter(study=study).exclude(enrolment__state=Enrolment.State.WITHDRAWN).order_by("pk")
    found: dict[int, str] = {}
    for score in scores:
        if why := first_met(score, rules, after)[1]:
            found.setdefault(score.enrolment_id, why)
    return found


def plan(study: Study, rules: Mapping[str, float]) -> Plan:
    """Nothing is changed. Reads the rows of the items concerned alone. Raises Everybody.

    Scores are taken as they are: refresh them before (`quality.refresh`).
    """
    found = find(study, rules)
    workers = set(Enrolment.objects.filter(pk__in=found).values_list("worker", flat=True))
    _refuse_everybody(study, workers)
    gone = Annotation.objects.filter(OUT, study=study, worker__in=workers)
    effect = _think_away(study, gone.values_list("item", flat=True), workers)
    profiles = Counter(_profiles(study))
    before = State(_labels(study), _agreement(study, profiles))
    labels = Counter(before.labels)
    labels.subtract(effect.labels_before)
    labels.update(effect.labels_after)
    profiles.subtract(effect.profiles_before)
    profiles.update(effect.profiles_after)
    after = State({label: n for label, n in labels.items() if n}, _agreement(study, profiles))
    return Plan(
        rules=dict(rules),
        found=found,
        annotations=gone.count(),
        items_below=effect.below,
        seats=effect.seats,
        cost=_cost(study, effect.seats),
        currency=str(study.options.get("currency", "USD")),
        before=before,
        after=after,
        changed=effect.changed,
    )


@dataclass(frozen=True)
class Preview:
    """What revoking some people with a choice for their work would do."""

    workers: int
    sittings: int
    annotations: int
    items_below: int
    seats: int
    cost: Decimal
    changed: int

    def as_dict(self) -> dict[str, object]:
        return {**vars(self), "cost": float(self.cost)}


def preview(study: Study, enrolments: Sequence[Enrolment], work: str) -> Preview:
    """Nothing is changed. Of kept work nothing leaves; for held work no seat opens. Raises Everybody."""
    workers = {e.worker_id for e in enrolments}
    sittings = Sitting.objects.filter(study=study, worker__in=workers, state=SittingState.LEASED).count()
    if work == "keep":
        return Preview(len(enrolments), sittings, 0, 0, 0, Decimal("0.00"), 0)
    leaving = exclusion.FROM[Annotation.Why.EXCLUDED if work == "exclude" else Annotation.Why.HELD]
    gone = Annotation.objects.filter(leaving, study=study, worker__in=workers)
    if work == "exclude":
        _refuse_everybody(study, workers)
    effect = _think_away(study, gone.values_list("item", flat=True), workers)
    seats = effect.seats if work == "exclude" else 0
    cost = _cost(study, seats)
    return Preview(len(enrolments), sittings, gone.count(), effect.below, seats, cost, effect.changed)


def _cost(study: Study, seats: int) -> Decimal:
    pay = Decimal(str(study.options.get("pay_per_sitting", 0)))
    return (pay * seats / int(study.options["items_per_sitting"])).quantize(Decimal("0.01"))


def compare(study: Study) -> dict[str, Plan | Refusal]:
    """The study as it is, under its own rules, and under stricter ones, side by side."""
    declared = thresholds_of(study.declared or study.options)
    found: dict[str, Plan | Refusal] = {}
    for name, rules in (("none", {}), ("declared", declared), ("stricter", stricter(declared))):
        try:
            found[name] = plan(study, rules)
        except Everybody as refusal:
            found[name] = refusal
    return found


def apply(
    study: Study,
    rules: Mapping[str, float],
    *,
    by: str,
    why: str,
    at: datetime,
    progress: Progress = lambda done, total: None,
) -> Effect:
    """Revoke whom the rules find, where they are active, and exclude their work; only missing seats are opened.

    May be called again: whoever is out is out, and what is excluded stays so. Raises Everybody, or ReasonNeeded.
    """
    found = find(study, rules)
    enrolments = list(Enrolment.objects.filter(pk__in=found).select_related("worker", "study").order_by("pk"))
    workers = {e.worker_id for e in enrolments}
    _refuse_everybody(study, workers)
    for enrolment in enrolments:
        if enrolment.state == Enrolment.State.ACTIVE:
            reason = f"{why.strip()} {found[enrolment.pk]}" if why.strip() else ""
            revocation.revoke(enrolment, why=reason, work="exclude", by=by, at=at)
    gone = Annotation.objects.filter(OUT, study=study, worker__in=workers)
    pks = list(gone.values_list("pk", flat=True))
    return exclusion.set_aside(study, pks, Annotation.Why.EXCLUDED, by=by, why=why, at=at, progress=progress)


def _refuse_everybody(study: Study, workers: set[int]) -> None:
    counted = Annotation.objects.filter(study=study, uncounted="")
    if workers and not counted.exclude(worker__in=workers).exists():
        raise Everybody


# --- Thinking people away ------------------------------------------------------------------------


@dataclass
class _Difference:
    """What thinking people away changes, over all items they are on."""

    below: int = 0
    seats: int = 0
    changed: int = 0
    labels_before: Counter[str] = field(default_factory=Counter)
    labels_after: Counter[str] = field(default_factory=Counter)
    profiles_before: Counter[tuple[int, ...]] = field(default_factory=Counter)
    profiles_after: Counter[tuple[int, ...]] = field(default_factory=Counter)


def _think_away(study: Study, items: Iterable[int], workers: set[int]) -> _Difference:
    found = _Difference()
    measure, rule = _measure(study), study.protocol.labelling
    cuts = labelling.cuts_of(labelling.calibrations(study, rule, study.options, workers), study.options) if rule else {}
    items = set(items)
    for chunk in batched(sorted(set(items)), CHUNK):
        rows = list(Item.objects.filter(pk__in=chunk).only("payload", "open_seats", "ruling").order_by("pk"))
        then = seats_of(rows, without=workers)
        labels = dict(Resolution.objects.filter(item__in=chunk, outcome="settled").values_list("item", "label"))
        for item in rows:
            step = study.protocol.step(item.payload, then[item.pk].counted, study.options, item.ruling)
            _, _, _, seats = wanted(step, then[item.pk].taken)
            if rule and isinstance(step, Settle):
                step = rule.label(step.gold, cuts)
            found.below += isinstance(step, Collect)
            found.seats += max(0, seats - item.open_seats)
            if item.pk in labels:
                found.labels_before[labels[item.pk]] += 1
            if isinstance(step, Settle):
                found.labels_after[step.label] += 1
            found.changed += labels.get(item.pk) != _label(step)
            if rule and isinstance(step, Settle | Unresolved) and measure:
                found.profiles_after[votes_of(measure, rule.labels(step.gold))] += 1
            elif measure and not measure.study_wide:
                _add_profile(found.profiles_after, measure, study, then[item.pk].counted)
        if measure and not rule:
            there = Tally.objects.filter(item__in=chunk, stage=study.protocol.stages[0].name, measure=measure.name)
            for profile, n in there.values_list("profile").annotate(n=Count("*")).order_by():
                found.profiles_before[profile_from(profile)] += n
    if rule:
        _label_others(study, rule, cuts, items, found)
    return found


def _label_others(
    study: Study, rule: Labelling, cuts: Mapping[int, Cuts], items: Collection[int], found: _Difference
) -> None:
    """Without somebody's fillers everybody's thresholds are others, and so may be the labels of any item."""
    measure = study.protocol.stage(rule.stage).measure(rule.measure)
    for row in labelling.resolutions(study):
        gold = row.gold or {}
        if not (labels := rule.labels(gold)):
            continue
        found.profiles_before[votes_of(measure, labels)] += 1
        if row.item_id not in items:
            step = rule.label(gold, cuts)
            found.profiles_after[votes_of(measure, rule.labels(step.gold))] += 1
            if labelling.label_of(step) != row.label:
                found.changed += 1
                found.labels_before.update([row.label] if row.label else [])
                found.labels_after.update([step.label] if isinstance(step, Settle) else [])


def _label(step: Step) -> str | None:
    return step.label if isinstance(step, Settle) else None


def _measure(study: Study) -> Measure | None:
    return next(iter(study.protocol.stages[0].measures), None)


def _add_profile(
    profiles: Counter[tuple[int, ...]], measure: Measure, study: Study, counted: Sequence[Counted]
) -> None:
    answers = [c.answer for c in counted if c.stage == study.protocol.stages[0].name]
    if answers:
        profiles[profile_of(measure, answers)] += 1


def _labels(study: Study) -> dict[str, int]:
    rows = Resolution.objects.filter(study=study, outcome="settled").values_list("label").annotate(n=Count("*"))
    return dict(rows.order_by())


def _profiles(study: Study) -> Mapping[tuple[int, ...], int]:
    measure = _measure(study)
    return histogram(study, study.protocol.stages[0].name, measure.name) if measure else {}


def _agreement(study: Study, profiles: Mapping[tuple[int, ...], int]) -> Estimate:
    measure = _measure(study)
    there = {profile: n for profile, n in profiles.items() if n > 0}
    left_out = [measure.categories.index(c) for c in measure.left_out] if measure else []
    compared, _ = leave_out(there, left_out)
    return estimate(compared, "krippendorff_alpha", level=measure.level) if measure else estimate({}, "fleiss_kappa")
