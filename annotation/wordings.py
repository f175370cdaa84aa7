"""Texts that a study wants once (see `Stage.sentences`): said while typing, checked when an answer is taken, and held
by the database, so that of two people who hand in the same text at the same moment one is told.

A text has its row while its annotation counts, or may yet: what is excluded or withdrawn frees it for others. In a file
a text may come twice, as in published data: then it is kept, marked as a repeat.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db.models import Min

from annotation.models import Annotation, Study, Wording
from annotation.protocols.base import Answer, Problem, Sentence, Stage
from annotation.protocols.writing import alike, bag, digest

THERE = "This is in the study already, word for word. Please write something else."
TWICE = "You wrote this for another item of this sitting, word for word. Please write something else."
COUNTS = ("", Annotation.Why.HELD, Annotation.Why.UNCONFIRMED)  # or may yet
Beside = Iterable[Sequence[Sentence]]  # what the other items of a sitting hold


def sentences_of(stage: Stage, answer: Answer) -> list[Sentence]:
    return stage.sentences(answer) if stage.sentences else []


def problems_of(
    study: Study, worker: int, item: int, sentences: Sequence[Sentence], beside: Beside = ()
) -> list[Problem]:
    """What there is to say about texts that are being written for an item (id) by a worker (id): one that is there
    already blocks; one much like another of their own is warned of. Two queries.
    """
    if not sentences:
        return []
    mine = list(Wording.objects.filter(study=study, worker=worker).exclude(item=item).values_list("text", flat=True))
    mine += [other.text for each in beside for other in each]
    bags, problems = [(text, bag(text)) for text in mine], []
    taken = _taken(study, item, sentences)
    own = {digest(other.text) for each in beside for other in each}
    for sentence in sentences:
        key, words = digest(sentence.text), bag(sentence.text)
        if key in taken or key in own:
            problems.append(Problem(sentence.field, THERE if key in taken else TWICE))
        elif near := next((text for text, other in bags if alike(words, other)), ""):
            problems.append(Problem(sentence.field, f"This is much like your own “{near}”.", blocking=False))
    return problems


def _taken(study: Study, item: int, sentences: Sequence[Sentence]) -> set[str]:
    """Digests of those texts that another item of the study holds."""
    there = Wording.objects.filter(study=study, digest__in={digest(s.text) for s in sentences}).exclude(item=item)
    return set(there.values_list("digest", flat=True))


def repeated(study: Study, given: Mapping[int, tuple[int, Sequence[Sentence]]]) -> dict[int, list[Problem]]:
    """What blocks the answers of a sitting: assignment id -> (item id, its texts), in order. One query."""
    every = {digest(s.text) for _, sentences in given.values() for s in sentences}
    holders: dict[str, set[int]] = {}
    for key, item in Wording.objects.filter(study=study, digest__in=every).values_list("digest", "item"):
        holders.setdefault(key, set()).add(item)
    problems: dict[int, list[Problem]] = {}
    seen: set[str] = set()
    for pk, (item, sentences) in given.items():
        keys = {s.field: digest(s.text) for s in sentences}
        for field, key in keys.items():
            if key in seen or holders.get(key, set()) - {item}:
                problems.setdefault(pk, []).append(Problem(field, TWICE if key in seen else THERE))
        seen.update(keys.values())
    return problems


def keep(stage: Stage, annotations: Sequence[Annotation], *, repeats: bool = False) -> dict[int, list[Problem]]:
    """Give the texts of those annotations that count their rows; what somebody else holds: assignment id -> problems.

    repeats: such texts are kept too, marked. Otherwise they have no row, and the caller rolls back. The rows go in by
    their digests, so that two sittings with the same texts wait for each other in one order.
    """
    rows = [
        Wording(
            study_id=annotation.study_id,
            item_id=annotation.item_id,
            worker_id=annotation.worker_id,
            annotation=annotation,
            stage=stage.name,
            field=sentence.field,
            text=sentence.text,
            label=sentence.label,
            about=sentence.about,
            digest=digest(sentence.text),
        )
        for annotation in annotations
        if annotation.uncounted in COUNTS
        for sentence in sentences_of(stage, annotation.answer)
    ]
    if not rows:
        return {}
    _mark_repeats(rows, everywhere=repeats)
    Wording.objects.bulk_create(sorted(rows, key=lambda row: row.digest), ignore_conflicts=True)
    if repeats:
        return {row.annotation.assignment_id: [Problem(row.field, THERE)] for row in rows if row.is_repeat}
    kept = set(Wording.objects.filter(annotation__in=annotations).values_list("annotation", "field"))
    lost: dict[int, list[Problem]] = {}
    for row in rows:
        if (row.annotation_id, row.field) not in kept:
            lost.setdefault(row.annotation.assignment_id, []).append(Problem(row.field, THERE))
    return lost


def _mark_repeats(rows: Iterable[Wording], *, everywhere: bool) -> None:
    """A text that its own item has already, as when an edit changes a capital, is a repeat; `everywhere` any is."""
    rows = list(rows)
    there = Wording.objects.filter(study=rows[0].study_id, digest__in={row.digest for row in rows}, is_repeat=False)
    holder = dict(there.values_list("digest", "item"))
    for row in rows:
        if row.digest in holder:
            row.is_repeat = everywhere or holder[row.digest] == row.item_id
        elif everywhere:
            holder[row.digest] = row.item_id


def free(annotations: Collection[int]) -> None:
    """These annotations (ids) do not count any more: others may use their texts. A repeat becomes the first."""
    gone = Wording.objects.filter(annotation__in=annotations)
    digests = dict(gone.filter(is_repeat=False).values_list("digest", "study"))
    if not gone.delete()[0] or not digests:
        return
    heirs = Wording.objects.filter(study__in=set(digests.values()), digest__in=digests, is_repeat=True)
    first = heirs.order_by().values("study", "digest").annotate(first=Min("pk")).values_list("first", flat=True)
    Wording.objects.filter(pk__in=list(first)).update(is_repeat=False)


def reclaim(stage: Stage, annotation: Annotation) -> bool:
    """Give an annotation that is to count again its texts back, unless somebody else has used one since."""
    counting = Annotation(pk=annotation.pk, study_id=annotation.study_id, item_id=annotation.item_id)
    counting.worker_id, counting.assignment_id = annotation.worker_id, annotation.assignment_id
    counting.answer = annotation.answer
    if keep(stage, [counting]):
        free([annotation.pk])
        return False
    return True
