"""Batch results of the trade: what is written reads back the same, and old files open."""

import csv
import io
import json
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from annotation.elsewhere import import_annotations
from annotation.forms import AnswerForm
from annotation.intake import create_study
from annotation.models import Annotation, Enrolment, Event, Item, Sitting, Study, Worker
from annotation.protocols.base import BadRow
from annotation.reading import BadFile
from hits import payments, trade
from hits.errors import BadTerms
from hits.models import Batch, Hit, MarketWorker, Payment, Visit
from hits.results import BadMap, import_results, read_map, write_results
from tests.factories import FALSE_ANSWER, FILTER_ANSWER, LONG_AGO, NORMAL_ANSWER, make_items, make_study
from tests.hits import shop
from tests.slider import make_fillers, make_pairs, make_slider_study

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MORNING = datetime(2014, 9, 8, 17, 11, 12, tzinfo=UTC)
EXAMPLES = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

# --- Times -------------------------------------------------------------------------------------------


def test_a_time_is_written_as_the_site_does_in_utc():
    assert trade.write_time(MORNING) == "Mon Sep 08 17:11:12 UTC 2014"
    assert trade.write_time(MORNING.astimezone()) == "Mon Sep 08 17:11:12 UTC 2014"
    assert trade.write_time(None) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Mon Sep 08 10:11:12 PDT 2014",
        "Mon Sep 08 09:11:12 PST 2014",
        "Mon Sep  8 17:11:12 UTC 2014",
        "Mon Sep 08 17:11:12 GMT 2014",
        "Mon Sep 08 17:11:12 2014",
        "Mon, 08 Sep 2014 17:11:12 GMT",
        "2014-09-08T17:11:12Z",
        "2014-09-08 10:11:12-07:00",
        "2014-09-08 17:11:12 UTC",
        "2014-09-08 17:11:12",
        "9/8/2014 17:11:12",
        "9/8/14 17:11:12",
        " 1410196272 ",
    ],
)
def test_a_time_is_read_in_every_shape_that_files_have(text):
    assert trade.read_time(text, "SubmitTime") == MORNING


def test_no_time_is_none():
    assert trade.read_time(" ", "SubmitTime") is None


@pytest.mark.parametrize(
    "text", ["yesterday", "Mon Sep 08 10:11:12 XYZ 2014", "31/31/2014 10:00", "Mon Foo 08 10:11:12 UTC 2014"]
)
def test_what_is_no_time_is_refused_with_one_that_is(text):
    with pytest.raises(BadRow) as refusal:
        trade.read_time(text, "SubmitTime")
    assert str(refusal.value) == f"'SubmitTime' must be a time such as Mon Sep 08 10:11:12 PDT 2014; it was {text!r}"


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_every_time_reads_back_to_the_second(at):
    assert trade.read_time(trade.write_time(at), "SubmitTime") == at.replace(microsecond=0)


# --- Cells ------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NASTY = st.sampled_from(
    [
        "=1+1",
        "'=1",
        "''-2",
        "-5",
        "+",
        "@x",
        "\t=1",
        "null",
        "true",
        "12",
        "1e5",
        '"all"',
        "[1]",
        "{}",
        "",
        " ",
        "''",
        "NaN",
    ]
)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("normal", "normal"),
        ("it's", "it's"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("'=1", "''=1"),
        ("-5", '"-5"'),
        ("- five", "'- five"),
        (-5, "-5"),
        (98.11, "98.11"),
        (True, "true"),
        (None, "null"),
        ("", '""'),
        ("true", '"true"'),
        ([], "[]"),
    ],
)
def test_a_cell_says_what_a_value_is(value, cell):
    assert trade.write_cell(value, plain=False) == cell
    assert trade.read_cell(cell) == value


@pytest.mark.parametrize(
    ("value", "cell"),
    [("", ""), (None, ""), ([], ""), ("12", "12"), (12, "12"), (False, "false"), (0, "0"), ("=1", "'=1")],
)
def test_a_plain_cell_is_what_other_peoples_scripts_expect(value, cell):
    assert trade.write_cell(value, plain=True) == cell


@given(JSON | NASTY)
def test_every_value_reads_back_from_its_cell(value):
    assert trade.read_cell(trade.write_cell(value, plain=False)) == value


@given(st.text() | NASTY, st.booleans())
def test_no_text_begins_a_formula(text, plain):
    cell = trade.write_cell(text, plain=plain)
    assert cell[:1] not in {*"=+-@\t\r\n＝＋－＠"}


def read_leaves(cells):
    return trade.nest(
        {trade.split(name.removeprefix("Answer.")): trade.read_cell(cell) for name, cell in cells.items()}
    )


