"""CREPE's writing: unigram F1 and BLEU against several references (PROTOCOLS.md 1.7).

The published script gives an item 0 as soon as one reference shares no word with the output; here, as the paper says,
the best reference counts.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from validation.scoring.bootstrap import Estimate, Floats, estimate, kinds_of

PARTS = ("presupposition", "correction")
REFERENCES = 6  # that the published evaluation pads every item to
PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")
ORDERS = 4  # longest n-gram of BLEU


@dataclass(frozen=True)
class Written:
    """What a model wrote for one item, and the references, of which there is at least one; by part."""

    outputs: Mapping[str, str]
    references: Mapping[str, Sequence[str]]


def tokens(text: str) -> list[str]:
    """As SQuAD's evaluation has it: lower case, no ASCII punctuation, no articles, single blanks; in this order."""
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()


def unigram_f1(output: str, reference: str) -> float:
    """F1 of the bags of words, 0 to 1; two texts without words are equal."""
    mine, theirs = Counter(tokens(output)), Counter(tokens(reference))
    if not mine or not theirs:
        return float(mine == theirs)
    return 2 * (mine & theirs).total() / (mine.total() + theirs.total())


def best_f1(output: str, references: Sequence[str]) -> tuple[float, str]:
    """The highest over the references, and the first reference that has it."""
    return max(((unigram_f1(output, each), each) for each in references), key=lambda found: found[0])


def padded(references: Sequence[str], length: int) -> list[str]:
    """As many references as `length`: the first is repeated."""
    return [*references, *[references[0]] * (length - len(references))]


def ngram_counts(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """What corpus BLEU adds up over segments, shape (segments, 2 + 2 ORDERS).

    Columns: words of the output, of the reference nearest in length; n-grams that match, n-grams there are.
    """
    bleu = BLEU(effective_order=True)  # only so that it does not warn; it changes no count
    length = max(REFERENCES, *map(len, references))
    scores = [
        bleu.sentence_score(output, padded(given, length)) for output, given in zip(outputs, references, strict=True)
    ]
    return np.array([[found.sys_len, found.ref_len, *found.counts, *found.totals] for found in scores], dtype=float)


def corpus_bleu(totals: Floats) -> Floats:
    """sacreBLEU's corpus score, 0 to 100, of sums over segments, shape (weightings, 2 + 2 ORDERS)."""
    cut = 2 + ORDERS
    whole = totals.astype(int).tolist()
    scores = [BLEU.compute_bleu(row[2:cut], row[cut:], row[0], row[1], smooth_method="exp").score for row in whole]
    return np.array(scores)


def score(
    written: Sequence[Written], parts: Sequence[str] = PARTS, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Unigram F1 as a fraction and BLEU (0 to 100): of each part, and their mean over the parts.

    At least one item; every item has outputs and references for all `parts`.
    """
    overlap = [[best_f1(each.outputs[part], each.references[part])[0] for part in parts] for each in written]
    grams = [
        ngram_counts([each.outputs[part] for each in written], [each.references[part] for each in written])
        for part in parts
    ]
    kinds, counts = kinds_of(np.concatenate([np.array(overlap), *grams], axis=1))
    each_f1, each_grams = np.split(kinds.astype(float), [len(parts)], axis=1)
    of_part = np.split(each_grams, len(parts), axis=1)

    def f1_of(place: int | None) -> Estimate:
        values = each_f1.mean(axis=1) if place is None else each_f1[:, place]
        return found(lambda drawn: drawn @ values / drawn.sum(axis=1))

    def bleu_of(place: int | None) -> Estimate:
        places = range(len(parts)) if place is None else [place]
        return found(lambda drawn: np.mean([corpus_bleu(drawn @ of_part[at]) for at in places], axis=0))

    def found(weigh: Any) -> Estimate:
        return estimate(counts, weigh, resamples=resamples, seed=seed)

    bleu = bleu_of(None).as_dict()
    return {
        "unigram_f1": {**f1_of(None).as_dict(), **{part: f1_of(n).as_dict() for n, part in enumerate(parts)}},
        "bleu": bleu["value"],
        "bleu_interval": {"low": bleu["low"], "high": bleu["high"]},
        "bleu_by_part": {part: bleu_of(n).as_dict() for n, part in enumerate(parts)},
        "n": len(written),
    }
