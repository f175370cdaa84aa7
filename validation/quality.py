"""Score workers on gold, fillers and what others decided; hold the scores against the study's rules.

Scores are counted anew from the rows, for everybody whom something has happened to since the last time: whatever was
missed, or done twice, heals itself.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Avg, Count, F, IntegerField, Max, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from annotation import revocation
from annotation.errors import Refusal
from annotation.intake import batched
from annotation.models import Annotation, Enrolment, Event, Revocation, Study
from annotation.protocols.base import Stage
from annotation.protocols.writing import copied_share
from annotation.summaries import spread
from validation import duplicates
from validation.models import Score, Writing, WritingKey
from validation.rules import first_met, thresholds_of

WHY = Annotation.Why
TRAINING = (WHY.PRACTICE, WHY.TEST)
HIDDEN = (WHY.GOLD, WHY.FILLER)
# Commits may become visible a little after the time they carry.
SLACK = timedelta(minutes=2)
CHUNK = 1_000


def refresh(study: Study, *, at: datetime, everybody: bool = False) -> list[Score]:
    """Bring scores up to date, and return those that were counted anew. May run twice, or beside itself."""
    last = None if everybody else Score.objects.filter(study=study).aggregate(last=Max("scored_at"))["last"]
    touched = _touched(study, last - SLACK) if last else None
    if touched is not None and not touched:
        return []
    rows = Annotation.objects.filter(study=study, unproven=False).exclude(uncounted__in=TRAINING)
    mine = rows if touched is None else rows.filter(worker__in=touched)
    _read_writings(study, mine if last is None else mine.filter(_new(study, last - SLACK)))
    scores = _count(study, mine, touched, at)
    for batch in batched(scores, CHUNK):
        fields = [f.name for f in Score._meta.concrete_fields if f.name not in ("id", "enrolment", "study", "stage")]
        Score.objects.bulk_create(
            batch, update_conflicts=True, update_fields=fields, unique_fields=["enrolment", "stage"]
        )
    return list(Score.objects.filter(study=study, enrolment__in={s.enrolment_id for s in scores}))


def _touched(study: Study, since: datetime) -> set[int]:
    """Workers whom an event since then is about, or whose item it is about."""
    recent = Event.objects.filter(study=study, at__gte=since)
    workers = set(recent.filter(worker__isnull=False, what__in=TELLING).values_list("worker", flat=True))
    items = recent.filter(worker__isnull=True, item__isnull=False).values("item")
    return workers | set(Annotation.objects.filter(study=study, item__in=items).values_list("worker", flat=True))


def _new(study: Study, since: datetime) -> Q:
    """Submitted since then, or confirmed: that may come long after."""
    confirmed = Event.objects.filter(study=study, at__gte=since, what="confirmed").values_list("item", flat=True)
    return Q(submitted_at__gte=since) | Q(item__in=list(confirmed.distinct()))


# Of events about a worker, those after which their numbers may be others.
TELLING = ("submitted", "submitted late", "confirmed", "reinstated", *WHY.values)


WORK = ~Q(uncounted__in=HIDDEN)
# What a score counts of a worker's answers in a stage.
COUNTED = {
    "annotations": WORK,
    "counted": Q(uncounted=""),
    "gold": Q(uncounted=WHY.GOLD),
    "gold_right": Q(uncounted=WHY.GOLD, is_right=True),
    "fillers": Q(uncounted=WHY.FILLER, is_right__isnull=False),
    "fillers_right": Q(uncounted=WHY.FILLER, is_right=True),
    "decided": Q(upheld__isnull=False),
    "invalid": Q(upheld=False),
    "judged": Q(upheld__isnull=False, judged=True),
    "judged_invalid": Q(upheld=False, judged=True),
}


def _count(study: Study, rows: QuerySet[Annotation], touched: set[int] | None, at: datetime) -> list[Score]:
    enrolled = study.enrolments.all() if touched is None else study.enrolments.filter(worker__in=touched)
    enrolments = dict(enrolled.values_list("worker", "pk"))
    scores: dict[tuple[int, str], Score] = {}
    numbers = rows.values_list("worker", "stage").annotate(
        **{f"n_{name}": Count("pk", filter=which) for name, which in COUNTED.items()}
    )
    for worker, stage, *values in numbers.order_by():
        counts = dict(zip(COUNTED, values, strict=True))
        scores[worker, stage] = Score(study=study, enrolment_id=enrolments[worker], stage=stage, scored_at=at, **counts)
    _add_seconds(scores, rows.filter(WORK))
    _add_labels(scores, study, rows.filter(WORK))
    _add_pasted(scores, rows.filter(WORK))
    _add_copies(scores, study, touched)
    return list(scores.values())


# By worker and stage. Somebody who answers for the first time between two of these queries is counted the next time.
Scores = Mapping[tuple[int, str], Score]


def _add_seconds(scores: Scores, rows: QuerySet[Annotation]) -> None:
    seconds: dict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    timed = rows.filter(active_seconds__isnull=False)
    counted = timed.values_list("worker", "stage", "active_seconds").annotate(n=Count("*"))
    for worker, stage, taken, n in counted.order_by():
        seconds[worker, stage][taken] += n
    for key, counts in seconds.items():
        if (found := spread(counts)) and (score := scores.get(key)):
            score.median_seconds, score.seconds = found.median, deciles(counts)


def deciles(counts: Mapping[int, int]) -> list[int]:
    """Of values with how often each occurs, the nine that cut them in tenths (the smallest at or above each share)."""
    total, seen = sum(counts.values()), 0
    cuts: list[int] = []
    for value, count in sorted(counts.items()):
        seen += count
        while len(cuts) < 9 and seen * 10 >= (len(cuts) + 1) * total:
            cuts.append(value)
    return cuts


def _add_labels(scores: Scores, study: Study, rows: QuerySet[Annotation]) -> None:
    """Counted by the database where the vote is a member of the answer, else read by the protocol."""
    for stage in study.protocol.stages:
        mine = rows.filter(stage=stage.name)
        measure = next((m for m in stage.measures if m.categories and not m.study_wide), None)
        if measure is None:
            continue
        if measure.key:
            votes = (
                mine.annotate(vote=KT(f"answer__{measure.key}")).values_list("worker", "vote").annotate(n=Count("*"))
            )
            for worker, vote, n in votes.order_by():
                if score := scores.get((worker, stage.name)):
                    score.labels[str(vote)] = n
        else:
            for worker, answer in mine.values_list("worker", "answer").iterator(chunk_size=CHUNK):
                if score := scores.get((worker, stage.name)):
                    vote = str(measure.read(answer))
                    score.labels[vote] = score.labels.get(vote, 0) + 1


def _add_pasted(scores: Scores, rows: QuerySet[Annotation]) -> None:
    noted = rows.exclude(signs={}).values_list("worker", "stage")
    sums = [Sum(Cast(KT(f"signs__{name}"), IntegerField())) for name in ("pasted", "typed")]
    for worker, stage, pasted, typed in noted.annotate(pasted=sums[0], typed=sums[1]).order_by():
        written = (pasted or 0) + (typed or 0)
        if (score := scores.get((worker, stage))) and written:
            score.pasted = (pasted or 0) / written


def _add_copies(scores: Scores, study: Study, touched: Collection[int] | None) -> None:
    found = Writing.objects.filter(study=study)
    if touched is not None:
        found = found.filter(annotation__worker__in=touched)
    own = Q(copy_of__worker=F("annotation__worker"))
    counts = found.values_list("annotation__worker", "annotation__stage").annotate(
        own=Count("pk", filter=own), others=Count("pk", filter=Q(copy_of__isnull=False) & ~own), copied=Avg("copied")
    )
    for worker, stage, mine, others, copied in counts.order_by():
        if score := scores.get((worker, stage)):
            score.copies_own, score.copies_others, score.copied = mine, others, copied


# --- Writings that are much alike ----------------------------------------------------------------


class Text(NamedTuple):
    """A text to compare with: the annotation and the item it belongs to, and its words."""

    annotation: int
    item: int
    words: frozenset[str]


def _read_writings(study: Study, rows: QuerySet[Annotation]) -> None:
    """Look at texts nobody has looked at: how much is copied from the item, and which earlier text they repeat."""
    for stage in study.protocol.stages:
        if stage.writings is None:
            continue
        new = rows.filter(stage=stage.name, writings__isnull=True).select_related("item").order_by("pk")
        for batch in batched(new.iterator(chunk_size=CHUNK), CHUNK):
            _compare(study, stage, batch)


def _compare(study: Study, stage: Stage, batch: Sequence[Annotation]) -> None:
    texts = {(row.pk, n): text for row in batch for n, text in enumerate(stage.texts(row.answer))}
    if not texts:
        return
    bags = {place: duplicates.bag(text) for place, text in texts.items()}
    keys = {place: duplicates.keys(bag) for place, bag in bags.items()}
    earlier = _with_keys(study, {key for each in keys.values() for key in each})
    met: dict[int, list[Text]] = defaultdict(list, earlier)
    writings = []
    for row in batch:
        for n, _ in enumerate(stage.texts(row.answer)):
            place = row.pk, n
            # Two people may well find the same words for one item; for two items they should not.
            others = (c for key in keys[place] for c in met[key] if c.item != row.item_id)
            copy_of = min((c.annotation for c in others if duplicates.alike(c.words, bags[place])), default=None)
            source = str(row.item.payload.get(stage.copied_from, ""))
            copied = copied_share(texts[place], source) if source else 0.0
            writings.append(Writing(study=study, annotation=row, position=n, copied=copied, copy_of_id=copy_of))
            for key in keys[place]:
                met[key].append(Text(row.pk, row.item_id, bags[place]))
    # Two refreshes beside each other look at the same texts; the second one's rows are the first one's.
    Writing.objects.bulk_create(writings, ignore_conflicts=True)
    made = {(w.annotation_id, w.position): w for w in Writing.objects.filter(annotation__in=batch, keys__isnull=True)}
    WritingKey.objects.bulk_create(
        WritingKey(study=study, key=key, writing=writing) for place, writing in made.items() for key in keys[place]
    )


MOST_ALIKE = 50  # earlier texts under one key that are compared: whoever repeats more is found anyway


def _with_keys(study: Study, keys: Collection[int]) -> dict[int, list[Text]]:
    """Key -> earlier texts under it, of whatever stage."""
    protocol = study.protocol
    found: dict[int, list[Text]] = defaultdict(list)
    rows = WritingKey.objects.filter(study=study, key__in=keys).order_by("pk")
    of = "writing__annotation"
    columns = ("key", "writing__position", of, f"{of}__item", f"{of}__stage", f"{of}__answer")
    for key, position, pk, item, stage, answer in rows.values_list(*columns):
        if len(found[key]) < MOST_ALIKE:
            text = protocol.stage(stage).texts(answer)[position]
            found[key].append(Text(pk, item, duplicates.bag(text)))
    return found


# --- Rules ---------------------------------------------------------------------------------------


def judge(study: Study, scores: Iterable[Score], *, at: datetime) -> list[Revocation]:
    """Hold scores against the study's rules; propose, or act where the study says so. May run again at any time.

    A rule that would end the work of everybody who is active only proposes: then the rule is wrong, or the study is.
    """
    thresholds, after = thresholds_of(study.options), int(study.options.get("revoke_after", 20))
    found: dict[int, tuple[str, str, Score]] = {}
    for score in scores:
        rule, why = first_met(score, thresholds, after)
        if rule:
            found.setdefault(score.enrolment_id, (rule, why, score))
    if not found:
        return []
    active = study.enrolments.filter(state=Enrolment.State.ACTIVE)
    guilty = list(active.filter(pk__in=found).select_related("worker", "study"))
    acts = study.options.get("revoke") == "act" and len(guilty) < active.count()
    made = [_apply(study, enrolment, *found[enrolment.pk], acts=acts, at=at) for enrolment in guilty]
    return [revoked for revoked in made if revoked]


def _apply(
    study: Study, enrolment: Enrolment, rule: str, why: str, score: Score, *, acts: bool, at: datetime
) -> Revocation | None:
    numbers, work = numbers_of(score), str(study.options.get("work_of_revoked", Revocation.Work.KEEP))
    if not acts:
        return revocation.propose(enrolment, rule=rule, numbers=numbers, why=why, work=work, at=at)
    if Revocation.objects.filter(enrolment=enrolment, rule=rule, numbers=numbers).exists():
        return None  # judged on these very numbers before, and restored or dismissed since
    try:
        revoked = revocation.revoke(enrolment, why=why, work=work, by=f"rule:{rule}", at=at, rule=rule, numbers=numbers)
    except Refusal:  # a person was faster
        return None
    revocation.apply_work(revoked, by=f"rule:{rule}", at=at)
    return revoked


def numbers_of(score: Score) -> dict[str, Any]:
    """What a revocation keeps of a score."""
    names = ("stage", "annotations", "decided", "invalid", "judged", "judged_invalid")
    return {name: getattr(score, name) for name in (*names, "gold", "gold_right", "fillers", "fillers_right")}