@given(st.dictionaries(st.text(max_size=4) | st.sampled_from(["0", "a.b", '"', '"a"', "12"]), JSON | NASTY, max_size=4))
def test_every_answer_reads_back_from_its_columns(answer):
    assert read_leaves(trade.flatten(answer, plain=False)) == answer


def test_an_answer_is_spread_over_columns_that_people_can_read():
    assert trade.flatten(FALSE_ANSWER, plain=True) == {
        "Answer.label": "false presupposition",
        "Answer.pairs.0.presupposition": "Power plants store current.",
        "Answer.pairs.0.correction": "Current is used as soon as it is made.",
    }


@pytest.mark.parametrize(
    ("leaves", "answer"),
    [
        ({("label",): "normal"}, {"label": "normal"}),
        ({("pairs", 0, "a"): 1, ("pairs", 2, "a"): 2}, {"pairs": [{"a": 1}, {"a": 2}]}),
        ({("x", 0): 1, ("x", "y"): 2}, {"x": {"0": 1, "y": 2}}),
        ({}, {}),
    ],
)
def test_numbered_parts_become_a_list(leaves, answer):
    assert trade.nest(leaves) == answer


@pytest.mark.parametrize("leaves", [{("a",): 1, ("a", "b"): 2}, {("a", "b"): 2, ("a",): 1}])
def test_a_part_inside_of_an_answered_one_is_refused(leaves):
    with pytest.raises(BadRow, match="is answered, and so is something"):
        trade.nest(leaves)


def test_columns_come_in_the_order_people_count_in():
    found = ["Answer.b.10", "Answer.b.2", "Answer.a", "Input.z", "Input.id", "Input.b", "WorkerId"]
    header = trade.header_of(found)
    assert header[: len(trade.HEAD)] == list(trade.HEAD)
    assert header[len(trade.HEAD) : -len(trade.TAIL)] == [
        "Input.id", "Input.b", "Input.z", "Answer.a", "Answer.b.2", "Answer.b.10"
    ]  # fmt: skip
    assert header[-len(trade.TAIL) :] == [
        *("Approve", "Reject", "Touchstone.Stage", "Touchstone.Uncounted", "Touchstone.ActiveSeconds"),
        "Touchstone.SubmittedAt",
    ]


@given(st.lists(st.fixed_dictionaries({}, optional={"a": st.text(), "b": st.text()}), max_size=4))
def test_every_table_reads_back(rows):
    text = "".join(trade.write_lines(["a", "b"], rows))
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert read == [["a", "b"], *([row.get("a", ""), row.get("b", "")] for row in rows)]


# --- Other people's tables ------------------------------------------------------------------------------

ROW = {
    "Answer.label": "fp",
    "Answer.radio.normal": "false",
    "Answer.radio.filter": "true",
    "Answer.both.a": "on",
    "Answer.both.b": "TRUE",
    "Answer.none.a": "",
    "Answer.taskAnswers": '[{"weather": "warm", "choice": {"yes": true, "no": false}, "n": 3}]',
    "Answer.text": "{no json",
}


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ("Answer.label", "fp"),
        ("Answer.radio.*", "filter"),
        ("Answer.none.*", ""),
        ("Answer.taskAnswers.0.weather", "warm"),
        ("Answer.taskAnswers.0.n", 3),
        ("Answer.taskAnswers.0.choice.*", "yes"),
        ("Answer.taskAnswers.1.weather", ""),
        ("Answer.taskAnswers.0.nothing", ""),
    ],
)
def test_a_map_finds_what_forms_of_the_site_leave(column, found):
    assert trade.pick(ROW, column) == found


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("Answer.both.*", "of 'Answer.both.*' more than one is chosen: a, b"),
        ("Answer.text.0", "'Answer.text' is not JSON"),
    ],
)
def test_a_map_that_finds_nonsense_says_so(column, said):
    with pytest.raises(BadRow) as refusal:
        trade.pick(ROW, column)
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("maps", "values", "said"),
    [
        (["label"], [], "A map is written COLUMN=NAME, such as Answer.label=label; it was 'label'."),
        (["Answer.a="], [], "A map is written COLUMN=NAME, such as Answer.label=label; it was 'Answer.a='."),
        (["Answer.a=x", "Answer.b=x"], [], "Both Answer.a and Answer.b are mapped to x."),
        ([], ["label=x"], "A value is written NAME:THERE=HERE, such as label:no=normal; it was 'label=x'."),
    ],
)
def test_a_map_that_cannot_be_followed_is_refused(maps, values, said):
    with pytest.raises(BadMap) as refusal:
        read_map("Input.id", maps, values)
    assert refusal.value.sentence == said


# --- Out --------------------------------------------------------------------------------------------------


