"""The artefact meter: hand-worked sets, and what must not make a difference."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols.writing import words
from tests.claims import make_claim_study, make_claim_worker, write
from validation import artefacts, meter
from validation.artefacts import Stretch, diversity, measure, read


def found(texts, labels):
    made = measure(read(texts), labels)
    return [[(a.feature, a.label, a.claims, a.labelled) for a in some] for some in (made.words, made.openings)]


# Of 40 claims 20 are false; "never" stands in 20 of them, "not" in 12 false and 8 true ones.
NEVER = ["It never rains, not once." if n < 12 else "It never rains." for n in range(20)]
TRUE = ["Some say it may not rain." if n < 8 else "One says it may rain." for n in range(20)]
HAND, LABELS = NEVER + TRUE, ["false"] * 20 + ["true"] * 20


def test_words_and_openings_that_give_a_label_away_are_found_and_noise_is_not():
    words_, openings = found(HAND, LABELS)
    # z = (1 - 0.5) / sqrt(0.25 / n) = sqrt(n); 14 features are looked at: |z| > 3.39. "some" (8) has 2.83.
    assert words_ == [
        ("never", "false", 20, 20),
        ("rains", "false", 20, 20),
        ("may", "true", 20, 20),
        ("rain", "true", 20, 20),
        ("once", "false", 12, 12),
        ("one", "true", 12, 12),
        ("says", "true", 12, 12),
    ]
    assert openings == [("it never", "false", 20, 20), ("one says", "true", 12, 12)]


def test_the_numbers_of_one_word_by_hand():
    texts = ["never a"] * 18 + ["b c"] * 2 + ["never d"] * 2 + ["e f"] * 18
    labels = ["false"] * 20 + ["true"] * 20
    never = next(a for a in measure(read(texts), labels).words if a.feature == "never")
    assert (never.label, never.claims, never.labelled, never.share, never.lift) == ("false", 20, 18, 0.9, 1.8)
    assert never.z == pytest.approx((0.9 - 0.5) / sqrt(0.25 / 20))
    assert (round(never.low, 4), round(never.high, 4)) == (0.699, 0.9721)  # Wilson


def test_lift_is_against_the_labels_own_share_where_labels_are_not_equally_many():
    texts, labels = ["odd x"] * 20 + ["even y"] * 80, ["false"] * 20 + ["true"] * 80
    odd = measure(read(texts), labels).words[0]
    assert (odd.feature, odd.lift, round(odd.z, 6)) == ("odd", 5.0, round(0.8 / sqrt(0.16 / 20), 6))


def test_a_word_counts_once_in_a_claim_whatever_its_case_and_punctuation():
    assert found(["Never, never, NEVER!"] * 20 + ["yes"] * 20, LABELS)[0][0] == ("never", "false", 20, 20)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [([], []), (["a b"], ["true"]), (["a"] * 9, ["true"] * 9), (["", " ", "..."], ["true", "false", "true"])],
)
def test_where_there_is_nothing_to_tell_nothing_is_told(texts, labels):
    assert found(texts, labels) == [[], []]
    assert len(diversity(read(texts))) == (1 if texts else 0)


def test_texts_are_read_as_the_words_everybody_else_reads():
    texts = ["A well-known town’s b.c, it's “done”...", "", "x\ny  z", "é É"]
    corpus = read(texts)
    of = [[corpus.words[c] for c, t in zip(corpus.codes, corpus.texts, strict=True) if t == n] for n in range(4)]
    assert of == [words(text) for text in texts]
    openings = [corpus.opening(int(code)) for code in corpus.openings]
    assert openings == ["a well", "", "x y", "é é"]


TEXTS = st.lists(st.tuples(st.text("ab c.'-\n", max_size=12), st.sampled_from(["true", "false"])), max_size=40)


@given(TEXTS)
def test_counts_are_those_of_a_plain_loop(pairs):
    texts, labels = [t for t, _ in pairs], [label for _, label in pairs]
    for artefact in measure(read(texts), labels).words:
        have = [label for text, label in pairs if artefact.feature in words(text)]
        assert (artefact.claims, artefact.labelled) == (len(have), have.count(artefact.label))


@given(st.lists(st.sampled_from(list(zip(HAND, LABELS, strict=True))), max_size=80), st.randoms(use_true_random=False))
def test_the_order_of_claims_makes_no_difference(pairs, rng):
    shuffled = list(pairs)
    rng.shuffle(shuffled)
    one, other = (found([t for t, _ in some], [label for _, label in some]) for some in (pairs, shuffled))
    assert [sorted(some) for some in one] == [sorted(some) for some in other]


def test_other_names_of_the_labels_make_no_difference():
    renamed = {"false": "B", "true": "A"}
    one = found(HAND, LABELS)
    other = found(HAND, [renamed[label] for label in LABELS])
    assert [[(f, renamed[label], n, k) for f, label, n, k in some] for some in one] == other


def test_a_set_twice_over_points_the_same_way_more_surely():
    one, twice = measure(read(HAND), LABELS), measure(read(HAND * 2), LABELS * 2)
    z = {a.feature: a.z for a in twice.words}
    assert all(z[a.feature] == pytest.approx(a.z * sqrt(2)) for a in one.words)
    assert twice.bound == one.bound or twice.bound > one.bound


# --- Diversity --------------------------------------------------------------------------------------
def test_new_openings_and_distinct_words_are_counted_in_stretches():
    texts = ["a b c", "a b d", "e f g", "a b c", "e f h", "i j k"]
    assert diversity(read(texts), stretches=2, least=3) == [
        Stretch(1, 3, 2, pytest.approx(1000 * 7 / 9)),
        Stretch(4, 3, 1, pytest.approx(1000 * 9 / 9)),
    ]


@given(st.lists(st.text("ab ", max_size=6), max_size=60), st.integers(1, 9))
def test_stretches_cover_every_claim_once_and_all_openings(texts, stretches):
    found = diversity(read(texts), stretches, least=1)
    assert sum(s.claims for s in found) == len(texts)
    assert len(found) <= stretches
    assert sum(s.new_openings for s in found) == len({tuple(words(text)[:2]) for text in texts})


# --- Of a study -------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_meter_reads_what_counts_and_how_often_a_thing_is_written_about():
    study = make_claim_study(items_per_sitting=3)
    write(study, make_claim_worker(study, "ann"))
    claims = meter.claims_of(study)
    assert (len(claims.texts), sorted(claims.labels)) == (6, ["false"] * 3 + ["true"] * 3)
    assert set(claims.about) == {"Paris 1", "Paris 2", "Paris 3"}
    twice = meter.Claims("abcd", ["true", "false", "true", "false"], ["x", "x", "x", "y"])
    assert meter.repeated_in(twice) == [("x", 2)]
    chart = meter.meter(study)
    assert (chart.rows, chart.notes[0]) == ((), "6 claims as written: 3 false, 3 true.")
    ((first, last, new, share, _),) = meter.diversity(study).rows
    assert (first, last, new, share) == (1, 6, 4, 67)  # "paris 1", "paris 2", "paris 3", "snow covers"


def test_a_chart_names_each_word_with_its_numbers():
    chart = meter.chart_of(measure(read(HAND), LABELS), [("Paris", 4)])
    assert chart.rows[0] == ("Words", "never", "false", 20, 100.0, 83.9, 100.0, 2.0, 4.47)
    assert chart.notes[-1] == "Most often written about: Paris (4)."
    assert "“never”: 100% of 20 false" in chart.description
    assert artefacts.FEWEST == 5
