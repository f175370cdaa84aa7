"""Reports: the papers' tables on hand-worked sets, files, and what is said where nothing can be said."""

import csv
import io
import json
import re
import zipfile
from datetime import timedelta
from statistics import stdev

import pytest
from django.core.management import CommandError, call_command

from annotation import jobs
from annotation.models import Job
from annotation.svg import el
from tests.factories import FALSE_ANSWER, LONG_AGO, NORMAL_ANSWER, make_items, make_study
from tests.people import answer
from tests.slider import CAREFUL, make_fillers, make_pairs, make_slider_study, rate, ratings
from validation import reports
from validation.calibration import calibrate, intervals
from validation.figures import Mean, Rater, cuts, points, stacked
from validation.reports import crepe, nope
from validation.reports.nope import Rated
from validation.reports.parts import Report, Table, escape_tex
from validation.reports.pdf import pdf_of

NOW = LONG_AGO + timedelta(days=1)


def rated(item, labels, *, negated=False, trigger="clefts", adversarial=False, ratings=(0, 0, 0, 0, 0)):
    majority = next((label for label in "ENC" if labels.count(label) >= 3), None)
    polarity = "negated" if negated else "non-negated"
    return Rated(item, trigger, polarity, adversarial, tuple(ratings), labels, majority)


SET = [
    rated("1", "EEEEE"),
    rated("1", "EEENN", negated=True),  # no change
    rated("2", "EEEEN"),
    rated("2", "NNNEE", negated=True),  # E to N
    rated("3", "CCCCC"),
    rated("3", "EEEEC", negated=True),  # C to E
    rated("4", "NNNNN"),
    rated("4", "CCCNN", negated=True),  # other
    rated("5", "EENNC"),  # no majority
    rated("5", "EEEEE", negated=True),
    rated("6", "EEEEE", trigger="re_verbs"),
    rated("6", "CCCEE", trigger="re_verbs", negated=True),
    rated("7", "NNNNN", adversarial=True),
    rated("7", "CCCCN", adversarial=True, negated=True),
]


def test_table_2_counts_changes_from_the_sentence_that_is_not_negated():
    assert nope.table2(SET) == {
        "clefts": {"no_change": 1, "E_to_NC": 1, "NC_to_E": 1, "other": 1, "n": 4},
        "re_verbs": {"no_change": 0, "E_to_NC": 1, "NC_to_E": 0, "other": 0, "n": 1},
    }


def test_table_3_is_over_items_with_a_majority_but_for_those_without():
    # 13 of 14 have a majority; 6 of them are unanimous; the shares are 6 x 1, 3 x 0.8 and 4 x 0.6.
    assert nope.table3(SET) == {
        "items": 14,
        "items_with_majority": 13,
        "unanimous_pct": round(100 * 6 / 13, 2),
        "individual_equals_majority_pct": round(100 * (6 + 3 * 0.8 + 4 * 0.6) / 13, 2),
        "no_majority_pct": round(100 / 14, 2),
        "unanimous_of_all_pct": round(100 * 6 / 14, 2),
    }


def test_figures_2_and_4_are_of_the_main_and_the_adversarial_items():
    assert nope.figure2(SET)["clefts|negated"] == {"E": 3, "N": 1, "C": 1}
    assert nope.figure2(SET)["re_verbs|non-negated"] == {"E": 1, "N": 0, "C": 0}
    assert nope.figure4(SET) == {"negated": {"E": 0, "N": 0, "C": 1}, "non-negated": {"E": 0, "N": 1, "C": 0}}
    assert nope.figure4(SET[:2]) == {"negated": {"E": 1, "N": 0, "C": 0}, "non-negated": {"E": 1, "N": 0, "C": 0}}


def test_figure_3_is_the_mean_of_sample_deviations():
    first, second = (0, 10, 20, 30, 40), (50, 50, 50, 50, 100)
    found = nope.figure3([rated("1", "NNNNN", ratings=first), rated("2", "NNNNN", ratings=second)])["clefts"]
    assert found.value == pytest.approx((stdev(first) + stdev(second)) / 2)
    assert found.n == 2


def test_of_nothing_every_number_is_null():
    assert set(nope.table3([]).values()) == {0, None}
    assert (nope.table2([]), nope.figure2([]), nope.figure4([])) == ({}, {}, {})
    assert {e.value for e in nope.agreement([]).values()} == {None}