def sell(study: Study, sittings=None, *, number: int = 1, paid: str = "paid", state: str = "confirmed") -> Batch:
    """These sittings (or all) as if each had been bought in one batch: rows alone, without a marketplace."""
    batch = Batch.objects.create(
        **{"study": study, "number": number, "stage": "generate", "place": "marketplace here", "title": "=Find"},
        **{"description": "Read, and decide.", "keywords": "reading, language", "reward": Decimal("0.50")},
        **{"sittings": 9, "per_hit": 9, "duration_minutes": 60, "lifetime_hours": 72, "auto_approval_hours": 48},
        **{"created_by": "test", "created_at": MORNING},
    )
    hit = Hit.objects.create(
        **{"batch": batch, "number": 1, "seats": 9, "unsold": 0, "hit_id": f"H{batch.pk}", "hit_type_id": "T"},
        expires_at=MORNING + timedelta(days=3),
    )
    for sitting in study.sittings.order_by("pk") if sittings is None else sittings:
        remote = sitting.worker.code.partition(":")[2] or sitting.worker.code
        MarketWorker.objects.get_or_create(
            worker=sitting.worker, defaults={"place": batch.place, "remote_worker": remote}
        )
        visit = Visit.objects.create(
            **{"hit": hit, "assignment_id": f"A{sitting.pk}", "remote_worker": remote, "worker": sitting.worker},
            **{"sitting": sitting, "state": state, "remote": "Submitted", "opened_at": MORNING},
            **{"accepted_at": MORNING, "submitted_at": MORNING + timedelta(seconds=90)},
            approves_at=MORNING + timedelta(days=2),
        )
        Payment.objects.create(
            **{"key": f"reward A{sitting.pk} {remote}", "study": study, "batch": batch, "visit": visit},
            **{"sitting": sitting, "worker": sitting.worker, "kind": "reward", "amount": batch.reward, "state": paid},
            **{"reason": "@sloppy" if paid == "rejected" else "", "created_at": MORNING},
            settled_at=MORNING + timedelta(days=1) if paid != "due" else None,
        )
    return batch


def export(study: Study, **options) -> str:
    parts: list[str] = []
    write_results(study, parts.append, at=MORNING + timedelta(days=8), **options)
    return "".join(parts)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def bring(study: Study, rows, **options):
    return import_annotations(study, rows, by="test", at=LONG_AGO, **options)


def given_row(item, worker, answer=NORMAL_ANSWER, stage="generate", **more):
    return {"item": item, "worker": worker, "stage": stage, "answer": answer, **more}


def crepe(items: int = 2, slug: str = "crepe-a") -> Study:
    study = make_study(slug)
    make_items(study, items)
    return study


@pytest.mark.django_db
def test_a_row_says_all_that_the_site_says():
    study = crepe()
    bring(study, [given_row(f"q{n}", "A1", FALSE_ANSWER, sitting=7, active_seconds=30 + n) for n in (1, 2)])
    sell(study)
    rows = table(export(study))
    assert [row["Input.id"] for row in rows] == ["q1", "q2"]
    assert {row["AssignmentId"] for row in rows} == {f"A{Sitting.objects.get().pk}"}
    hit, payload = Hit.objects.get(), Item.objects.get(ref="q1").payload
    assert rows[0] == {
        **dict.fromkeys(["NumberOfSimilarHITs", "RejectionTime", "RequesterFeedback", "Approve", "Reject"], ""),
        "HITId": hit.hit_id,
        "HITTypeId": "T",
        "Title": "'=Find",
        "Description": "Read, and decide.",
        "Keywords": "reading, language",
        "Reward": "$0.50",
        "CreationTime": "Mon Sep 08 17:11:12 UTC 2014",
        "MaxAssignments": "9",
        "RequesterAnnotation": "BatchId:1;",
        "AssignmentDurationInSeconds": "3600",
        "AutoApprovalDelayInSeconds": "172800",
        "Expiration": "Thu Sep 11 17:11:12 UTC 2014",
        "LifetimeInSeconds": "259200",
        "AssignmentId": f"A{Sitting.objects.get().pk}",
        "WorkerId": "A1",
        "AssignmentStatus": "Approved",
        "AcceptTime": "Mon Sep 08 17:11:12 UTC 2014",
        "SubmitTime": "Mon Sep 08 17:12:42 UTC 2014",
        "AutoApprovalTime": "Wed Sep 10 17:11:12 UTC 2014",
        "ApprovalTime": "Tue Sep 09 17:11:12 UTC 2014",
        "WorkTimeInSeconds": "90",
        "LifetimeApprovalRate": "100% (1/1)",
        "Last30DaysApprovalRate": "100% (1/1)",
        "Last7DaysApprovalRate": "0% (0/0)",
        "Input.id": "q1",
        "Input.question": payload["question"],
        "Input.comment": payload["comment"],
        "Answer.label": "false presupposition",
        "Answer.pairs.0.presupposition": "Power plants store current.",
        "Answer.pairs.0.correction": "Current is used as soon as it is made.",
        "Touchstone.Stage": "generate",
        "Touchstone.Uncounted": "",
        "Touchstone.ActiveSeconds": "31",
        "Touchstone.SubmittedAt": LONG_AGO.isoformat(),
    }


