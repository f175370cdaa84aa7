"""Agreement against tables worked by hand, published examples and, where present, NOPE's ratings."""

import csv
from collections import Counter, defaultdict
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from pytest import approx

from annotation.protocols.base import Level
from validation.agreement import (
    ALL_THE_SAME,
    MOSTLY_UNDEFINED,
    NO_PAIRS,
    ONE_ITEM,
    Estimate,
    alpha,
    alpha_of_moments,
    cohen_kappa,
    estimate,
    fleiss_kappa,
    leave_out,
    merge,
    percent_agreement,
)

MEASURES = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha")

# Krippendorff 2011, sections A, B, and C with D: a row per observer, a column per unit, "." for no value.
BINARY = ("0100000010", "1110010000")
NOMINAL = ("aabbdcccedda", "babbbccceddd")
WITH_GAPS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")

# Fleiss 1971, table 1: 30 patients, 6 psychiatrists each; votes for depression, personality disorder, schizophrenia,
# neurosis, other.
PATIENTS = """
    00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
    00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
FLEISS = Counter(tuple(int(votes) for votes in patient) for patient in PATIENTS.split())

# CREPE, section 3.2: two generators agree on 75% of the unfiltered questions with kappa 43%. That implies a chance
# agreement of 0.5614 and 32.5% raw votes for "false presupposition", the first category here.
CREPE = {(2, 0): 200, (1, 1): 250, (0, 2): 550}

NOPE = Path(__file__).parents[3] / "shared" / "data" / "nope_filler_ratings_20workers.csv"


def histogram_of(table):
    categories = sorted(set("".join(table)) - {"."})
    return Counter(tuple(unit.count(c) for c in categories) for unit in zip(*table, strict=True))


def moments_of(ratings):
    """Count, sum and sum of squares of each item's ratings."""
    return [len(r) for r in ratings], [sum(r) for r in ratings], [sum(x * x for x in r) for r in ratings]


# Published and hand-worked values


@pytest.mark.parametrize(
    ("table", "level", "published"),
    [
        (BINARY, Level.NOMINAL, 0.095),
        (NOMINAL, Level.NOMINAL, 0.692),
        (WITH_GAPS, Level.NOMINAL, 0.743),
        (WITH_GAPS, Level.ORDINAL, 0.815),
        (WITH_GAPS, Level.INTERVAL, 0.849),
    ],
)
def test_alpha_is_krippendorffs_own(table, level, published):
    assert alpha(histogram_of(table), level) == approx(published, abs=5e-4)


def test_fleiss_kappa_is_fleiss_own():
    assert fleiss_kappa(FLEISS) == approx(0.430, abs=5e-4)
    assert percent_agreement(FLEISS) == approx(0.5556, abs=5e-5)


def test_crepes_agreement_and_kappa_belong_to_a_third_of_false_presuppositions():
    assert (percent_agreement(CREPE), round(fleiss_kappa(CREPE), 2)) == (0.75, 0.43)
    assert fleiss_kappa(CREPE) == approx((0.75 - 0.5614) / (1 - 0.5614), abs=3e-4)


def test_interval_alpha_measures_distance_by_the_values_of_the_categories():
    # Two units, {0, 1} and {1, 10}: Do = (2*1 + 2*81) / 4 = 41; De = 2*(2*1 + 2*81 + 1*100) / (4*3) = 44.
    assert alpha({(1, 1, 0): 1, (0, 1, 1): 1}, Level.INTERVAL, values=(0, 1, 10)) == approx(1 - 41 / 44)


def test_percent_agreement_averages_over_items_and_not_over_pairs():
    assert percent_agreement({(2, 0): 1, (2, 2): 1}) == approx((1 + 4 / 12) / 2)


def test_fleiss_kappa_takes_the_number_of_votes_most_items_have():
    pairs = {(2, 0): 5, (1, 1): 2, (0, 2): 1}
    triples = {(3, 0): 3, (2, 1): 2, (1, 2): 1, (0, 3): 1}
    assert estimate(pairs | triples, "fleiss_kappa") == estimate_with_left_out(pairs, "fleiss_kappa", 7)


def test_fleiss_kappa_prefers_more_votes_among_equally_common_numbers():
    pairs = {(2, 0): 5, (1, 1): 2}
    triples = {(3, 0): 3, (2, 1): 3, (0, 3): 1}
    assert estimate(pairs | triples, "fleiss_kappa") == estimate_with_left_out(triples, "fleiss_kappa", 7)


def estimate_with_left_out(histogram, measure, left_out):
    return Estimate(**estimate(histogram, measure).as_dict() | {"left_out": left_out})


