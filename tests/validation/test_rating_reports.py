"""Reports of pairs, answers and outputs: the numbers a paper prints, worked by hand for a few items."""

import csv
import io
import json

import pytest
from django.core.management import call_command

from annotation.models import Annotation
from tests.factories import LONG_AGO
from tests.ratings import SYSTEMS, give, make_answers_study, make_outputs_study, make_pairs_study, scores
from validation import adjudication, reports
from validation.reports import synqa2

pytestmark = pytest.mark.django_db
YES, NO = {"acceptable": True}, {"acceptable": False}


def sheet(report, name):
    return list(csv.reader(io.StringIO(next(t for t in report.tables if t.name == name).csv)))


def made(study):
    return reports.make(study, at=LONG_AGO)


def test_table_7_has_the_means_and_the_agreement_worked_by_hand():
    """Fluency 0 or 3. Item 1: ref 3 3, x 0 3, y 0 0; item 2: ref 3 3, x 0 0, y 3 0.

    Pairs, item 1: ref-x > =, ref-y > >, x-y = >: 1 of 3; item 2: > >, = >, < =: 1 of 3. Detail is always 1.
    """
    study = make_outputs_study(2)
    give(study, "ann", scores(model_x=0, model_y=0), scores(model_x=0, model_y=3))
    give(study, "ben", scores(model_x=3, model_y=0), scores(model_x=0, model_y=0))
    report = made(study)
    assert sheet(report, "table7") == [
        ["system", "fluency", "detail", "items"],
        ["reference", "3.0", "1.0", "2"],
        ["model-x", "0.75", "1.0", "2"],
        ["model-y", "0.75", "1.0", "2"],
        ["agreement on pairs %", "33.33", "100.0", "2"],
    ]
    assert report.numbers["table7"]["model-x"]["fluency"]["value"] == 0.75
    assert report.numbers["pairwise_agreement"]["fluency"]["value"] == pytest.approx(1 / 3)
    intervals = sheet(report, "intervals")
    assert intervals[2][:3] == ["fluency", "model-x", "0.75"]
    assert [float(cell) for cell in intervals[2][3:5]] == [0.0, 1.5]


def test_systems_keep_the_order_of_their_rows_and_ratings_of_the_excluded_are_left_out():
    study = make_outputs_study(1)
    give(study, "ann", scores())
    give(study, "ben", scores(reference=0))
    assert list(made(study).numbers["table7"]) == list(SYSTEMS)


def test_acceptability_by_system_and_kind_as_worked_by_hand():
    """a1, a3 by one system, a2, a4 by another; a3 and a4 have a false assumption."""
    study = make_answers_study(4)
    give(study, "ann", YES, YES, YES, NO)
    give(study, "ben", YES, NO, NO, NO)
    adjudication.adjudicate(study, "a2", "true", why="It is right.", by="test", at=LONG_AGO)
    report = made(study)
    rows = {tuple(row[:2]): row[2:] for row in sheet(report, "acceptability")[1:]}
    assert rows["secret-model", "without"] == ["1.0", "", "", "1.0", "100.0", "", "1"]
    assert rows["secret-model", "with false assumption"][0] == "0.5"
    assert [rows["other-model", "without"][n] for n in (0, 3)] == ["0.5", "1.0"]
    # All: scores 1, .5, .5, 0; with what was decided 1, 1, .5, 0; two of four equal; yes-yes 1, yes-no 2, no-no 1.
    assert [rows["all", "all"][n] for n in (0, 3, 4, 5, 6)] == ["0.5", "0.625", "50.0", "0.2", "4"]
    assert sheet(report, "disagreements")[1:] == [
        ["a2", "other-model", "without", "yes, no", "acceptable"],
        ["a3", "secret-model", "with false assumption", "yes, no", ""],
    ]
    assert [each["adjudicated"] for each in report.numbers["disagreements"]] == [True, None]


def test_pairs_are_counted_by_what_became_of_them():
    rows = [("single_hop", "keep")] * 3 + [("single_hop", "holds"), ("multi_hop", "disputed")]
    found = synqa2.by_kind(rows)
    assert found["single_hop"]["kept"]["value"] == 0.75
    del found["all"]["kept"]
    assert found["all"] == {
        "pairs": 5, "keep": 3, "holds": 1, "nonsense": 0, "original wrong": 0, "disputed": 1,
    }  # fmt: skip
    assert found["multi_hop"]["kept"]["value"] is None


def test_the_report_of_pairs_names_the_published_shares_beside():
    study = make_pairs_study(3)
    give(study, "ann", {"verdict": "keep"}, {"verdict": "holds"}, {"verdict": "keep"})
    give(study, "ben", {"verdict": "keep"}, {"verdict": "holds"}, {"verdict": "unsure"})
    report = made(study)
    first = sheet(report, "pairs")[1]
    assert (first[:7], first[7], first[-1]) == (["single hop", "2", "1", "1", "0", "0", "0"], "50.0", "59.65")
    assert report.notes == ["1 pairs still wait for verdicts."]


@pytest.mark.parametrize("make", [make_outputs_study, make_answers_study, make_pairs_study])
def test_a_study_without_answers_has_a_report_that_says_so(make, tmp_path):
    study = make(1)
    assert "so there is nothing to count." in made(study).notes[0]
    call_command("report", study.slug, "--out", str(tmp_path / "made"))
    assert json.loads((tmp_path / "made" / "numbers.json").read_text())["study"] == study.slug


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (make_outputs_study, scores(reference=0), scores()),
        (make_answers_study, YES, NO),
        (make_pairs_study, {"verdict": "keep"}, {"verdict": "keep"}),
    ],
)
def test_every_part_of_a_report_is_written_to_files(make, first, second, tmp_path):
    study = make(2)
    give(study, "ann", first, first)
    give(study, "ben", second, second)
    report = made(study)
    written = report.write(tmp_path)
    assert len(written) == 1 + 2 * len(report.tables) + 2 * len(report.figures)
    assert all((tmp_path / name).stat().st_size for name in written)
    assert Annotation.objects.filter(uncounted="").count() == 4