@pytest.mark.django_db
def test_one_batch_can_be_asked_for_and_one_that_is_not_there_is_named():
    study = crepe()
    bring(study, [given_row("q1", "A1"), given_row("q2", "A2")])
    first, second = study.sittings.order_by("pk")
    sell(study, [first], number=1)
    sell(study, [second], number=2, paid="rejected")
    (row,) = table(export(study, batch=2))
    said = ("AssignmentStatus", "RejectionTime", "RequesterFeedback", "LifetimeApprovalRate", "RequesterAnnotation")
    assert [row[name] for name in said] == [
        *("Rejected", "Tue Sep 09 17:11:12 UTC 2014", "'@sloppy", "0% (0/1)", "BatchId:2;")
    ]
    assert len(table(export(study))) == 2
    with pytest.raises(BadTerms, match=r"This study has no batch 3; there are 1, 2\."):
        export(study, batch=3)


@pytest.mark.django_db
def test_what_never_leaves_does_not_leave_this_way_either():
    study = crepe()
    make_items(study, 1, role="gold", prefix="g", gold=NORMAL_ANSWER)
    bring(study, [given_row("q1", "A1"), given_row("g1", "A1"), given_row("q1", "A2"), given_row("q2", "A3")])
    Annotation.objects.filter(worker__code="crepe-a:A2").update(uncounted="withdrawn")
    sell(study, study.sittings.exclude(worker__code="crepe-a:A3"))
    assert [(row["WorkerId"], row["Input.id"]) for row in table(export(study))] == [("A1", "q1")]


@pytest.mark.django_db
def test_work_that_is_not_proven_is_not_written_as_anybodys():
    study = crepe()
    bring(study, [given_row("q1", "A1")])
    sell(study, state="quarantined")
    assert table(export(study)) == []


@pytest.mark.django_db
def test_memory_and_queries_do_not_grow_with_the_rows(django_assert_num_queries):
    study = crepe(12)
    bring(study, [given_row(f"q{n}", f"A{n}") for n in range(1, 4)])
    sell(study)
    with django_assert_num_queries(4):  # rates, rows, visits, rewards
        export(study)
    bring(study, [given_row(f"q{n}", f"A{n}") for n in range(4, 13)])
    sell(study, study.sittings.filter(visit=None), number=2)
    with django_assert_num_queries(4):
        assert len(table(export(study))) == 12


# --- There and back ------------------------------------------------------------------------------------------


def taken(study: Study) -> list[tuple]:
    """Every annotation, those of one item in the order taken, without what a server calls things itself."""
    columns = ("item__ref", "worker__code", "stage", "answer", "uncounted", "active_seconds", "submitted_at")
    rows = Annotation.objects.filter(study=study).order_by("item__ref", "pk").values_list(*columns)
    return [(ref, code.partition(":")[2] or code, *rest) for ref, code, *rest in rows]


def read(study: Study, text: str, maps=(), values=(), *, item_column: str = "Input.id", **options):
    reading = read_map(item_column, maps, values)
    file = io.BytesIO(text.encode())
    counts, made = import_results(study, file, reading, by="test", at=NOON, **options)
    return counts.as_dict() | ({"items": made.created} if options.get("make_items") else {})


written = st.builds("{}{}{}".format, NASTY, st.sampled_from(["", " ", ", ", "; ", "\n", '"']), st.text(max_size=8))
crepe_answers = st.sampled_from([NORMAL_ANSWER, FILTER_ANSWER, FALSE_ANSWER]) | st.builds(
    lambda pairs: {"label": "false presupposition", "reason": None, "pairs": pairs},
    st.lists(st.fixed_dictionaries({"presupposition": written, "correction": written}), min_size=1, max_size=3),
)


def acceptable(study: Study, answer: dict) -> bool:
    """To the protocol, about any of the items."""
    stage = study.protocol.stages[0]
    return all(AnswerForm(stage, item.payload, stage.adopt(answer)).is_valid() for item in study.items.all())