def test_table_1_of_crepe():
    texts = {
        "question": ["Why is it so?"],
        "comment": ["It is not."],
        "presupposition": ["It is so."],
        "correction": [],
    }
    pairs = [
        crepe.Pair("train", "false presupposition", texts),
        crepe.Pair("train", "normal", {**texts, "presupposition": []}),
        crepe.Pair("dev", "normal", {**texts, "presupposition": []}),
    ]
    found = crepe.table1(pairs)
    assert list(found) == ["dev", "train", "all"]
    assert found["train"] == {
        "items": 2,
        "false_presuppositions": 1,
        "false_presuppositions_pct": 50.0,
        "question_tokens": 4.0,
        "comment_tokens": 3.0,
        "presupposition_tokens": 3.0,
        "correction_tokens": None,
    }
    assert found["all"]["false_presuppositions_pct"] == 33.33
    assert crepe.table1([]) == {}


# --- Files ----------------------------------------------------------------------------------------


def test_a_table_is_csv_for_spreadsheets_and_tex_for_papers():
    table = Table(
        "t", "Shares of R&D", ("name_of", "n", "%"), (("a_b", 1200, 12.345678), ("ü", 3, "")), notes=("Half.",)
    )
    assert list(csv.reader(io.StringIO(table.csv))) == [
        ["name_of", "n", "%"],
        ["a_b", "1200", "12.3457"],
        ["ü", "3", ""],
    ]
    assert table.tex.splitlines()[3:11] == [
        r"  \begin{tabular}{lrr}",
        r"    \toprule",
        r"    name\_of & n & \% \\",
        r"    \midrule",
        r"    a\_b & 1,200 & 12.3 \\",
        r"    ü & 3 &  \\",
        r"    \bottomrule",
        r"  \end{tabular}",
    ]
    assert r"\caption{Shares of R\&D. Half.}" in table.tex


def test_tex_escapes_what_it_must():
    assert escape_tex(r"50% of {a}_b~c^d\e → x") == (
        r"50\% of \{a\}\_b\textasciitilde{}c\textasciicircum{}d\textbackslash{}e $\rightarrow$ x"
    )


CHARTS = [
    stacked("s", "S", {"t <b>": {"negated": {"E": 3, "N": 1}, "non-negated": {}}}, nope.WORDS),
    points("p", "P", {"a": Mean(10.0, 2.0, 5), "b": Mean(3.0, None, 1)}, "points"),
    cuts("c", "C", [Rater("W001", {"entailment": [99.0], "neutral": [60.0]}, 5.0, 95.0, 0.5, ((1.0, 9.0), None))]),
    cuts("e", "E", []),
]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda c: c.name)
def test_every_picture_becomes_a_page_of_pdf_the_same_each_time(chart):
    pdf = pdf_of(chart)
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
    assert pdf_of(chart) == pdf


def test_names_from_outside_are_escaped_in_pictures():
    assert "<b>" not in CHARTS[0].svg
    assert el("text", "<b>") in CHARTS[0].svg or "&lt;b&gt;" in CHARTS[0].svg


def test_only_so_many_people_are_drawn_and_all_are_in_the_numbers():
    chart = cuts("c", "C", [Rater(f"W{n}", {}, 5.0, 95.0, None) for n in range(130)])
    assert "and 30 more, in the table" in chart.svg
    assert len(chart.rows) == 130


def test_a_report_is_written_as_files_or_as_an_archive(tmp_path):
    report = Report({"a": None}, [Table("t", "T", ("x",), ((1,),))], [CHARTS[0]])
    names = ["numbers.json", "tables/t.csv", "tables/t.tex", "figures/s.svg", "figures/s.pdf"]
    assert report.write(tmp_path / "out") == names
    assert json.loads((tmp_path / "out" / "numbers.json").read_text()) == {"a": None}
    report.zip(tmp_path / "r.zip")
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert archive.namelist() == names


# --- From studies ---------------------------------------------------------------------------------


def small_study(**options):
    """Two pairs of one trigger, five raters who rate fillers alike."""
    study = make_slider_study(**options)
    make_pairs(study, 2)
    make_fillers(study)
    given = {
        "p1-original": (1000, 1000, 1000, 1000, 1000),
        "p1-negated": (1000, 1000, 500, 500, 500),
        "p2-original": (0, 0, 0, 500, 500),
        "p2-negated": (1000, 1000, 500, 500, 0),
    }
    rows = {w: CAREFUL | {item: p[n] for item, p in given.items()} for n, w in enumerate("abcde")}
    rate(study, ratings(rows))
    return study


