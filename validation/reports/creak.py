"""CREAK's numbers: claims per split, what was removed, what judges say, who wrote how much (PROTOCOLS.md 3.3, 3.4)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db.models import Count

from annotation.models import Study
from annotation.protocols.creak import SPLITS
from annotation.protocols.creak_review import REASONS
from annotation.protocols.creak_writing import LABELS
from annotation.summaries import wilson
from validation import artefacts, charts, meter
from validation.exports import running_codes
from validation.models import Resolution
from validation.queries import agreement_of
from validation.reports import work
from validation.reports.parts import Report, Table, cell, percent

TOP = 10  # writers of a split that are named
Gold = Mapping[str, Any]


def sizes(golds: Iterable[tuple[str, Gold]]) -> dict[str, dict[str, int]]:
    """Split -> claims in all and per label, how many were edited, contrast pairs, and entities. golds: split, gold."""
    found = {split: Counter[str]() for split in SPLITS}
    entities: dict[str, set[str]] = defaultdict(set)
    for split, gold in golds:
        for claim in gold["claims"]:
            found[split].update(["claims", claim["label"], *(["edited"] if claim["original"] else [])])
        found[split]["contrast_pairs"] += bool(gold["contrast"])
        entities[split].add(gold["entity"])
    names = ("claims", *LABELS, "edited", "contrast_pairs")
    return {
        split: {**{name: counts[name] for name in names}, "entities": len(entities[split])}
        for split, counts in found.items()
    }


def removed(reviews: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Split -> claims reviewed, rejected, their share in percent, and rejected by reason. reviews: split, answer."""
    reviewed, rejected = Counter[str](), {split: Counter[str]() for split in SPLITS}
    for split, answer in reviews:
        reviewed[split] += len(LABELS)
        rejected[split].update(each["reason"] for each in answer.values() if each["decision"] == "reject")
    return {
        split: {
            "reviewed": reviewed[split],
            "rejected": counts.total(),
            "rejected_pct": percent(counts.total() / reviewed[split]) if reviewed[split] else None,
            "by_reason": {reason: counts[reason] for reason in REASONS},
        }
        for split, counts in rejected.items()
    }


def relabelled(golds: Iterable[tuple[str, Gold]]) -> dict[str, dict[str, Any]]:
    """Split, or "all" -> claims judged blindly, majorities that are the writer's label, their share with its interval
    in percent, and claims without a majority. The paper has 99% on 100 claims of dev.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in (*SPLITS, "all")}
    for split, gold in golds:
        if check := gold["relabel"]:
            said = (
                "no_majority"
                if check["majority"] is None
                else "agree"
                if check["majority"] == check["label"]
                else "not"
            )
            for name in (split, "all"):
                counts[name].update(["judged", said])
    found = {}
    for name, n in counts.items():
        decided = n["judged"] - n["no_majority"]
        low, high = wilson(n["agree"], decided) if decided else (None, None)
        shares = zip(("pct", "low", "high"), (n["agree"] / decided if decided else None, low, high), strict=True)
        found[name] = {
            "judged": n["judged"],
            "agree": n["agree"],
            "no_majority": n["no_majority"],
            **{key: percent(share) for key, share in shares},
        }
    return found


def writers(golds: Iterable[tuple[str, Gold]], codes: Mapping[int, str]) -> dict[str, list[dict[str, Any]]]:
    """Split -> who wrote most of its claims, with their share in percent."""
    claims: dict[str, Counter[int]] = {split: Counter() for split in SPLITS}
    for split, gold in golds:
        claims[split][gold["writer"]] += len(gold["claims"])
    return {
        split: [
            {"worker": codes.get(worker, str(worker)), "claims": n, "share_pct": percent(n / counts.total())}
            for worker, n in sorted(counts.items(), key=lambda pair: (-pair[1], codes.get(pair[0], "")))[:TOP]
        ]
        for split, counts in claims.items()
    }


def report(study: Study, progress: Callable[[int, int], None]) -> Report:
    settled = Resolution.objects.filter(study=study, outcome=Resolution.Outcome.SETTLED).order_by("item_id")
    total = settled.count()
    golds: list[tuple[str, Gold]] = []
    for payload, gold in settled.values_list("item__payload", "gold").iterator(chunk_size=2_000):
        golds.append((payload["split"], gold or {}))
        if len(golds) % 2_000 == 0:
            progress(len(golds), total)
    reviews = study.annotations.filter(stage="review", uncounted="").order_by("pk")
    given = reviews.values_list("item__payload__split", "answer").iterator(chunk_size=2_000)
    found, gone, checks = sizes(golds), removed(given), relabelled(golds)
    wrote, claims = writers(golds, running_codes(study)), meter.claims_of(study)
    measured = artefacts.measure(artefacts.read(claims.texts), claims.labels)
    outcomes = dict(Resolution.objects.filter(study=study).values_list("outcome").annotate(n=Count("pk")).order_by())
    agreement = agreement_of(study, "relabel", "label")
    people, times, pay = work.shares(study), work.times(study), work.pay(study)
    notes = [] if golds else ["No item is settled yet, so there is nothing to count."]
    numbers = {
        "study": study.slug,
        "protocol": study.protocol_slug,
        "rules": study.declared_hash or None,
        "sizes": found,
        "outcomes": outcomes,
        "removed": gone,
        "relabel": checks,
        "relabel_agreement": {
            "items": agreement.items,
            "fleiss_kappa": agreement.fleiss_kappa.as_dict(),
            "krippendorff_alpha": agreement.krippendorff_alpha.as_dict(),
        },
        "writers": wrote,
        "artefacts": [_artefact(each) for each in (*measured.words, *measured.openings)],
        "workers": people,
        "times": times,
        "pay": pay,
        "notes": notes,
    }
    tables = [
        _sizes(found),
        _removed(gone),
        _relabel(checks),
        _writers(wrote),
        work.shares_table(people),
        work.times_table(times, pay),
    ]
    return Report(numbers, tables, [charts.labels(study), meter.meter(study), meter.diversity(study)], notes)


def _artefact(a: artefacts.Artefact) -> dict[str, Any]:
    rounded = {"share_pct": percent(a.share), "lift": round(a.lift, 4), "z": round(a.z, 4)}
    return {"feature": a.feature, "label": a.label, "claims": a.claims, **rounded}


def _sizes(found: Mapping[str, Mapping[str, int]]) -> Table:
    header = ("split", "claims", *LABELS, "edited", "contrast pairs", "entities")
    return Table("sizes", "Claims by split", header, tuple((split, *row.values()) for split, row in found.items()))


def _removed(found: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = tuple(
        (split, row["reviewed"], row["rejected"], cell(row["rejected_pct"]), *row["by_reason"].values())
        for split, row in found.items()
    )
    return Table("removed", "Claims removed in review", ("split", "reviewed", "rejected", "%", *REASONS), rows)


def _relabel(found: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = tuple((split, *(cell(value) for value in row.values())) for split, row in found.items())
    header = ("split", "judged blindly", "majority as the writer", "no majority", "%", "low (95%)", "high (95%)")
    return Table("relabel", "Blind judges against the writer's label", header, rows)


def _writers(found: Mapping[str, list[dict[str, Any]]]) -> Table:
    rows = tuple((split, w["worker"], w["claims"], w["share_pct"]) for split, some in found.items() for w in some)
    return Table("writers", "Who wrote most of a split", ("split", "worker", "claims", "% of the split"), rows)