@pytest.mark.django_db
@EXAMPLES
@given(answers=st.lists(crepe_answers, min_size=1, max_size=6), when=st.datetimes(timezones=st.just(UTC)))
def test_our_own_file_gives_the_same_annotations_again(answers, when):
    assume(when.year > 1900)
    n = Study.objects.count()
    ours, theirs = crepe(3, f"a{n}"), make_study(f"b{n}")
    answers = [answer for answer in answers if acceptable(ours, answer)]
    rows = [
        given_row(
            f"q{i % 3 + 1}", f"A{n}X{i // 3}", answer, sitting=i // 3, submitted_at=when.isoformat(), active_seconds=i
        )
        for i, answer in enumerate(answers)
    ]
    bring(ours, rows)
    sell(ours)
    text = export(ours)
    created = {"created": len(answers), "unchanged": 0, "bad": 0}
    items = len({row["item"] for row in rows})
    assert read(theirs, text, make_items=True) == {**created, "items": items}
    assert taken(theirs) == taken(ours)
    assert list(theirs.items.values_list("ref", "payload").order_by("ref")) == list(
        ours.items.filter(ref__in=[row["item"] for row in rows]).values_list("ref", "payload").order_by("ref")
    )
    unchanged = {"created": 0, "unchanged": len(answers), "bad": 0}
    assert read(theirs, text, make_items=True) == {**unchanged, "items": 0}
    assert read(ours, text) == unchanged


@pytest.mark.django_db
@EXAMPLES
@given(
    st.lists(
        st.tuples(st.integers(0, 1000), st.none() | written.filter(lambda t: len(t.strip()) > 3 and "\x00" not in t)),
        min_size=1,
        max_size=4,
    )
)
def test_ratings_come_back_as_well(given_ratings):
    n = Study.objects.count()
    ours, theirs = make_slider_study(f"a{n}"), make_slider_study(f"b{n}")
    make_pairs(ours, 1)
    make_fillers(ours, 1)
    make_fillers(theirs, 1)
    rows = [
        given_row(ref, f"A{n}X{i}", {"position": p, "confusing": bool(why), "confusing_reason": why or ""}, "rate")
        for i, (p, why) in enumerate(given_ratings)
        for ref in ("p1-original", "f-entailment-1")
    ]
    bring(ours, rows)
    sell(ours)
    text = export(ours)
    reading = read_map("Input.id", [], [])
    # Fillers are found and not made: a file never says what is expected of them.
    counts, made = import_results(theirs, io.BytesIO(text.encode()), reading, make_items=True, by="test", at=NOON)
    assert (counts.as_dict(), made.created) == ({"created": len(rows), "unchanged": 0, "bad": 0}, 1)
    assert taken(theirs) == taken(ours)


@pytest.mark.django_db
def test_both_stages_come_back_with_what_they_decided_and_what_did_not_count():
    ours, theirs = crepe(), make_study("crepe-b")
    rows = [given_row("q1", "A1", FALSE_ANSWER), given_row("q1", "A2"), given_row("q1", "A3")]
    rows += [given_row("q1", f"V{n}", {"valid": "A"}, "validate") for n in (1, 2)]
    bring(ours, rows)
    sell(ours)
    assert read(theirs, export(ours), make_items=True) == {"created": 5, "unchanged": 0, "bad": 0, "items": 1}
    assert taken(theirs) == taken(ours)
    assert [row[4] for row in taken(theirs)] == ["", "", "late", "", ""]
    assert theirs.items.values_list("state", flat=True).get() == "settled"


@pytest.mark.django_db
def test_one_sitting_stays_one_sitting_with_its_times():
    ours, theirs = crepe(10), make_study("crepe-b")
    bring(ours, [given_row(f"q{n}", worker, sitting=worker) for worker in ("A1", "A2") for n in range(1, 11)])
    sell(ours)
    read(theirs, export(ours), make_items=True)
    sittings = theirs.sittings.order_by("pk")
    assert [(s.opened_at, s.closed_at, s.assignments.count()) for s in sittings] == [(MORNING, LONG_AGO, 10)] * 2


@pytest.mark.django_db
def test_work_done_elsewhere_is_not_owed_here():
    ours, theirs = crepe(), make_study("crepe-b", pay_per_sitting=1.5)
    bring(ours, [given_row("q1", "A1")])
    sell(ours)
    read(theirs, export(ours), make_items=True)
    assert payments.owe_sittings(theirs, at=NOON) == 0