@pytest.mark.django_db
def test_the_report_of_a_slider_study():
    study = small_study(pay_per_sitting=2.5)
    numbers = json.loads(json.dumps(reports.make(study, at=NOW).numbers))
    assert numbers["table2"] == {"clefts": {"no_change": 0, "E_to_NC": 1, "NC_to_E": 0, "other": 0, "n": 1}}
    assert (numbers["table3"]["items"], numbers["table3"]["items_with_majority"]) == (4, 3)
    assert numbers["table3"]["no_majority_pct"] == 25.0
    assert numbers["figure2"]["clefts|non-negated"] == {"E": 1, "N": 0, "C": 1}
    assert numbers["thresholds"]["entailment_mean"] == 82.23
    assert numbers["thresholds"]["method"] == "exact"
    assert (numbers["agreement"]["items"], numbers["agreement"]["all_items"]["items"]) == (3, 4)
    assert numbers["agreement"]["adversarial"]["fleiss_kappa"] is None
    assert numbers["agreement"]["adversarial"]["reasons"]["fleiss_kappa"]
    assert [row["share_pct"] for row in numbers["workers"]] == [20.0] * 5
    assert numbers["times"]["rate"]["seconds_per_answer"] == {
        "median": None,
        "low": None,
        "high": None,
        "n": 0,
        "reason": "No answer carries a time: they were made elsewhere.",
    }
    assert numbers["pay"]["hourly_median"] == {"rate": None}


@pytest.mark.django_db
def test_the_fixed_threshold_is_used_and_stands_beside_what_was_learnt():
    learnt = reports.make(small_study(), at=NOW).numbers["thresholds"]
    fixed = reports.make(small_study(slug="fixed", fixed_contradiction=2.2133), at=NOW).numbers["thresholds"]
    assert fixed["fixed_contradiction"] == 2.2133
    assert fixed["contradiction_mean"] == learnt["contradiction_mean"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "fillers"),
    [
        ({}, True),  # nobody has rated anything
        ({"a": {"p1-original": 900}}, True),  # one worker, one rating
        ({"a": CAREFUL}, True),  # fillers alone
        ({w: {"p1-original": 900} for w in "abcde"}, True),  # nobody rated a filler
        ({w: {"p1-original": 900, "f-entailment-1": 990} for w in "abcde"}, True),  # one class missing
        ({w: {"p1-original": 900} for w in "ab"}, False),
    ],
)
def test_a_study_of_which_little_is_known_says_so_and_invents_nothing(given, fillers):
    study = make_slider_study(votes=2 if len(given) == 2 else 5)
    make_pairs(study, 1)
    if fillers:
        make_fillers(study)
    rate(study, ratings(given))
    numbers = json.loads(json.dumps(reports.make(study, at=NOW).numbers, allow_nan=False))
    if len(given) < 5:
        assert numbers["table3"]["unanimous_pct"] is None
        assert numbers["agreement"]["fleiss_kappa"] is None
    thresholds = numbers["thresholds"]
    if thresholds["entailment_mean"] is None:
        assert thresholds["reason"]
    if not any(e for e in given.values() if "p1-original" in e) or len(given) == 1:
        assert "No item has all its ratings yet, so there is nothing to count." in numbers["notes"]


def test_thresholds_of_workers_without_fillers_are_everybodys_or_the_usual_ones():
    assert calibrate([], [], [], everybody=["ann"])["ann"].entailment.value == 90
    with_others = calibrate(["ben"] * 2, ["neutral", "entailment"], [60.0, 80.0], everybody=["ann"])
    assert with_others["ann"].entailment.value == with_others["ben"].entailment.value == 70
    assert with_others["ann"].entailment.reason


def test_bootstrap_intervals_hold_the_threshold_and_are_none_where_nothing_can_be_drawn():
    rows = [("ann", "neutral", 55.0 + n) for n in range(10)] + [("ann", "entailment", 85.0 + n) for n in range(10)]
    rows += [("ben", "neutral", 60.0)]
    found = intervals(*zip(*rows, strict=True))
    low, high = found["ann"][1]
    value = calibrate(*zip(*rows, strict=True))["ann"].entailment.value
    assert 50 < low <= value <= high < 100
    assert found["ann"][0] is None  # nothing below the middle
    assert found["ben"] == (None, None)  # one rating
    assert intervals(*zip(*rows, strict=True)) == found