@pytest.mark.parametrize(
    ("matrix", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),  # Po 0.7, Pe 0.5
        ([[3, 0], [0, 4]], 1.0),
        ([[0, 5], [0, 0]], 0.0),  # each rater has a word of their own
        ([[7, 0], [0, 0]], None),
        ([[0, 0], [0, 0]], None),
    ],
)
def test_cohen_kappa_of_two_fixed_raters(matrix, kappa):
    assert cohen_kappa(matrix) == (kappa if kappa is None else approx(kappa))


# Sliders


def test_alpha_of_moments_is_krippendorffs_interval_alpha():
    units = [[int(v) for v in unit if v != "."] for unit in zip(*WITH_GAPS, strict=True)]
    assert alpha_of_moments(*moments_of(units)) == approx(0.849, abs=5e-4)


@pytest.mark.parametrize(
    ("ratings", "value"),
    [
        ([], None),
        ([[10.1], [64.75]], None),
        ([[99.9] * 5, [99.9] * 3, [99.9] * 7, [0.0]], None),  # no two of these sums round alike
        ([[10.1] * 3, [64.7] * 5], 1.0),
    ],
)
def test_alpha_of_moments_sees_through_rounding(ratings, value):
    assert alpha_of_moments(*moments_of(ratings)) == value


def test_alpha_of_moments_sees_one_different_rating_among_half_a_million():
    n, sums, squares = (np.full(100_000, moment) for moment in (5, 5 * 99.99, 5 * 99.99**2))
    sums[7], squares[7] = 4 * 99.99 + 100, 4 * 99.99**2 + 100**2
    assert alpha_of_moments(n, sums, squares) == approx(0, abs=1e-5)  # Do = De when one single rating differs


# Large numbers


@pytest.mark.parametrize("measure", MEASURES[:2])
def test_ten_million_items_with_each_profile_give_the_same_value_as_one(measure):
    large = {profile: items * 10**7 for profile, items in FLEISS.items()}
    assert estimate(large, measure).value == approx(estimate(FLEISS, measure).value, rel=1e-12)


def test_ten_million_votes_on_an_item_do_not_overflow():
    n = 10**7
    assert percent_agreement({(n, n): n}) == approx((n - 1) / (2 * n - 1), rel=1e-12)
    assert [alpha({(n, n): n}, level) for level in Level] == approx([0, 0, 0], abs=1e-7)
    assert fleiss_kappa({(n, n): n}) == approx(0, abs=1e-7)


# Estimates: undefined values, what was left out, intervals


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("histogram", "left_out"), [({}, 0), ({(2, 0): 0}, 0), ({(1, 0): 3, (0, 0): 2}, 5)])
def test_without_two_votes_on_an_item_there_is_no_value(measure, histogram, left_out):
    assert estimate(histogram, measure) == Estimate(None, None, None, 0, left_out, NO_PAIRS)


@pytest.mark.parametrize("measure", MEASURES[1:])
@pytest.mark.parametrize("level", Level)
def test_when_every_vote_is_the_same_chance_explains_everything(measure, level):
    histogram = {(3, 0): 4, (0, 1): 2}
    assert estimate(histogram, measure, level=level) == Estimate(None, None, None, 4, 2, ALL_THE_SAME)


def test_when_every_vote_is_the_same_percent_agreement_is_whole():
    assert estimate({(3, 0): 4}, "percent_agreement") == Estimate(1.0, 1.0, 1.0, 4, 0, "")


@pytest.mark.parametrize(("measure", "value"), [(MEASURES[0], 1 / 3), (MEASURES[1], -0.5), (MEASURES[2], 0.0)])
def test_one_item_has_a_value_and_no_interval(measure, value):
    expected = Estimate(approx(value), None, None, 1, 0, ONE_ITEM)
    assert estimate({(2, 1): 1}, measure) == expected


def test_an_interval_is_refused_when_most_resamples_are_undefined():
    # A resample holds both items, and kappa is 1, or one of them twice, and it is undefined.
    outcomes = set()
    for seed in range(100):
        defined = sum(map(all, np.random.default_rng(seed).multinomial(2, (0.5, 0.5), size=4)))
        outcomes.add((defined, estimate({(2, 0): 1, (0, 2): 1}, "fleiss_kappa", replicates=4, seed=seed)))
    refused, given = Estimate(1.0, None, None, 2, 0, MOSTLY_UNDEFINED), Estimate(1.0, 1.0, 1.0, 2, 0, "")
    assert outcomes == {(0, refused), (1, refused), (2, given), (3, given), (4, given)}


def test_an_interval_of_percent_agreement_is_that_of_a_share():
    e = estimate(CREPE, "percent_agreement")
    margin = 1.96 * (0.75 * 0.25 / 1000) ** 0.5
    assert e == Estimate(0.75, approx(0.75 - margin, abs=0.004), approx(0.75 + margin, abs=0.004), 1000, 0, "")