@pytest.mark.django_db(transaction=True)
def test_a_batch_done_at_the_marketplace_leaves_and_comes_back(lab):
    study = shop.make_shop_study(4)
    batch = shop.buy(study, 2)
    person = shop.make_worker()
    shop.do(person, batch.hits.get())
    shop.look(study)
    text = export(study, batch=batch.number)
    rows = table(text)
    remote = shop.remote_hits(lab)[0]
    assert [(row["HITId"], row["WorkerId"], row["AssignmentStatus"], row["Input.id"]) for row in rows] == [
        (remote.hit_id, person.worker_id, "Approved", "q1"),
        (remote.hit_id, person.worker_id, "Approved", "q2"),
    ]
    assert read(study, text) == {"created": 0, "unchanged": 2, "bad": 0}
    other = make_study("crepe-b")
    assert read(other, text, make_items=True) == {"created": 2, "unchanged": 0, "bad": 0, "items": 2}
    assert [row[3:5] for row in taken(other)] == [row[3:5] for row in taken(study)] == [(FALSE_ANSWER, "")] * 2


# --- Old batches -----------------------------------------------------------------------------------------------


def site(rows: list[dict[str, str]]) -> str:
    """A file as MTurk's site writes it: its columns, everything in quotes."""
    extra = list(dict.fromkeys(name for row in rows for name in row if name not in trade.HEAD))
    header = [*trade.HEAD, *(name for name in extra if name not in ("Approve", "Reject")), "Approve", "Reject"]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, header, quoting=csv.QUOTE_ALL, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def old_row(n: int, worker: str, status: str = "Approved", **more: str) -> dict[str, str]:
    more = {name.replace("__", "."): value for name, value in more.items()}
    return {
        "HITId": f"3HIT{more.get('Input.id', n)}",
        "Title": "Is the assumption right?",
        "Reward": "$0.10",
        "CreationTime": "Mon Sep 08 09:00:00 PDT 2014",
        "MaxAssignments": "2",
        "RequesterAnnotation": "BatchId:1650000;OriginalHitTemplateId:920000000;",
        "AssignmentId": f"3ASG{n}",
        "WorkerId": worker,
        "AssignmentStatus": status,
        "AcceptTime": "Mon Sep 08 10:09:42 PDT 2014",
        "SubmitTime": "Mon Sep 08 10:11:12 PDT 2014",
        "WorkTimeInSeconds": "90",
        "LifetimeApprovalRate": "100% (12/12)",
        **more,
    }


TEXTS = {"Input__question": "Where is current stored?", "Input__comment": "Nowhere; it is used at once."}
CREPE_MAP = ["Answer.fp=label", "Answer.assumption=pairs.0.presupposition", "Answer.fix=pairs.0.correction"]
CREPE_VALUES = ["label:yes=false presupposition", "label:no=normal"]
OLD_CREPE = [
    old_row(
        1,
        "A1",
        Input__id="7",
        Answer__fp="yes",
        Answer__assumption="Current is stored.",
        Answer__fix="It is not.",
        **TEXTS,
    ),
    old_row(2, "A2", Input__id="7", Answer__fp="no", Answer__assumption="", Answer__fix="", **TEXTS),
    old_row(3, "A3", "Rejected", Input__id="7", Answer__fp="no", RequesterFeedback="Too fast.", **TEXTS),
    old_row(4, "A1", "Submitted", Input__id="8", Answer__fp="no", **TEXTS),
]


@pytest.mark.django_db
def test_an_old_batch_opens_for_crepe():
    study = make_study()
    options = {"stage": "generate", "make_items": True}
    created = {"created": 4, "unchanged": 0, "bad": 0, "items": 2}
    assert read(study, site(OLD_CREPE), CREPE_MAP, CREPE_VALUES, **options) == created
    false = {
        "label": "false presupposition",
        "reason": None,
        "pairs": [{"presupposition": "Current is stored.", "correction": "It is not."}],
    }
    assert taken(study) == [
        ("7", "A1", "generate", false, "", 90, MORNING),
        ("7", "A2", "generate", NORMAL_ANSWER, "", 90, MORNING),
        ("7", "A3", "generate", NORMAL_ANSWER, "excluded", 90, MORNING),
        ("8", "A1", "generate", NORMAL_ANSWER, "", 90, MORNING),
    ]
    assert list(study.items.order_by("ref").values_list("ref", "stage", "open_seats")) == [
        ("7", "validate", 2),
        ("8", "generate", 1),
    ]
    event = Event.objects.get(worker__code="crepe-a:A3", item__ref="7")
    assert event.why == "Made elsewhere, where it did not count. Rejected where it was made: Too fast."
    assert Enrolment.objects.count() == 3
    again = {"created": 0, "unchanged": 4, "bad": 0, "items": 0}
    assert read(study, site(OLD_CREPE), CREPE_MAP, CREPE_VALUES, **options) == again


