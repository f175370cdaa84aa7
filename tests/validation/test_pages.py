"""Researchers' pages of items, the evidence for one, agreement and labels."""

import csv
import html
import io
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import leasing, submission
from annotation.models import Annotation, Event, Item
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, LONG_AGO, NORMAL_ANSWER, make_items, make_sitting, make_study
from tests.people import answer, make_researcher
from validation.agreement import NO_PAIRS

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
HTMX = {"HX-Request": "true"}
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def study(client):
    made = make_study(items_per_sitting=3)
    client.force_login(make_researcher(made))
    return made


def settle(study):
    """q1 settled as normal, q2 filtered, q3 contested; q4 stays as it was imported."""
    make_items(study, 4)
    answer(study, "ann", NORMAL_ANSWER, FILTER_ANSWER, FALSE_ANSWER)
    answer(study, "ben", NORMAL_ANSWER, NORMAL_ANSWER, NORMAL_ANSWER)


def items(client, study, query="", **kwargs):
    return client.get(reverse("validation:items", args=[study.slug]) + query, **kwargs)


def refs(response):
    return re.findall(r'data-row href="[^"]+">([^<]+)</a>', response.content.decode())


def evidence(client, study, ref):
    url = reverse("validation:evidence", args=[study.slug, Item.objects.get(study=study, ref=ref).pk])
    return client.get(url)


def text_of(response):
    """What a person reads, tags and blanks apart."""
    main = response.content.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


# --- Items --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["q1", "q2", "q3", "q4"]),
        ("?state=settled", ["q1"]),
        ("?state=filtered", ["q2"]),
        ("?state=validation", ["q3"]),
        ("?state=waiting", ["q4"]),
        ("?state=working", []),
        ("?stage=validate", ["q3"]),
        ("?role=practice", []),
        ("?label=normal", ["q1"]),
        ("?q=q3", ["q3"]),
        ("?q=CURRENT 4", ["q4"]),
        ("?q=%25", []),
        ("?q=current&state=settled", ["q1"]),
        ("?sort=-ref", ["q4", "q3", "q2", "q1"]),
        ("?sort=label", ["q2", "q1", "q3", "q4"]),
        ("?sort=-answers", ["q1", "q2", "q3", "q4"]),
        ("?sort=answers", ["q4", "q1", "q2", "q3"]),
        ("?page=2", []),
        ("?page=x", ["q1", "q2", "q3", "q4"]),
    ],
)
def test_items_are_found_by_what_the_address_says(client, study, query, found):
    settle(study)
    assert refs(items(client, study, query)) == found


def test_answers_are_sorted_by_how_many_count_also_beyond_the_first_page(client, study):
    make_items(study, 30)
    for code in ("ann", "ben"):
        answer(study, code, *[NORMAL_ANSWER] * 3)
    Annotation.objects.filter(item__ref="q1", worker__code="ben").update(uncounted="late")
    assert refs(items(client, study, "?sort=-answers"))[:4] == ["q2", "q3", "q1", "q4"]
    assert refs(items(client, study, "?sort=answers&page=2")) == ["q29", "q30", "q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?q=a%00b", "Null characters are not allowed."),
        ("?state=lost", "lost is not one of the available choices."),
        ("?stage=judge", "judge is not one of the available choices."),
        ("?sort=payload", "payload is not one of the available choices."),
        (f"?q={'a' * 201}", "Ensure this value has at most 200 characters"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_with_a_sentence(client, study, query, said):
    answer = items(client, study, query)
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_a_chip_is_a_filter_that_keeps_the_others(client, study):
    settle(study)
    page = items(client, study, "?q=current&state=settled&page=2").content.decode()
    chips = dict(re.findall(r'<a class="chip[^"]*" href="([^"]+)"[^>]*>(?:<svg.*?</svg>)?([a-zA-Z ]+)', page))
    assert {words.strip(): html.unescape(url) for url, words in chips.items()} == {
        "waiting": "?q=current&state=waiting",
        "being worked on": "?q=current&state=working",
        "in validation": "?q=current&state=validation",
        "settled": "?q=current",
        "filtered": "?q=current&state=filtered",
        "unresolved": "?q=current&state=unresolved",
        "Find false assumptions": "?q=current&state=settled&stage=generate",
        "Judge two annotations": "?q=current&state=settled&stage=validate",
        "filter": "?q=current&state=settled&label=filter",
        "normal": "?q=current&state=settled&label=normal",
    }


def test_twenty_five_items_are_shown_and_more_on_demand(client, study):
    make_items(study, 27)
    page = items(client, study)
    assert len(refs(page)) == 25
    assert 'hx-get="?page=2"' in page.content.decode()
    assert "27 items" in text_of(page)
    more = items(client, study, "?page=2", headers={**HTMX, "HX-Target": "more-rows"})
    assert refs(more) == ["q26", "q27"]
    assert more.content.decode().count("<table") == 0


def test_searching_refreshes_the_list_alone(client, study):
    make_items(study, 2)
    region = items(client, study, "?q=q2", headers={**HTMX, "HX-Target": "items"}).content.decode()
    assert region.startswith('<section id="items"')
    assert "q2" in region


def test_what_is_shown_can_be_kept_as_a_table(client, study):
    settle(study)
    Item.objects.filter(ref="q4").update(ref="=HYPERLINK(1)")
    response = items(client, study, "?sort=-ref&format=csv")
    rows = list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))
    text = [f"How exactly is current {n} stored in power plants?" for n in range(5)]
    moment = LONG_AGO.isoformat()
    assert rows == [
        ["item", "question", "role", "state", "stage", "label", "answers", "decided"],
        ["q3", text[3], "work", "in validation", "Judge two annotations", "", "2", ""],
        ["q2", text[2], "work", "filtered", "", "filter", "2", moment],
        ["q1", text[1], "work", "settled", "", "normal", "2", moment],
        ["'=HYPERLINK(1)", text[4], "work", "waiting", "Find false assumptions", "", "0", ""],
    ]


