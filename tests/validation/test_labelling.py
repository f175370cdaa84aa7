"""Labels that need the whole study: thresholds, what they make of ratings, and that nothing stale is left."""

import csv
from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from annotation import exclusion
from annotation.intake import import_items
from annotation.models import Annotation, Item, Study
from tests.factories import LONG_AGO
from tests.slider import (
    CAREFUL,
    CARELESS,
    CERTAIN,
    IMPOSSIBLE,
    OPEN,
    make_fillers,
    make_pairs,
    make_slider_study,
    rate,
    ratings,
)
from validation import labelling, quality, recollection
from validation.agreement import NOT_IN_NUMBERS
from validation.exports import gold_rows
from validation.models import Labelled, Resolution, Tally, Threshold
from validation.queries import agreement_of
from validation.replay import replay

pytestmark = pytest.mark.django_db
NOW = LONG_AGO + timedelta(days=1)
RATERS = ("ann", "ben", "cem", "dia", "eva")
E, N, C = CERTAIN, OPEN, IMPOSSIBLE


def study_with(items, fillers=CAREFUL, **options):
    """items: id -> one position per rater. Everybody rated the fillers alike."""
    study = make_slider_study(**options)
    make_pairs(study, 3)
    make_fillers(study)
    given = {w: {**fillers, **{i: p[n] for i, p in items.items() if n < len(p)}} for n, w in enumerate(RATERS)}
    rate(study, ratings(given))
    return study


def labels(study):
    labelling.refresh(study, at=NOW)
    return dict(Resolution.objects.filter(study=study).values_list("item__ref", "label"))


def test_ratings_become_labels_under_everybodys_own_thresholds():
    study = study_with({"p1-original": (E, E, E, N, C), "p1-negated": (C, C, C, C, N), "p2-original": (E, E, N, N, C)})
    assert labels(study) == {"p1-original": "E", "p1-negated": "C", "p2-original": ""}
    states = dict(study.items.filter(role="work").values_list("ref", "state"))
    assert (states["p1-original"], states["p2-original"], states["p3-original"]) == ("settled", "unresolved", "open")
    rows = {row["uid"]: row for row in gold_rows(study)}
    assert list(rows) == ["p1-original", "p1-negated"]  # in import order, without the one that has no majority
    assert rows["p1-original"]["metadata"] == {
        "item": "p1",
        "version": "original",
        "trigger_type": "clefts",
        "polarity": "non-negated",
        "adversarial": False,
        "nli_labels": ["E", "E", "E", "N", "C"],
        "ratings": [100.0, 100.0, 100.0, 50.0, 0.0],
    }
    kept = [(row["uid"], row["label"]) for row in gold_rows(study, keep_unresolved=True)]
    assert kept == [("p1-original", "E"), ("p1-negated", "C"), ("p2-original", None)]


def test_everybodys_thresholds_are_kept_with_how_good_they_are():
    study = study_with({"p1-original": (E, E, E, E, E)})
    labelling.refresh(study, at=NOW)
    found = Threshold.objects.get(enrolment__worker__code="nope:ann")
    assert found.contradiction < 50 < found.entailment
    assert (found.fillers, found.scored, found.right, found.accuracy) == (6, 4, 4, 1.0)
    assert found.how["entailment"] == {
        "value": found.entailment,
        "accuracy": 1.0,
        "ratings": 3,
        "ties": 1,
        "reason": "",
        "interval": found.how["entailment"]["interval"],
    }
    assert len(found.how["entailment"]["interval"]) == 2


def test_an_option_that_changes_how_work_is_read_changes_labels_at_once():
    fillers = CAREFUL | {"f-contradiction-1": 380, "f-contradiction-2": 390}  # contradiction up to about 33
    study = study_with({"p1-original": (300, 300, 300, 300, 300)}, fillers)
    assert labels(study) == {"p1-original": "C"}
    Study.objects.filter(pk=study.pk).update(options={**study.options, "fixed_contradiction": 2.2133})
    study.refresh_from_db()
    assert labels(study) == {"p1-original": "N"}


