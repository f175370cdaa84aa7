"""What every report says about the work: who did how much, how long it took, what it paid, what people said."""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Sum

from annotation import overview
from annotation.models import Annotation, Feedback, Sitting, Study
from annotation.models.sittings import State
from annotation.summaries import Spread, spread
from validation.exports import running_codes
from validation.reports.parts import Table, cell, percent


def shares(study: Study) -> list[dict[str, Any]]:
    """Every worker's counted answers, and their share of all; the most first."""
    counted = Annotation.objects.filter(study=study, uncounted="")
    answers = dict(counted.values_list("worker").annotate(n=Count("pk")).order_by())
    total, codes = sum(answers.values()), running_codes(study)
    ordered = sorted(answers.items(), key=lambda pair: (-pair[1], codes[pair[0]]))
    return [{"worker": codes[w], "answers": n, "share_pct": percent(n / total)} for w, n in ordered]


def shares_table(found: list[dict[str, Any]]) -> Table:
    rows = tuple((row["worker"], row["answers"], row["share_pct"]) for row in found)
    return Table("workers", "Answers by worker", ("worker", "answers", "share %"), rows)


def times(study: Study) -> dict[str, Any]:
    """Per stage the seconds of one answer, and the minutes of one sitting: medians with intervals, or null and why."""
    found: dict[str, Any] = {}
    for stage, seconds in overview.seconds_per_item(study).items():
        found[stage] = {
            "seconds_per_answer": _spread(spread(seconds)),
            "minutes_per_sitting": _spread(spread(_sitting_seconds(study, stage)), per=60),
        }
    return found


def _sitting_seconds(study: Study, stage: str) -> Mapping[int, int]:
    """Active seconds of submitted sittings -> how many took so long; of those whose time is known."""
    done = Sitting.objects.filter(study=study, stage=stage, state=State.SUBMITTED, purpose=Sitting.Purpose.WORK)
    taken = done.annotate(seconds=Sum(F("assignments__annotation__active_seconds"))).filter(seconds__gt=0)
    return Counter(taken.order_by().values_list("seconds", flat=True))


NOT_TIMED = "No answer carries a time: they were made elsewhere."
UNPAID = "The study names no pay for a sitting."


def _spread(found: Spread | None, per: int = 1) -> dict[str, Any]:
    if found is None:
        return {"median": None, "low": None, "high": None, "n": 0, "reason": NOT_TIMED}
    median, low, high = (round(v / per, 2) for v in (found.median, found.low, found.high))
    return {"median": median, "low": low, "high": high, "n": found.n, "reason": None}


def pay(study: Study) -> dict[str, Any]:
    """What sittings paid, and what that comes to for an hour of active time, at the median sitting of each stage."""
    each = Decimal(str(study.options.get("pay_per_sitting", 0)))
    done = Sitting.objects.filter(study=study, state=State.SUBMITTED, purpose=Sitting.Purpose.WORK)
    done = done.exclude(pk__in=Annotation.objects.filter(study=study, unproven=True).values("assignment__sitting"))
    counts = dict(done.values_list("stage").annotate(n=Count("pk")).order_by())
    hourly = {}
    for stage in counts:
        middle = spread(_sitting_seconds(study, stage))
        hourly[stage] = round(float(each) * 3600 / middle.median, 2) if each and middle else None
    return {
        "per_sitting": float(each) or None,
        "currency": study.options.get("currency"),
        "sittings": counts,
        "total": float(each * sum(counts.values())) or None,
        "hourly_median": hourly,
        "reason": None if each else UNPAID,
    }


def times_table(found: Mapping[str, Any], paid: Mapping[str, Any]) -> Table:
    rows = []
    for stage, each in found.items():
        answer, sitting = each["seconds_per_answer"], each["minutes_per_sitting"]
        hourly = paid["hourly_median"].get(stage)
        rows.append((stage, answer["n"], cell(answer["median"]), cell(sitting["median"]), cell(hourly)))
    header = ("stage", "answers timed", "median s per answer", "median min per sitting", f"{paid['currency']} per hour")
    return Table("times", "Times and pay", header, tuple(rows), decimals=2)


def said(study: Study) -> dict[str, Any]:
    """The exit form, counted; what people wrote stays with the team."""
    counts: dict[str, Counter[str]] = {q.name: Counter() for q in study.protocol.exit_form if q.choices}
    forms = 0
    for answers in Feedback.objects.filter(study=study).values_list("answers", flat=True):
        forms += 1
        for name in counts.keys() & answers.keys():
            counts[name][answers[name]] += 1
    return {"forms": forms, **{name: dict(sorted(each.items())) for name, each in counts.items()}}