@pytest.mark.django_db
def test_the_report_of_a_crepe_study():
    study = make_study()
    make_items(study, 3)
    for code in ("ann", "ben"):
        answer(study, code, FALSE_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER)
    report = reports.make(study, at=NOW)
    assert report.numbers["table1"]["all"]["false_presuppositions_pct"] == 33.33
    assert report.numbers["agreement"]["generate"]["fleiss_kappa"]["value"] == 1
    assert [table.name for table in report.tables] == ["table1", "agreement", "workers", "times"]
    assert reports.make(make_study("empty"), at=NOW).numbers["notes"]


@pytest.mark.django_db
def test_the_command_writes_the_files_and_names_them(tmp_path, capsys):
    small_study()
    call_command("report", "nope", out=str(tmp_path / "r"))
    printed = json.loads(capsys.readouterr().out)
    assert sorted(printed["files"]) == sorted(
        str(p.relative_to(tmp_path / "r")) for p in (tmp_path / "r").rglob("*") if p.is_file()
    )
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="Cannot write to"):
        call_command("report", "nope", out=str(tmp_path / "file"))


@pytest.mark.django_db
def test_calibrate_prints_a_line_for_each_worker_and_changes_nothing(capsys):
    study = small_study()
    call_command("calibrate", "nope")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["worker"] for line in lines] == [f"W00{n}" for n in range(1, 6)]
    assert {(line["filler_accuracy"], line["fillers"]) for line in lines} == {(1.0, 6)}
    call_command("calibrate", "nope", method="brent", fixed_contradiction="2.2133")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["contradiction_max"] for line in lines} == {2.2133}
    study.refresh_from_db()
    assert (study.options["fixed_contradiction"], study.options["threshold_method"]) == (0.0, "exact")
    with pytest.raises(CommandError, match="fixed_contradiction must be"):
        call_command("calibrate", "nope", fixed_contradiction="77")


@pytest.mark.django_db
def test_calibrate_refuses_what_has_no_slider_and_what_nobody_rated():
    make_study()
    make_slider_study()
    with pytest.raises(CommandError, match="only studies with a slider have"):
        call_command("calibrate", "crepe-a")
    with pytest.raises(CommandError, match="Nobody has rated anything yet"):
        call_command("calibrate", "nope")


@pytest.mark.django_db
def test_the_page_asks_for_a_report_shows_it_and_gives_the_archive(client, django_user_model, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    study = small_study()
    boss = django_user_model.objects.create_superuser("boss")
    client.force_login(boss)
    assert "Nobody has made one yet." in client.get("/studies/nope/report/").content.decode()
    client.post("/studies/nope/report/make/")
    client.post("/studies/nope/report/make/")  # while one is being made, there is no second
    job = Job.objects.get()
    jobs.run(job.pk)
    shown = client.get("/studies/nope/report/").content.decode()
    assert "Table 2" in shown
    assert "Figure 3" in shown
    assert shown.count("<svg") >= 4
    archive = client.get(f"/studies/nope/data/{job.pk}/file/")
    assert archive["Content-Disposition"].endswith('.zip"')
    assert zipfile.is_zipfile(io.BytesIO(b"".join(archive.streaming_content)))
    job.refresh_from_db()
    job.file.delete(save=True)
    assert client.get("/studies/nope/report/").status_code == 200
    assert study.jobs.count() == 1


@pytest.mark.django_db
def test_the_report_of_others_is_not_there(client, django_user_model):
    small_study()
    client.force_login(django_user_model.objects.create_user("stranger"))
    assert client.get("/studies/nope/report/").status_code == 404
    assert client.post("/studies/nope/report/make/").status_code in (403, 404)
    assert client.get("/studies/nope/thresholds/").status_code == 404


@pytest.mark.django_db
def test_the_picture_of_thresholds_is_a_page_and_files(client, django_user_model):
    study = small_study()
    reports.make(study, at=NOW)
    client.force_login(django_user_model.objects.create_superuser("boss"))
    assert "W003" in client.get("/studies/nope/thresholds/").content.decode()
    assert client.get("/studies/nope/thresholds/?format=csv").content.decode().startswith("worker,contradiction up to")
    make_study()
    assert client.get("/studies/crepe-a/thresholds/").status_code == 404