def test_replay_shows_what_other_thresholds_would_change_and_writes_nothing():
    fillers = CAREFUL | {"f-contradiction-1": 380, "f-contradiction-2": 390}
    study = study_with({"p1-original": (300,) * 5, "p1-negated": (E,) * 5}, fillers)
    before = labels(study)
    found = replay(study, {"fixed_contradiction": "2.2133"})
    assert (found["settled"], found["same"], len(found["differences"])) == (2, 5, 1)
    assert (found["differences"][0]["from"]["label"], found["differences"][0]["to"]["label"]) == ("C", "N")
    assert labels(study) == before


def test_labelling_again_changes_nothing_and_lazily_it_does_not_even_look():
    study = study_with({"p1-original": (E, E, E, N, C)})
    assert labelling.refresh(study, at=NOW) == 1
    assert labelling.refresh(study, at=NOW) == 0
    Labelled.objects.update(seconds=0, at=NOW + timedelta(days=1))
    Resolution.objects.update(label="X")  # as if somebody had meddled
    assert labelling.refresh(study, at=NOW + timedelta(days=1), lazily=True) == 0
    assert labelling.refresh(study, at=NOW + timedelta(days=1)) == 1


def test_after_one_that_took_long_lazily_waits():
    study = study_with({"p1-original": (E, E, E, N, C)})
    labelling.refresh(study, at=NOW)
    Labelled.objects.update(seconds=10, state="another")
    Resolution.objects.update(label="")
    assert labelling.refresh(study, at=NOW + timedelta(seconds=100), lazily=True) == 0
    assert labelling.refresh(study, at=NOW + timedelta(seconds=300), lazily=True) == 1


def test_an_excluded_worker_teaches_nobody_and_their_items_are_collected_again():
    study = study_with({"p1-original": (E, E, E, N, C), "p1-negated": (E,) * 5})
    assert labels(study) == {"p1-original": "E", "p1-negated": "E"}
    ann = Annotation.objects.filter(worker__code="nope:ann", uncounted="", item__ref="p1-original")
    exclusion.set_aside(study, list(ann.values_list("pk", flat=True)), "excluded", by="t", why="w", at=NOW)
    item = Item.objects.get(ref="p1-original")
    assert (item.state, item.open_seats, item.recollected) == ("open", 1, True)
    assert labels(study) == {"p1-negated": "E"}
    assert not Tally.objects.filter(item=item, measure="label").exists()
    rule = study.protocol.labelling
    assert labelling.excluded(study, rule) == []  # one of two ratings still counts
    rest = Annotation.objects.filter(worker__code="nope:ann", uncounted="")
    exclusion.set_aside(study, list(rest.values_list("pk", flat=True)), "excluded", by="t", why="w", at=NOW)
    assert labels(study) == {}
    assert len(labelling.excluded(study, rule)) == 1
    assert not Threshold.objects.filter(enrolment__worker__code="nope:ann").exists()
    assert len(labelling.fillers_of(study, rule).workers) == 4 * 6


def test_agreement_of_labels_and_of_ratings():
    study = study_with({"p1-original": (E, E, E, E, C), "p1-negated": (C, C, C, C, E), "p2-original": (E, C)})
    labelling.refresh(study, at=NOW)
    of_labels = agreement_of(study, "rate", "label")
    assert (of_labels.items, of_labels.percent_agreement.value) == (2, pytest.approx(0.6))
    assert of_labels.fleiss_kappa.value == pytest.approx(0.2)
    of_ratings = agreement_of(study, "rate", "rating")
    assert (of_ratings.items, of_ratings.krippendorff_alpha.items) == (3, 3)
    assert of_ratings.fleiss_kappa.reason == NOT_IN_NUMBERS