@pytest.mark.django_db
def test_an_old_batch_opens_for_nope_and_its_items_are_found():
    study = make_slider_study()
    make_pairs(study, 1)
    rows = [
        old_row(1, "A1", Input__trial="p1-original", Answer__slider="98.11", Answer__confusing="", Answer__why=""),
        old_row(
            2, "A2", Input__trial="p1-original", Answer__slider="100", Answer__confusing="on", Answer__why="odd English"
        ),
        old_row(3, "A1", Input__trial="p1-negated", Answer__slider="0", Answer__confusing="", Answer__why=""),
    ]
    maps = ["Answer.slider=rating", "Answer.confusing=confusing", "Answer.why=confusing_reason"]
    options = {"stage": "rate", "item_column": "Input.trial"}
    assert read(study, site(rows), maps, ["confusing:on=true"], **options) == {"created": 3, "unchanged": 0, "bad": 0}
    assert [
        (ref, answer["rating"], answer["confusing"], answer["confusing_reason"])
        for ref, _, _, answer, *_ in taken(study)
    ] == [
        ("p1-negated", 0.0, False, ""),
        ("p1-original", 98.11, False, ""),
        ("p1-original", 100.0, True, "odd English"),
    ]


@pytest.mark.django_db
def test_a_file_of_crowd_elements_and_its_json_opens():
    study = crepe(1)
    rows = [
        old_row(1, "A1", Input__id="q1", Answer__label__normal="true", Answer__label__filter="false"),
        old_row(2, "A2", Input__id="q1", Answer__label__normal="false", Answer__label__filter="false"),
    ]
    assert read(study, site(rows[:1]), ["Answer.label.*=label"], stage="generate")["created"] == 1
    assert "label: The label must be one of" in refused(study, rows[1:], ["Answer.label.*=label"])
    task = old_row(3, "A3", Input__id="q1", Answer__taskAnswers=json.dumps([{"label": {"label": "normal"}}]))
    assert read(study, site([task]), ["Answer.taskAnswers.0.label.label=label"], stage="generate")["created"] == 1


@pytest.mark.django_db
def test_an_item_may_be_known_by_its_hit():
    study = make_study()
    row = old_row(1, "A1", Input__q="Where?", Input__comment="Nowhere.", Answer__label="normal")
    maps = ["Input.q=question"]
    options = {"stage": "generate", "make_items": True, "item_column": "HITId"}
    assert read(study, site([row]), maps, **options) == {"created": 1, "unchanged": 0, "bad": 0, "items": 1}
    assert study.items.get().payload == {"id": "3HIT1", "question": "Where?", "comment": "Nowhere."}


@pytest.mark.django_db
def test_of_several_items_in_one_hit_the_first_has_the_time():
    study = crepe(2)
    rows = [old_row(1, "A1", Input__id=f"q{n}", Answer__label="normal") for n in (1, 2)]
    read(study, site(rows), stage="generate")
    assert list(Annotation.objects.order_by("pk").values_list("active_seconds", flat=True)) == [90, None]
    assert Sitting.objects.count() == 1


@pytest.mark.django_db
def test_what_a_requester_marked_to_be_rejected_does_not_count():
    study = crepe(2)
    marked = old_row(1, "A1", "Submitted", Input__id="q1", Answer__label="normal", Reject="Bot.")
    overruled = old_row(2, "A1", "Approved", Input__id="q2", Answer__label="normal", Reject="Bot.")
    read(study, site([marked, overruled]), stage="generate")
    assert [row[4] for row in taken(study)] == ["excluded", ""]


def refused(study: Study, rows: list[dict[str, str]], maps=(), **options) -> str:
    with pytest.raises(BadFile) as refusal:
        read(study, site(rows), maps, stage=options.pop("stage", "generate"), **options)
    return refusal.value.sentence.removeprefix("Nothing was kept, because of 1 bad line: ").removesuffix(".")


GOOD = {"Input__id": "q1", "Answer__label": "normal"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("row", "said"),
    [
        (old_row(1, "", **GOOD), "line 2: 'WorkerId' is empty"),
        (
            old_row(1, "A1", "Paid", **GOOD),
            "line 2: 'AssignmentStatus' must be one of Submitted, Approved, Rejected; it was 'Paid'",
        ),
        (old_row(1, "A1", **{**GOOD, "Input__id": ""}), "line 2: 'Input.id' is empty: it should name the item"),
        (
            old_row(1, "A1", **{**GOOD, "Input__id": "q9"}),
            "line 2: there is no item 'q9'; with --make-items it is made of the Input columns",
        ),
        (
            old_row(1, "A1", **GOOD) | {"SubmitTime": "soon"},
            "line 2: 'SubmitTime' must be a time such as Mon Sep 08 10:11:12 PDT 2014; it was 'soon'",
        ),
        (
            old_row(1, "A1", **GOOD) | {"WorkTimeInSeconds": "1.5"},
            "line 2: 'WorkTimeInSeconds' must be a whole number of seconds; it was '1.5'",
        ),
        (
            old_row(1, "A1", **{**GOOD, "Answer__label": "maybe"}),
            "line 2: 'answer' cannot be taken: label: The label must be one of: false presupposition, normal, filter",
        ),
    ],
)
def test_a_bad_row_is_named_by_its_line_with_what_would_be_right(row, said):
    study = crepe()
    assert refused(study, [row]) == said
    assert Annotation.objects.count() == 0


