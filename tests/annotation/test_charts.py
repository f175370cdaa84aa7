"""Pictures: the numbers they show, that they stand alone, and that no text breaks out of them."""

from datetime import date
from xml.etree import ElementTree

import pytest

from annotation import charts
from annotation.charts import Measured, Part
from annotation.svg import LOOKS, swatch

NS = {"s": "http://www.w3.org/2000/svg"}
EVIL = '<script>alert("x")</script>'
PARTS = [
    Part("waiting", "waiting", 60, "empty", "/i?state=waiting"),
    Part("settled", "settled", 40, "solid", "/i?state=settled"),
]


def texts(svg):
    """What a person reads in the picture, in drawing order."""
    return [node.text for node in ElementTree.fromstring(svg).findall(".//s:text", NS)]


def every_chart():
    return {
        "agreement": charts.estimates("a", EVIL, [Measured(EVIL, EVIL, 0.75, 0.5, 1.0, 4)]),
        "labels": charts.shares("l", EVIL, {EVIL: {EVIL: 3, "normal": 1}, "Gold": {EVIL: 0, "normal": 0}}),
        "days": charts.days("d", EVIL, {EVIL: {date(2026, 11, 2): 3}}),
        "times": charts.times("t", EVIL, {EVIL: {60: 3, 90: 1}}),
    }


@pytest.mark.parametrize("name", ["agreement", "labels", "days", "times"])
def test_a_picture_is_whole_xml_with_a_title_and_text_stays_text(name):
    chart = every_chart()[name]
    root = ElementTree.fromstring(chart.svg)
    assert root.find("s:title", NS).text == EVIL
    assert root.get("aria-labelledby") == " ".join(root.find(f"s:{part}", NS).get("id") for part in ("title", "desc"))
    assert not root.findall(".//s:script", NS)
    assert not [node for node in root.iter() if "style" in node.attrib or "onload" in node.attrib]


@pytest.mark.parametrize("name", ["agreement", "labels", "days", "times"])
def test_every_fill_that_a_picture_names_is_defined_in_it(name):
    root = ElementTree.fromstring(every_chart()[name].svg)
    used = {node.get("fill") for node in root.iter() if str(node.get("fill")).startswith("url(")}
    defined = {f"url(#{node.get('id')})" for node in root.iter("{http://www.w3.org/2000/svg}pattern")}
    assert used <= defined


def test_a_progress_bar_is_as_long_as_its_counts_and_links_to_their_items():
    root = ElementTree.fromstring(charts.progress("p", "Progress", PARTS))
    stretches = [(a.get("href"), a[0].get("width"), a[0].get("x"), a[0][0].text) for a in root.findall("s:a", NS)]
    assert stretches == [
        ("/i?state=waiting", "59.88%", "0.00%", "waiting: 60 of 100"),
        ("/i?state=settled", "40.12%", "59.88%", "settled: 40 of 100"),
    ]


def test_one_item_in_a_million_is_still_to_be_seen():
    parts = [Part("a", "waiting", 999_999, "empty"), Part("b", "unresolved", 1, "barred")]
    root = ElementTree.fromstring(charts.progress("p", "Progress", parts))
    assert [box.get("width") for box in root.findall("s:rect", NS)] == ["99.40%", "0.60%"]


def test_a_progress_bar_without_links_says_its_counts_to_screen_readers():
    root = ElementTree.fromstring(charts.progress("p", "Progress of X", [Part("a", "waiting", 2, "empty")]))
    assert (root.get("role"), root.find("s:desc", NS).text) == ("img", "waiting 2")


def test_every_part_of_a_bar_looks_different_even_without_colour():
    paths = [path for colour, path in LOOKS.values()]
    in_the_bar = [LOOKS[look][1] for look in ("empty", "hatched", "crossed", "solid", "dotted", "barred")]
    assert len(set(in_the_bar)) == 6
    assert set(in_the_bar) <= set(paths)


