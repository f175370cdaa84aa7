"""Run a whole collection on a copy, against the own marketplace, with a crowd that does not exist: what will it cost?

`rehearse` copies a study into a folder that is thrown away, starts a site of its own on it, and has another process
play everybody there (`Rehearsal`): the team, by the functions its pages and commands call, and the crowd, over HTTP.
"""

import json
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from hashlib import sha256
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from annotation import fitting, leasing, qualification, revocation, way_in
from annotation.models import Annotation, Assignment, Enrolment, Event, Item, Qualification, Revocation, Sitting, Study
from annotation.protocols.base import Protocol
from hits import forecast, payments, places, pricing, publishing, spending, sweeping, throwaway, wages
from hits.cast import (
    DAY,
    HOUR,
    MEDIAN_SECONDS,
    MINUTE,
    OPENING,
    Kind,
    Timeline,
    after_refusals,
    cast,
    day_of,
    there_from,
    tomorrow,
)
from hits.crowd import Outcome, Site, Task, Visited, Worker
from hits.errors import BadTerms
from hits.forecast import Bought
from hits.models import Batch, Budget, MarketWorker, Payment
from hits.publishing import Terms
from validation import labelling, quality
from validation.models import Resolution
from validation.queries import agreement_of

BY = "rehearsal"
MOST_ITEMS = 200
MOST_WORKERS = 500
MOST_DAYS = 60
LOOKS = 12 * HOUR  # between two looks of the team
PAUSE, TRIES_AGAIN = 2 * MINUTE, HOUR  # of a person, between two HITs, and where there is none
PATIENCE = 4  # looks in a row without any work, after which the rehearsal gives up; half of it, and HITs are made anew
WHY = "The study's rule was met in a rehearsal."
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Asked:
    """What is rehearsed. rewards: dollars by stage, as text. target: of an hour's pay, to which bonuses lift; or ""."""

    workers: int = 30
    seed: int = 7
    rewards: Mapping[str, str] = field(default_factory=dict)
    per_hit: int = pricing.SEATS
    target: str = ""


# --- Outside: in the researcher's own installation, of which everything is only read ---------------------