@pytest.mark.django_db
def test_an_item_of_the_same_name_with_other_content_is_not_answered():
    study = crepe(1)
    row = old_row(1, "A1", **GOOD, **TEXTS)
    assert refused(study, [row], make_items=True) == "line 2: the item 'q1' is there already, with other content"


@pytest.mark.django_db
def test_good_rows_are_kept_beside_bad_ones_only_when_asked():
    study = make_study()
    rows = [*OLD_CREPE[:2], old_row(9, "A9", Input__id="9", Answer__fp="no", Input__question="Why?")]
    options = {"stage": "generate", "make_items": True}
    with pytest.raises(BadFile, match="line 4: 'comment' is missing or not a text"):
        read(study, site(rows), CREPE_MAP, CREPE_VALUES, **options)
    assert (Item.objects.count(), Annotation.objects.count(), Worker.objects.count()) == (0, 0, 0)
    counts = read(study, site(rows), CREPE_MAP, CREPE_VALUES, skip_bad=True, **options)
    assert counts == {"created": 2, "unchanged": 0, "bad": 1, "items": 1}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "maps", "options", "said"),
    [
        (
            "",
            [],
            {"stage": "generate"},
            "This cannot be read as batch results. There is no column 'WorkerId'; the file is empty.",
        ),
        (
            "WorkerId,Input.q,Answer.x\n",
            [],
            {"stage": "generate"},
            "This cannot be read as batch results. There is no column 'Input.id'; there are Input.q, Answer.x.",
        ),
        (
            "WorkerId,Input.id,Answer.x\n",
            ["Answer.y=label"],
            {"stage": "generate"},
            "This cannot be read as batch results. There is no column 'Answer.y'; there are Input.id, Answer.x.",
        ),
        (
            "WorkerId,Input.id\n",
            [],
            {"stage": "generate"},
            "This cannot be read as batch results. No column begins with Answer.: say which one is what with "
            "--map COLUMN=NAME.",
        ),
        (
            "WorkerId,Input.id,Answer.x\n",
            [],
            {},
            "The file does not say in which stage this was done: say it with --stage.",
        ),
        (
            "WorkerId,Input.id,Answer.x\n",
            [],
            {"stage": "judge"},
            "This study has no stage 'judge'; it has generate, validate.",
        ),
    ],
)
def test_a_file_that_cannot_be_followed_is_refused_as_a_whole(text, maps, options, said):
    with pytest.raises(BadMap) as refusal:
        read(crepe(), text, maps, **options)
    assert refusal.value.sentence == said


@pytest.mark.django_db
def test_a_row_of_another_stage_than_asked_for_is_refused():
    study = crepe()
    bring(study, [given_row("q1", "A1")])
    sell(study)
    with pytest.raises(BadFile, match="line 2: this was done in the stage 'generate', not in 'validate'"):
        read(study, export(study), stage="validate")


# --- Commands -------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_commands_write_a_file_and_open_it_again(tmp_path, capsys):
    study = crepe()
    bring(study, [given_row("q1", "A1", FALSE_ANSWER), given_row("q2", "A1")])
    sell(study)
    file = tmp_path / "batch.csv"
    call_command("export_batch", study.slug, "--batch", "1", "--out", str(file))
    create_study("crepe-b", "crepe", by="test", at=LONG_AGO)
    call_command("import_batch", "crepe-b", str(file), "--make-items")
    assert json.loads(capsys.readouterr().out) == {"created": 2, "unchanged": 0, "bad": 0, "items": 2}


@pytest.mark.django_db
def test_a_file_that_comes_through_a_pipe_is_read_twice_all_the_same(capsys, monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

    make_study()
    text = site([*OLD_CREPE[1:2], old_row(9, "A9", Input__id="9", Answer__fp="?", **TEXTS)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(text.encode())))
    given_options = ["--stage", "generate", "--make-items", "--skip-bad", "--map", "Answer.fp=label"]
    call_command("import_batch", "crepe-a", "-", *given_options, "--value", "label:no=normal")
    said = capsys.readouterr()
    assert json.loads(said.out) == {"created": 1, "unchanged": 0, "bad": 1, "items": 2}
    assert said.err.startswith("line 3: 'answer' cannot be taken: label: The label must be one of")