def test_texts_of_items_stay_texts(client, study):
    make_items(study, 1)
    Item.objects.update(ref=EVIL, payload={"id": EVIL, "question": EVIL, "comment": EVIL, "meta": {EVIL: EVIL}})
    assert EVIL not in items(client, study).content.decode()
    page = evidence(client, study, EVIL)
    assert EVIL not in page.content.decode()
    assert text_of(page).count(EVIL) >= 4


def test_empty_lists_say_what_to_do(client, study):
    assert "Import the first ones." in text_of(items(client, study))
    assert "Show all items." in text_of(items(client, study, "?q=nothing"))


def test_a_page_of_items_costs_the_same_for_one_and_for_three(client, study):
    costs = []
    for n in range(3):
        make_items(study, 1, prefix=f"more{n}-")
        answer(study, f"ann-{n}", *[FILTER_ANSWER] * study.items.exclude(state="dropped").count())
        answer(study, f"ben-{n}", *[FILTER_ANSWER] * study.items.exclude(state="dropped").count())
        with CaptureQueriesContext(connection) as captured:
            items(client, study)
        costs.append(len(captured))
    assert costs == [10, 10, 10]


# --- Evidence -----------------------------------------------------------------------------------


def contested(study):
    """q1 decided by three validators against ann: two say B."""
    make_items(study, 1)
    answer(study, "ann", FALSE_ANSWER)
    answer(study, "ben", NORMAL_ANSWER)
    for code, verdict in (("cat", "B"), ("dan", "A"), ("eve", "B")):
        answer(study, code, {"valid": verdict}, stage="validate")


def moments(page):
    """Of the line of time: each title with who did it."""
    found = re.findall(r"<strong>([^<]+)</strong>(?:[^<]*<span class=\"code\">([^<]+)</span>)?", page.content.decode())
    return found[1:]  # the first is the state above the line


def test_the_evidence_tells_everything_that_happened_in_its_order(client, study):
    contested(study)
    assert moments(evidence(client, study, "q1")) == [
        ("Imported", ""),
        ("Leased", "W001"),
        ("Written (A)", "W001"),
        ("Leased", "W002"),
        ("Written (B)", "W002"),
        ("Contested", ""),
        ("Leased", "W003"),
        ("Verdict", "W003"),
        ("Leased", "W004"),
        ("Verdict", "W004"),
        ("Leased", "W005"),
        ("Verdict", "W005"),
        ("Settled", ""),
    ]


def test_the_evidence_shows_the_texts_the_verdicts_the_reason_and_the_gold(client, study):
    contested(study)
    text = text_of(evidence(client, study, "q1"))
    pair = FALSE_ANSWER["pairs"][0]
    for said in (
        "Settled: normal Two of three validators gave the same verdict: B is valid.",
        "false presupposition Can the question be answered with facts? Yes, usable",
        f"stands alone {pair['presupposition']} The correction, in your own words {pair['correction']}",
        "B is valid A by W001 : false presupposition B by W002 : normal",
        '"labels": [ "normal" ], "presuppositions": [], "corrections": [], "raw_labels": [ "false presupposition"',
    ):
        assert said in text
    assert "ann" not in re.findall(r"\w+", text)


def test_the_evidence_marks_the_words_in_which_two_writings_differ(client, study):
    make_items(study, 1)
    answer(study, "ann", FALSE_ANSWER)
    pair = {**FALSE_ANSWER["pairs"][0], "presupposition": "Power plants keep <current>."}
    answer(study, "ben", {**FALSE_ANSWER, "pairs": [pair]})
    page = evidence(client, study, "q1").content.decode()
    marked = [re.sub(r"</?mark>", "*", line) for line in re.findall(r"<dd>(.*?)</dd>", page) if "<mark>" in line]
    assert marked == ["Power plants *store* current.", "Power plants *keep &lt;*current*&gt;*."]
    assert re.findall(r"(\w) differs in the underlined words", page) == ["B", "A"]