@pytest.mark.parametrize(
    ("histogram", "measure", "level", "point"),
    [
        (FLEISS, "percent_agreement", Level.NOMINAL, percent_agreement),
        (FLEISS, "fleiss_kappa", Level.NOMINAL, fleiss_kappa),
        *((histogram_of(WITH_GAPS), "krippendorff_alpha", v, lambda h, v=v: alpha(h, v)) for v in Level),
        ({(2, 0): 20, (1, 1): 1}, "fleiss_kappa", Level.NOMINAL, fleiss_kappa),  # a third of the resamples undefined
    ],
)
def test_the_interval_is_that_of_the_point_over_resampled_histograms(histogram, measure, level, point):
    profiles = sorted(p for p in histogram if sum(p) >= 2)
    items = np.array([histogram[p] for p in profiles])
    draws = np.random.default_rng(5).multinomial(items.sum(), items / items.sum(), size=200)
    values = [point(dict(zip(profiles, draw.tolist(), strict=True))) for draw in draws]
    low, high = np.percentile([v for v in values if v is not None], (2.5, 97.5))
    e = estimate(histogram, measure, level=level, replicates=200, seed=5)
    assert (e.value, e.low, e.high) == (point(histogram), approx(low), approx(high))


@pytest.mark.parametrize("measure", MEASURES)
def test_the_same_seed_gives_the_same_interval_in_whatever_order_the_profiles_come(measure):
    backwards = dict(reversed(FLEISS.items()))
    assert estimate(FLEISS, measure, seed=3) == estimate(backwards, measure, seed=3)
    assert estimate(FLEISS, measure, seed=3) != estimate(FLEISS, measure, seed=4)


def test_an_estimate_is_a_flat_mapping_for_json():
    assert Estimate(0.5, 0.25, 0.75, 8, 1, "").as_dict() == {
        "value": 0.5,
        "low": 0.25,
        "high": 0.75,
        "items": 8,
        "left_out": 1,
        "reason": "",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: estimate(CREPE, "scott_pi"),
        lambda: alpha(CREPE, Level.INTERVAL, values=(1, 2, 3)),
        lambda: percent_agreement({(2, 0): 1, (1, 1, 0): 1}),
    ],
    ids=["unknown measure", "three values for two categories", "profiles of two protocols"],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"\w+ \w+"):  # a sentence
        wrong()


# Histograms


def test_items_with_a_filter_vote_are_left_out_of_crepes_agreement():
    filtered = {(2, 0, 0): 30, (1, 1, 0): 10, (1, 0, 1): 10}
    unfiltered = {(0, *profile): items for profile, items in CREPE.items()}
    assert leave_out(filtered | unfiltered, {0}) == (CREPE, 50)


def test_leaving_out_nothing_changes_nothing():
    assert leave_out(CREPE, ()) == (CREPE, 0)


def test_merging_adds_the_items_of_equal_profiles():
    assert merge({(2, 0): 1, (1, 1): 2}, {}, {(1, 1): 3, (0, 2): 4}) == {(2, 0): 1, (1, 1): 5, (0, 2): 4}


# Real ratings. NOPE's own agreement is of its main corpus, which is not in the data pack; these are its fillers.


@pytest.fixture
def nope_ratings():
    if not NOPE.exists():
        pytest.skip("the data pack is not beside this checkout (../shared/data)")
    ratings = defaultdict(list)
    with NOPE.open(newline="") as file:
        for row in csv.DictReader(file):
            ratings[row["item"]].append(float(row["rating"]))
    return list(ratings.values())


def test_sliders_of_nope_agree_as_the_krippendorff_package_says(nope_ratings):
    whole = [[float(round(x)) for x in r] for r in nope_ratings]  # the package keeps a square of distinct ratings
    widest = max(map(len, whole))
    table = np.array([r + [np.nan] * (widest - len(r)) for r in whole]).T
    peer = krippendorff.alpha(reliability_data=table, level_of_measurement="interval")
    assert alpha_of_moments(*moments_of(whole)) == approx(peer, abs=1e-9)


@pytest.mark.parametrize("level", Level)
def test_labels_of_nope_agree_as_the_krippendorff_package_says(nope_ratings, level):
    votes = [np.bincount(np.digitize(r, (10, 90), right=True), minlength=3) for r in nope_ratings]
    peer = krippendorff.alpha(value_counts=np.array(votes), level_of_measurement=level)
    assert alpha(Counter(tuple(v.tolist()) for v in votes), level) == approx(peer, abs=1e-9)