def test_agreement_shows_points_with_intervals_and_an_undefined_one_with_its_reason():
    chart = charts.estimates(
        "a",
        "Agreement",
        [
            Measured("Find", "percent", 0.75, 0.5, 1.0, 4),
            Measured("Find", "kappa", None, None, None, 0, "Nothing yet."),
        ],
    )
    assert texts(chart.svg)[:5] == ["Find", "percent", "0.75 (0.50 to 1.00)", "kappa", "undefined"]
    assert chart.rows == (
        ("Find", "percent", 0.75, 0.5, 1.0, 4, ""),
        ("Find", "kappa", "", "", "", 0, "Nothing yet."),
    )
    assert chart.csv.splitlines() == [
        "stage,measure,value,low (95%),high (95%),items compared,why",
        "Find,percent,0.75,0.5,1.0,4,",
        "Find,kappa,,,,0,Nothing yet.",
    ]


def test_agreement_below_chance_widens_the_axis():
    chart = charts.estimates("a", "Agreement", [Measured("", "kappa", -0.13, -0.35, 0.1, 4)])
    assert texts(chart.svg)[:9] == ["kappa", "−0.13 (−0.35 to 0.10)", "−0.4", "−0.2", "0", "0.2", "0.4", "0.6", "0.8"]


def test_labels_are_counts_and_shares_with_their_intervals():
    chart = charts.shares("l", "Labels", {"Written": {"false": 26, "normal": 74}, "Gold": {"false": 0}})
    assert texts(chart.svg) == [
        *["Written, n = 100", "false", "26: 26% (18% to 35%)", "normal", "74: 74% (65% to 82%)"],
        *["Gold, n = 0", "false", "none yet"],
    ]
    assert chart.rows == (
        ("Written", "false", 26, 0.26, 0.184, 0.3537),
        ("Written", "normal", 74, 0.74, 0.6463, 0.816),
        ("Gold", "false", 0, "", 0.0, 1.0),
    )


def test_days_share_one_axis_and_a_day_without_work_is_a_gap():
    chart = charts.days(
        "d", "Work", {"Find": {date(2026, 10, 31): 2, date(2026, 11, 2): 4}, "Judge": {date(2026, 11, 2): 1}}
    )
    root = ElementTree.fromstring(chart.svg)
    columns = [(box.get("x"), box[0].text) for box in root.findall("s:rect", NS)]
    assert columns == [("1", "31 October: 2"), ("49", "2 November: 4"), ("49", "2 November: 1")]
    assert chart.rows == (("2026-10-31", 2, 0), ("2026-11-02", 4, 1))


def test_only_the_last_days_are_drawn_and_the_table_has_all():
    counts = {date(2026, 9, 1): 5, date(2026, 11, 1): 1, date(2026, 11, 2): 1}
    chart = charts.days("d", "Work", {"Find": counts}, last=2)
    assert texts(chart.svg)[:2] == ["Find", "7 in all"]
    assert len(ElementTree.fromstring(chart.svg).findall("s:rect", NS)) == 2
    assert len(chart.rows) == 3


def test_minutes_show_the_median_with_its_interval():
    chart = charts.times("t", "Minutes", {"Find": dict.fromkeys(range(1, 101), 1), "Judge": {}})
    assert texts(chart.svg) == [
        *["Find", "median 0.84 (0.67 to 1.02) min", "10"],
        *["Judge", "not timed yet", "0 min", "longer than 2.3 min"],
    ]
    assert chart.rows == (("Find", 100, 0.84, 0.67, 1.02, 0.43, 1.25),)


def test_pictures_of_an_empty_study_say_so():
    assert texts(charts.days("d", "Work", {"Find": {}}).svg) == ["Find", "0 in all"]
    assert texts(charts.times("t", "Minutes", {}).svg) == ["0 min", "longer than 0.5 min"]
    assert "No items yet" in charts.progress("p", "Progress", [])


@pytest.mark.parametrize("look", LOOKS)
def test_a_swatch_may_be_repeated_on_a_page_as_it_has_no_ids(look):
    root = ElementTree.fromstring(f'<p xmlns="{NS["s"]}">{swatch(look)}</p>')
    assert not [node for node in root.iter() if "id" in node.attrib or "url(" in node.get("fill", "")]
    assert root[0].get("aria-hidden") == "true"