def test_every_event_of_the_item_is_told(client, study):
    make_items(study, 1)
    leasing.give_back(make_sitting(study, "ann"), at=LONG_AGO)
    page = evidence(client, study, "q1")
    assert [title.lower() for title, _ in moments(page)[1:]] == list(
        Event.objects.filter(item__ref="q1").order_by("pk").values_list("what", flat=True)
    )
    assert "2 of 2 seats are free." in text_of(page)


def test_an_answer_that_came_too_late_is_marked(client, study):
    make_items(study, 1)
    late = make_sitting(study, "ann")
    leasing.expire(at=LONG_AGO.replace(year=2027))
    for code in ("ben", "cat"):
        answer(study, code, NORMAL_ANSWER)
    submission.submit(late, {late.assignments.get().pk: FALSE_ANSWER}, at=LONG_AGO.replace(year=2027))
    text = text_of(evidence(client, study, "q1"))
    assert "Written, not counted: late by W001" in text
    assert "The seat had been given to somebody else; the answer is kept." in text


def test_what_was_imported_besides_is_shown(client, study):
    make_items(study, 1)
    item = Item.objects.get()
    Item.objects.update(payload={**item.payload, "score": 7, "meta": {"source": "Fig. 2", "tags": ["a"]}})
    assert 'meta: source Fig. 2 meta: tags [ "a" ] score 7' in text_of(evidence(client, study, "q1"))


@pytest.mark.parametrize("pk", [0, 10**30])
def test_an_item_that_is_not_there_is_404(client, study, pk):
    assert client.get(reverse("validation:evidence", args=[study.slug, pk])).status_code == 404


def test_an_item_of_another_study_is_404(client, study):
    other = make_study("other")
    item = make_items(other, 1)[0]
    assert client.get(reverse("validation:evidence", args=[study.slug, item.pk])).status_code == 404


def test_evidence_costs_the_same_for_one_answer_and_for_three(client, study):
    costs = []
    make_items(study, 1)
    for code, given, stage in (
        ("ann", FALSE_ANSWER, "generate"),
        ("ben", NORMAL_ANSWER, "generate"),
        ("cat", {"valid": "A"}, "validate"),
    ):
        answer(study, code, given, stage=stage)
        with CaptureQueriesContext(connection) as captured:
            evidence(client, study, "q1")
        costs.append(len(captured) - 1)  # one looked the item's id up for the test
    assert costs == [9, 9, 9]


# --- Agreement and labels -----------------------------------------------------------------------


def rows_of(client, study, name):
    response = client.get(reverse(f"validation:{name}", args=[study.slug]) + "?format=csv")
    return list(csv.reader(io.StringIO(response.content.decode())))[1:]


def test_agreement_is_shown_with_its_interval_and_what_it_leaves_out(client, study):
    settle(study)
    assert [row[:3] + row[5:] for row in rows_of(client, study, "agreement")] == [
        ["Find false assumptions: label", "Percent agreement", "0.5", "2", ""],
        ["Find false assumptions: label", "Fleiss’ kappa", "-0.3333", "2", ""],
        ["Find false assumptions: label", "Krippendorff’s alpha", "0.0", "2", ""],
        *[
            ["Judge two annotations: valid", name, "", "0", NO_PAIRS]
            for name in (
                "Percent agreement",
                "Fleiss’ kappa",
                "Krippendorff’s alpha",
            )
        ],
    ]
    text = text_of(client.get(reverse("validation:agreement", args=[study.slug])))
    assert "Find false assumptions: 2 of 3 items can be compared; people who judged them: 2." in text
    assert "Left out because somebody chose filter: 1." in text
    assert NO_PAIRS in text


def test_labels_are_what_people_chose_and_what_was_decided(client, study):
    settle(study)
    assert [row[:3] for row in rows_of(client, study, "labels")] == [
        ["Find false assumptions: label", "false presupposition", "1"],
        ["Find false assumptions: label", "normal", "4"],
        ["Find false assumptions: label", "filter", "1"],
        ["Decided", "false presupposition", "0"],
        ["Decided", "normal", "1"],
        ["Decided", "filter", "1"],
    ]


@pytest.mark.parametrize(("name", "queries"), [("agreement", 10), ("labels", 8)])
def test_a_judged_picture_costs_the_same_for_one_item_and_for_three(client, study, name, queries):
    costs = []
    for n in range(3):
        make_items(study, 1, prefix=f"more{n}-")
        for code in (f"ann{n}", f"ben{n}"):
            answer(study, code, *[NORMAL_ANSWER] * study.items.filter(state="open").count())
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse(f"validation:{name}", args=[study.slug]))
        costs.append(len(captured))
    assert costs == [queries] * 3