def rehearse(
    study: Study,
    *,
    workers: int = 30,
    seed: int = 7,
    reward: Decimal | None = None,
    stage_rewards: Mapping[str, Decimal] | None = None,
    items: int = MOST_ITEMS,
    per_hit: int = pricing.SEATS,
    target: Decimal | None = None,
    fees: str = "",
) -> dict[str, Any]:
    """The forecast, as JSON; the same for the same study and arguments. Raises BadTerms, or throwaway.Broken.

    items: of a study with more so many are drawn. target: dollars an hour; the study's own unless given.
    fees: "none" or "mturk"; as the settings say unless given.
    """
    for name, value, most in (("workers", workers, MOST_WORKERS), ("items", items, 100_000), ("seats", per_hit, 100)):
        if not 1 <= value <= most:
            raise BadTerms(f"The {name} must be from 1 to {most:,}; it was {value:,}.")
    work = Item.objects.filter(study=study, role=Item.Role.WORK).count()
    if not work:
        raise BadTerms("This study has no items, so there is nothing to rehearse.")
    paid = rewards_of(study, reward, stage_rewards or {})
    for stage, amount in paid.items():
        publishing.check(study, Terms(stage=stage, sittings=1, reward=amount, per_hit=per_hit))
    budget = Budget.objects.filter(study=study).first()
    aim = target if target is not None else budget and budget.target_hourly
    # No HIT with more seats than a third of the crowd: nobody can take a HIT twice.
    asked = Asked(
        workers, seed, {s: str(a) for s, a in paid.items()}, min(per_hit, max(1, workers // 3)), str(aim or "")
    )
    copy = throwaway.copy_of(study, most=items, seed=seed) | {"asked": vars(asked)}
    result = _played(copy, study.slug, fees or settings.MTURK_FEES)
    free = spending.left(study)
    spent, took = Decimal(result["money"]["total"]), result["time"]["days"]
    result["in_full"] = forecast.in_full(spent, took, min(items, work), work)
    result["budget_left"] = None if free is None else f"{free:.2f}"
    return result


def _played(copy: Mapping[str, Any], slug: str, fees: str) -> dict[str, Any]:
    with throwaway.folder_with(copy) as folder:
        around = throwaway.environment(folder, fees)
        with throwaway.site(around) as address:
            said = throwaway.run(["rehearse", slug, "--in", str(folder)], around | {"SITE_URL": address})
    return dict(json.loads(said))


def rewards_of(study: Study, reward: Decimal | None, stage_rewards: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Of one sitting in each stage: as asked; as the newest batch pays; as the study says; or the usual wage.

    Raises BadTerms for a stage that there is not.
    """
    stages = [stage.name for stage in study.protocol.stages]
    if unknown := [name for name in stage_rewards if name not in stages]:
        raise BadTerms(f"This study has no stage {unknown[0]!r}; it has {', '.join(stages)}.")
    newest = {batch.stage: batch.reward for batch in Batch.objects.filter(study=study).order_by("pk")}
    own = pricing.cents(Decimal(str(study.options.get("pay_per_sitting") or 0)))
    usual = own or forecast.usual_reward(int(study.options["items_per_sitting"]))
    return {name: stage_rewards.get(name) or reward or newest.get(name) or usual for name in stages}


# --- Inside: in the folder that is thrown away --------------------------------------------------------------


def play(folder: Path, *, progress: Progress = lambda done, total: None) -> dict[str, Any]:
    """The rehearsal itself. Raises NotACopy outside of a folder that `rehearse` made."""
    throwaway.check(folder)
    throwaway.end_with_starter()
    copy = json.loads((folder / throwaway.STUDY).read_text(encoding="utf-8"))
    study = throwaway.load(copy, by=BY, at=timezone.now())
    keys = _told("requester", BY, "--deposit", "1000000.00")
    settings.MTURK_ACCESS_KEY, settings.MTURK_SECRET_KEY = keys["access_key"], keys["secret_key"]
    rehearsal = Rehearsal(study, Asked(**copy["asked"]), progress)
    try:
        rehearsal.run()
    finally:
        rehearsal.site.close()
    return rehearsal.result()


def _told(*command: str) -> dict[str, str]:
    """What a command of the marketplace prints: it stands alone, so nothing of it is imported."""
    said = StringIO()
    call_command(*command, stdout=said)
    return dict(json.loads(said.getvalue()))


def worker_id(seed: int, number: int) -> str:
    """An id that follows from the seed: what is hidden in a sitting is drawn from it."""
    digits = int.from_bytes(sha256(f"{seed} worker {number}".encode()).digest())
    return "A" + "".join(ALPHABET[digits // len(ALPHABET) ** n % len(ALPHABET)] for n in range(13))


class Rehearsal:
    """The team and the crowd on one timeline. Also the crowd's `World`."""

    def __init__(self, study: Study, asked: Asked, progress: Progress) -> None:
        self.study, self.asked, self.progress = study, asked, progress
        self.protocol: Protocol = study.protocol
        self.stages = [stage.name for stage in study.protocol.stages]
        self.trains = qualification.practice(study).exists() or qualification.questions(study).exists()
        self.site = Site(settings.SITE_URL)
        self.time = Timeline()
        self.batches: dict[str, Batch] = {}
        self.crowd: list[Worker] = []
        self.came: set[int] = set()
        self.outcomes: Counter[str] = Counter()
        self.last_answer = 0.0
        self.visits_at_look, self.idle_looks = -1, 0
        self.is_over, self.unfinished = False, ""
        self.work = Item.objects.filter(study=study, role=Item.Role.WORK).count()

    def run(self) -> None:
        for person in cast(self.asked.workers, self.asked.seed):
            made = _told(
                "marketplace_worker", f"person {person.number}", "--id", worker_id(self.asked.seed, person.number)
            )
            self.crowd.append(Worker(person, made["worker_id"], made["token"], Random(person.key)))
        self.time.at(0, self.look)
        for worker in self.crowd:
            self.time.at(there_from(worker.person, 0), partial(self.search, worker))
        self.time.run(lambda: self.is_over)
        self.settle()

    # --- The crowd's world

    def task(self, assignment: int) -> Task:
        row = Assignment.objects.select_related("item", "sitting").get(pk=assignment)
        judged = Annotation.objects.in_bulk(row.judges)
        shown = [judged[pk].answer for pk in row.judges]
        payload = fitting.seen(self.protocol.stage(row.stage), row)
        return Task(row.sitting_id, row.sitting.purpose, row.stage, payload, row.item.gold, shown)

    def let_pass(self, sitting: int, seconds: float) -> None:
        """The clock does not run with the simulated time: the sitting is dated back, so that the time that the page
        counts is believed.
        """
        row = Sitting.objects.get(pk=sitting)
        Sitting.objects.filter(pk=sitting).update(opened_at=row.opened_at - timedelta(seconds=seconds))

    # --- What people do

    def search(self, worker: Worker) -> None:
        """Look for a HIT, take one of those that are listed, and do it; or come again later."""
        found = worker.listed(self.site)
        if found:
            self.came.add(worker.person.number)
            self.step(worker, worker.visit(self.site, worker.rng.choice(found), self))
        else:
            self.time.at(there_from(worker.person, self.time.now + TRIES_AGAIN), partial(self.search, worker))

    def step(self, worker: Worker, visit: Generator[float, None, Visited]) -> None:
        """On to where the visit waits next."""
        try:
            self.time.after(next(visit), partial(self.step, worker, visit))
        except StopIteration as ended:
            self.ended(worker, ended.value)

    def ended(self, worker: Worker, visited: Visited) -> None:
        self.outcomes[visited.outcome] += 1
        worker.refusals += 1
        if visited.outcome == Outcome.SUBMITTED:
            self.last_answer, worker.refusals = self.time.now, 0
            worker.on[day_of(worker.person, self.time.now)] += 1
            self.sweep()
        if visited.sitting is not None:
            lease = float(self.study.options["lease_minutes"]) * MINUTE
            self.time.after(lease, partial(self.lapse, visited.sitting))
        if visited.outcome == Outcome.VANISHED:
            duration = Terms.duration_minutes * MINUTE
            self.time.after(duration, partial(self.run_out, worker, visited.assignment))
        if not worker.is_gone:
            self.time.at(self.back(worker), partial(self.search, worker))

    def back(self, worker: Worker) -> float:
        """When they look for the next HIT."""
        person, now = worker.person, self.time.now
        if worker.refusals:
            return there_from(person, now + after_refusals(worker.refusals))
        is_enough = worker.on[day_of(person, now)] >= person.a_day
        return tomorrow(person, now) if is_enough else there_from(person, now + PAUSE)

    def lapse(self, sitting: int) -> None:
        """The lease of a sitting that somebody left runs out."""
        now = timezone.now()
        Sitting.objects.filter(pk=sitting).update(leased_until=now - timedelta(seconds=1))
        leasing.expire(at=now, study=self.study)

    def run_out(self, worker: Worker, assignment: str) -> None:
        """The deadline of somebody who vanished passes; the marketplace's clock does not, so it is given back."""
        self.site.api("POST", f"assignments/{assignment}/return/", worker.token)

    # --- What the team does

    def sweep(self) -> None:
        """What beat does every few seconds: see what was submitted, count it, pay for it."""
        sweeping.sweep()
        self.progress(self.work - self.open_items(), self.work)

    def open_items(self) -> int:
        return Item.objects.filter(study=self.study, role=Item.Role.WORK, state=Item.State.OPEN).count()

    def look(self) -> None:
        """Twice a day: read tests, hold people to the rules, offer what is missing; or see that all is done."""
        now = timezone.now()
        self.sweep()
        self.read_tests(now)
        self.judge(now)
        self.vouch(now)
        labelling.refresh(self.study, at=now)
        begun = sum(self.outcomes.values())
        self.idle_looks = self.idle_looks + 1 if begun == self.visits_at_look else 0
        self.visits_at_look = begun
        if not self.open_items():
            self.is_over = True
        elif self.idle_looks >= PATIENCE or self.time.now > MOST_DAYS * DAY:
            self.is_over, self.unfinished = True, self.why_unfinished()
        else:
            if self.idle_looks == PATIENCE // 2:
                self.close_batches(now)
            self.supply(now)
            self.time.after(LOOKS, self.look)
        sweeping.carry_out()

    def why_unfinished(self) -> str:
        return (
            f"{self.open_items():,} items are still open after {forecast.days(self.time.now)} days: nobody of this "
            "crowd may take them, or comes any more. More people, or milder limits, would help."
        )

    def read_tests(self, now: datetime) -> None:
        """As a person who reads the writings of a test: whoever wrote the same twice fails."""
        for attempt in way_in.waiting(self.study):
            stage = self.protocol.stage(attempt.qualification.stage)
            answers = Annotation.objects.filter(assignment__sitting=attempt.sitting).order_by("pk")
            texts = [text for row in answers for text in stage.texts(row.answer)]
            passed = len(texts) == len(set(texts))
            qualification.decide(attempt, passed=passed, by=BY, why="The writings were read.", at=now)

    def judge(self, now: datetime) -> None:
        """Hold everybody against the study's rules, and do what they propose: their work is collected again."""
        quality.judge(self.study, quality.refresh(self.study, at=now, everybody=True), at=now)
        proposals = Revocation.objects.filter(enrolment__study=self.study, state=Revocation.State.PROPOSED)
        for proposal in proposals.select_related("enrolment__study", "enrolment__worker").order_by("enrolment__number"):
            revoked = revocation.revoke(proposal.enrolment, why=proposal.why or WHY, work="exclude", by=BY, at=now)
            revocation.apply_work(revoked, by=BY, at=now)

    def vouch(self, now: datetime) -> None:
        """The test is one of the first stage. Who passed it may work in the later ones too."""
        if not self.trains:
            return
        first, later = self.stages[0], self.stages[1:]
        through = Qualification.objects.filter(
            enrolment__study=self.study,
            enrolment__state=Enrolment.State.ACTIVE,
            stage=first,
            state=Qualification.State.QUALIFIED,
        )
        for row in through.select_related("enrolment__worker").order_by("enrolment__number"):
            if later and row.enrolment.qualifications.count() <= len(later):
                qualification.qualify(row.enrolment.worker, self.study, later, by=BY, at=now)
        sweeping.follow(self.study, places.here(), at=now)

    def supply(self, now: datetime) -> None:
        """Offer the sittings that are missing: at first all of the first stage, later what others and rules opened."""
        for stage in self.stages:
            missing = publishing.missing(self.study)[stage]
            if not missing:
                continue
            batch = self.batches.get(stage)
            if batch:
                publishing.top_up(batch, missing, by=BY, at=now)
                continue
            terms = Terms(
                stage=stage,
                sittings=missing,
                reward=Decimal(self.asked.rewards[stage]),
                per_hit=self.asked.per_hit,
                open_to=Batch.OpenTo.QUALIFIED if self.trains and stage != self.stages[0] else Batch.OpenTo.ANYONE,
            )
            self.batches[stage] = publishing.publish(self.study, terms, by=BY, at=now)

    def close_batches(self, now: datetime) -> None:
        """Nobody takes what is offered, perhaps because everybody had these HITs: end them, and offer new ones."""
        for batch in self.batches.values():
            publishing.end(batch, by=BY, at=now)
        self.batches.clear()

    def settle(self) -> None:
        """End what is offered, pay what waits, and lift everybody to the target."""
        now = timezone.now()
        self.close_batches(now)
        sweeping.carry_out()
        sweeping.reconcile(self.study)
        for payment in payments.proven(self.study):
            payments.approve(payment, by=BY, at=now)
        if self.asked.target:
            drafts = wages.topups(self.study, Decimal(self.asked.target))
            wages.decide(self.study, drafts, by=BY, at=now)
        sweeping.carry_out()
        sweeping.reconcile(self.study)
        labelling.refresh(self.study, at=now)

    # --- What it comes to

    def result(self) -> dict[str, Any]:
        study = self.study
        spread = wages.spread(wages.wages(study))
        seconds = sum(wage.seconds for wage in wages.wages(study))
        return {
            "study": study.slug,
            "protocol": study.protocol_slug,
            "seed": self.asked.seed,
            "rewards": {stage: f"{Decimal(self.asked.rewards[stage]):.2f}" for stage in self.stages},
            "money": forecast.money(self.bought(), self.stages),
            "unpaid": Payment.objects.filter(study=study).exclude(state=Payment.State.PAID).count(),
            "time": {
                "days": forecast.days(self.last_answer),
                "hours_of_work": round(seconds / HOUR, 1),
            },
            "pay": {
                "people": spread.people,
                "median": None if spread.median is None else f"{spread.median:.2f}",
                "tenth": None if spread.tenth is None else f"{spread.tenth:.2f}",
                "target": self.asked.target or None,
            },
            "agreement": [self.agreement(stage.name, stage.measures[0].name) for stage in self.protocol.stages],
            "people": self.people(),
            "visits": dict(sorted(self.outcomes.items())),
            "collected_again": Event.objects.filter(study=study, what="excluded", item__isnull=False).count(),
            "items": self.items(),
            "unfinished": self.unfinished,
            "assumed": self.assumed(),
        }

    def bought(self) -> list[Bought]:
        revoked = set(self.revoked().values_list("worker", flat=True))
        rows = Payment.objects.filter(study=self.study).select_related("batch", "sitting").order_by("pk")
        return [
            Bought(
                row.batch.stage if row.batch else "",
                row.kind,
                row.amount,
                row.fee,
                is_test=bool(row.sitting and row.sitting.purpose == Sitting.Purpose.TEST),
                is_wasted=row.worker_id in revoked,
            )
            for row in rows
        ]

    def revoked(self) -> Any:
        return self.study.enrolments.filter(state=Enrolment.State.REVOKED)

    def agreement(self, stage: str, measure: str) -> dict[str, Any]:
        found = agreement_of(self.study, stage, measure)
        alpha = found.krippendorff_alpha
        return {
            "stage": stage,
            "measure": measure,
            "percent": _rounded(found.percent_agreement.value),
            "value": _rounded(alpha.value),
            "low": _rounded(alpha.low),
            "high": _rounded(alpha.high),
            "items": alpha.items,
        }

    def people(self) -> dict[str, Any]:
        """revoked: by what they truly are, which no real run tells."""
        kinds = {worker.worker_id: worker.person.kind for worker in self.crowd}
        came = Counter(worker.person.kind for worker in self.crowd if worker.person.number in self.came)
        out = MarketWorker.objects.filter(worker__in=self.revoked().values("worker"))
        revoked = Counter(kinds[row.remote_worker] for row in out)
        rules = Counter(
            Revocation.objects.filter(enrolment__study=self.study, state="in force").values_list("rule", flat=True)
        )
        return {
            "all": len(self.crowd),
            "came": len(self.came),
            "kinds": {kind: came[kind] for kind in Kind},
            "revoked": {kind: revoked[kind] for kind in Kind if revoked[kind]},
            "by_rule": dict(sorted(rules.items())),
            "sloppy_not_found": came[Kind.SLOPPY] - revoked[Kind.SLOPPY],
        }

    def items(self) -> dict[str, Any]:
        work = Item.objects.filter(study=self.study, role=Item.Role.WORK)
        states = Counter(work.values_list("state", flat=True))
        settled = Resolution.objects.filter(study=self.study, outcome="settled", item__gold__isnull=False)
        pairs = [(label, dict(gold or {}).get("label")) for label, gold in settled.values_list("label", "item__gold")]
        known = [(label, truth) for label, truth in pairs if truth]
        labels = Counter(Resolution.objects.filter(study=self.study, outcome="settled").values_list("label", flat=True))
        return {
            "rehearsed": self.work,
            **{state: states[state] for state in Item.State.values},
            "labels": dict(sorted(labels.items())),
            "gold_known": len(known),
            "gold_right": _rounded(sum(a == b for a, b in known) / len(known)) if known else None,
        }

    def assumed(self) -> Sequence[str]:
        kinds = Counter(worker.person.kind for worker in self.crowd)
        crowd = ", ".join(f"{kinds[kind]} {kind}" for kind in Kind)
        lines = [
            f"The crowd is {crowd}; an answer takes {MEDIAN_SECONDS:g} s in the median, more or less by person.",
            "Everybody comes for some minutes to four hours on most days, in time zones of their own, and does some "
            "three sittings a day (sloppy people more); they find the study within some ten hours. Days are counted on "
            "this made-up schedule, not measured.",
            f"The team looks every {LOOKS / HOUR:g} hours, from {OPENING} o'clock on the first day: it revokes whom a "
            "rule proposes, has their work collected again, and offers what is missing.",
            "Everything is collected from the beginning. Revoked people are paid for what they did.",
        ]
        if self.trains:
            lines.append("Everybody takes care in practice and test. Who passes the test may work in every stage.")
        if any(worker.person.kind == Kind.LEAVING for worker in self.crowd):
            lines.append("A place whose deadline passes is given back at that moment of the schedule.")
        return lines


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
