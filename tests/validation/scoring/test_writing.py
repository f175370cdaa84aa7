import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from validation.scoring.writing import (
    Written,
    best_f1,
    corpus_bleu,
    ngram_counts,
    padded,
    score,
    tokens,
    unigram_f1,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Sky, is   BLUE!", ["sky", "is", "blue"]),
        ("a.n. other", ["other"]),  # punctuation goes before articles: "an other"
        ("don't", ["dont"]),
        ("theatre and ana", ["theatre", "and", "ana"]),
        ("“quoted”", ["“quoted”"]),  # only ASCII punctuation is deleted
        ("the an a", []),
    ],
)
def test_words_are_those_of_squads_evaluation(text, found):
    assert tokens(text) == found


@pytest.mark.parametrize(
    ("output", "reference", "f1"),
    [
        ("The sky is blue.", "the sky is blue", 1.0),
        ("sky blue", "sky is green", 0.4),  # 1 of 2 and 1 of 3
        ("blue blue sky", "blue sky sky", 4 / 6),  # as bags: one blue, one sky
        ("one", "two", 0.0),
        ("", "two", 0.0),
        ("the", "an", 1.0),  # nothing is left of both
    ],
)
def test_unigram_f1_by_hand(output, reference, f1):
    assert unigram_f1(output, reference) == pytest.approx(f1)


def test_the_best_reference_counts_though_another_shares_no_word():
    assert best_f1("sky blue", ["grass", "blue sky", "sky blue"]) == (1.0, "blue sky")  # the published script says 0


def test_references_are_padded_with_the_first():
    assert padded(["x", "y"], 4) == ["x", "y", "x", "x"]


OUTPUTS = ["The sky is blue because light scatters.", "Planes fly.", "No"]
REFERENCES = [
    ["The sky is blue since light scatters.", "Light scatters, so the sky is blue."],
    ["Planes do fly."],
    ["Yes"],
]


def test_bleu_is_sacrebleus_corpus_score():
    streams = list(zip(*(padded(given, 6) for given in REFERENCES), strict=True))
    expected = BLEU().corpus_score(OUTPUTS, [list(stream) for stream in streams])
    totals = ngram_counts(OUTPUTS, REFERENCES).sum(axis=0, keepdims=True)
    assert corpus_bleu(totals).tolist() == pytest.approx([expected.score])
    assert 20 < expected.score < 90


def test_padding_changes_no_count():
    longer = [[*given, *[given[0]] * 9] for given in REFERENCES]
    assert (ngram_counts(OUTPUTS, REFERENCES) == ngram_counts(OUTPUTS, longer)).all()


def written(presupposition, correction="It is so."):
    return Written(
        {"presupposition": presupposition, "correction": correction},
        {"presupposition": ["The sky is green.", "Skies are green."], "correction": ["It is so."]},
    )


def test_a_score_is_the_mean_of_both_parts():
    scored = score([written("The sky is green."), written("Grass")], resamples=100)
    found = scored["unigram_f1"]
    assert [
        found[name] if name == "value" else found[name]["value"] for name in ("value", "presupposition", "correction")
    ] == [
        0.75,
        0.5,
        1.0,
    ]
    assert (found["low"], found["high"]) == (0.5, 1.0)
    parts = scored["bleu_by_part"]
    assert parts["correction"]["value"] == 100.0
    assert scored["bleu"] == pytest.approx((parts["presupposition"]["value"] + 100) / 2)
    assert scored["bleu_interval"]["low"] < scored["bleu"] < scored["bleu_interval"]["high"]
    assert scored["n"] == 2


def test_one_part_may_be_scored_alone():
    scored = score([written("The sky is green.", "")], ["presupposition"], resamples=10)
    assert scored["unigram_f1"] == {
        "value": 1.0,
        "low": 1.0,
        "high": 1.0,
        "presupposition": {"value": 1.0, "low": 1.0, "high": 1.0},
    }


def test_empty_outputs_are_worth_nothing():
    scored = score([written("", "")] * 2, resamples=10)
    assert (scored["unigram_f1"]["value"], scored["bleu"]) == (0.0, 0.0)


texts = st.text("ab the.", max_size=12)


@given(texts, texts)
def test_unigram_f1_is_a_fraction_alike_both_ways_and_1_for_the_same(one, other):
    assert 0 <= unigram_f1(one, other) == unigram_f1(other, one) <= 1
    assert unigram_f1(one, one) == 1


@given(st.lists(texts, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(outputs, rng):
    items = [written(output) for output in outputs]
    assert score(items, resamples=10) == score(rng.sample(items, len(items)), resamples=10)