def test_what_excluding_people_would_do_is_what_it_does():
    """Labels change under others' hands, too: a careless rater's fillers had moved everybody's thresholds."""
    study = make_slider_study(revoke_after=1, votes=3)
    make_pairs(study, 3)
    make_fillers(study)
    given = {
        "ann": CAREFUL | {"p1-original": 995, "p1-negated": 20, "p2-original": 900},
        "ben": CAREFUL | {"p1-original": 970, "p1-negated": 30, "p2-original": 900},
        "cem": CAREFUL | {"p1-original": 960, "p1-negated": 15, "p2-original": 940},
        "eva": CARELESS | {"p3-original": 800},
        "dia": CAREFUL | {"p3-original": 600},
        "fay": CAREFUL | {"p3-original": 990},
    }
    rate(study, ratings(given))
    labelling.refresh(study, at=NOW)
    quality.refresh(study, at=NOW, everybody=True)
    rules = {"revoke_filler_accuracy": 0.7}
    plan = recollection.plan(study, rules)
    assert (plan.workers, plan.annotations, plan.items_below, plan.seats) == (1, 1, 1, 1)
    assert sum(plan.before.labels.values()) == len([label for label in labels(study).values() if label])
    recollection.apply(study, rules, by="t", why="careless", at=NOW)
    after = Counter(label for label in labels(study).values() if label)
    assert dict(after) == plan.after.labels
    assert recollection.plan(study, {}).before.agreement == plan.after.agreement


@pytest.mark.parametrize("seed", range(3))
def test_order_names_and_splitting_a_file_never_change_a_number(seed):
    rng = Random(seed)
    items = {
        f"p{n}-{v}": [rng.choice((E, 930, N, 60, C)) for _ in RATERS]
        for n in (1, 2, 3)
        for v in ("original", "negated")
    }
    given = {
        w: {
            **{f: min(1000, max(0, p + rng.randint(-90, 90))) for f, p in CAREFUL.items()},
            **{i: p[n] for i, p in items.items()},
        }
        for n, w in enumerate(RATERS)
    }
    rows = ratings(given)
    numbers = []
    for slug, arranged, rename in (
        ("a", [rows], str),
        ("b", [rng.sample(rows, len(rows))], str),
        ("c", [rows[:17], rows[17:]], str),
        ("d", [rows], {w: f"z{n}" for n, w in enumerate(reversed(RATERS))}.get),
    ):
        study = make_slider_study(slug)
        make_pairs(study, 3)
        make_fillers(study)
        for part in arranged:
            rate(study, [{**row, "worker": rename(row["worker"])} for row in part])
        found = labels(study)
        kappa, alpha = (agreement_of(study, "rate", m).krippendorff_alpha for m in ("label", "rating"))
        cuts = sorted(Threshold.objects.filter(study=study).values_list("contradiction", "entailment"))
        sorted_ratings = {r["uid"]: sorted(r["metadata"]["ratings"]) for r in gold_rows(study, keep_unresolved=True)}
        numbers.append((found, kappa, alpha, cuts, sorted_ratings))
    assert numbers[1:] == numbers[:-1]


SHARED = Path(__file__).parents[3] / "shared" / "data"
PUBLISHED = SHARED / "nope_filler_ratings_20workers.csv"


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the public ratings are not part of this repository")
@pytest.mark.parametrize(("method", "within"), [("exact", 0.005), ("brent", 0.25)])
def test_the_published_ratings_of_fillers_imported_give_the_expected_thresholds(method, within):
    """Some fillers were rated twice by one worker; every rating counts."""
    with PUBLISHED.open() as file:
        rows = list(csv.DictReader(file))
    study = make_slider_study(threshold_method=method)
    fillers = {
        row["item"]: {"id": row["item"], "premise": "P.", "hypothesis": "H.", "expected": row["expected"]}
        for row in rows
    }
    import_items(study, fillers.values(), role="filler", by="t", at=NOW)
    given = [{**row, "stage": "rate", "answer": {"rating": float(row["rating"])}} for row in rows]
    assert rate(study, given).as_dict() == {"created": len(rows), "unchanged": 0, "bad": 0}
    labelling.refresh(study, at=NOW)
    found = {
        row.enrolment.worker.code.removeprefix("nope:"): row
        for row in Threshold.objects.select_related("enrolment__worker")
    }
    with (SHARED / "nope_expected_thresholds_20workers.csv").open() as file:
        for expected in csv.DictReader(file):
            row = found.pop(expected["worker"])
            assert abs(row.entailment - float(expected[f"e_{method}"])) < within
            assert abs(row.contradiction - float(expected[f"c_{method}"])) < within
    assert not found
