"""Studies and items come in: in order, once, or with a sentence that names the line."""

import gzip
import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from annotation.intake import BadStudy, create_study, import_items
from annotation.models import Event, Item, Study
from annotation.protocols import CREPE
from annotation.reading import BadFile
from tests.factories import make_study

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
ROW = {"id": "q1", "question": "Why is the sky green?", "comment": "It is blue."}


def row(ref, **changes):
    return ROW | {"id": ref} | changes


def jsonl(*rows):
    return io.BytesIO("".join(json.dumps(r) + "\n" for r in rows).encode())


def bring(study, source, **options):
    return import_items(study, source, by="user:ana", at=NOON, **options).as_dict()


def refused(source, **options):
    with pytest.raises(BadFile) as refusal:
        bring(Study.objects.first() or make_study(), source, **options)
    return refusal.value.sentence


# --- Studies ------------------------------------------------------------------------------------
def test_a_study_keeps_the_protocol_and_options_it_was_made_under():
    study = create_study("crepe-b", "crepe", title="Pilot", options={"items_per_sitting": "5"}, by="user:ana", at=NOON)
    assert Study.objects.values_list("slug", "title", "protocol_slug", "protocol_version", "created_at").get() == (
        "crepe-b",
        "Pilot",
        "crepe",
        1,
        NOON,
    )
    chosen = {name: study.options[name] for name in ("items_per_sitting", "lease_minutes", "adjudication")}
    assert chosen == {"items_per_sitting": 5, "lease_minutes": 60, "adjudication": "validators"}
    # The paper's own numbers, where the common settings have others (PROTOCOLS.md 1.2, 1.5).
    assert (study.options["revoke_invalid_share"], study.options["max_qualified"]) == (0.10, 30)
    assert study.snapshot == study.protocol.snapshot()
    assert Event.objects.values_list("what", "actor", "at").get() == ("created", "user:ana", NOON)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"protocol": "crape"},
            "There is no protocol crape. Known: crepe, nope, creak, synqa2, acceptability, rubric.",
        ),
        (
            {"options": {"lease": 3}},
            f"Unknown setting 'lease'. CREPE knows: {', '.join(sorted(CREPE.known_options))}.",
        ),
        ({"options": {"items_per_sitting": "0"}}, "items_per_sitting must be from 1 to 200; it was 0."),
        ({"slug": "taken"}, "There is a study 'taken' already."),
        ({"slug": "No Slug"}, "slug: Use lower-case letters, digits and hyphens, at most 50."),
        ({"title": "x" * 201}, "title: Ensure this value has at most 200 characters (it has 201)."),
        (
            {"title": "\udcff"},
            "The title cannot be kept. This text is broken (a character that is not valid Unicode). "
            "Please type it again.",
        ),
    ],
)
def test_a_study_that_cannot_be_is_refused_with_a_sentence(changes, sentence):
    make_study("taken")
    with pytest.raises(BadStudy) as refusal:
        create_study(**{"slug": "new", "protocol": "crepe", "by": "user:ana", "at": NOON} | changes)
    assert refusal.value.sentence == sentence
    assert Study.objects.count() == 1


# --- Items that come in ---------------------------------------------------------------------------
def test_rows_become_items_with_the_seats_the_protocol_wants_in_the_order_of_the_file():
    study = make_study()
    assert bring(study, jsonl(row("b", score=3, tag="x"), row("a"))) == {"created": 2, "unchanged": 0, "bad": 0}
    fields = ("ref", "role", "state", "stage", "votes_wanted", "open_seats", "queued_at", "created_at")
    assert list(study.items.values_list(*fields)) == [
        ("b", "work", "open", "generate", 2, 2, NOON + MICROSECOND, NOON),
        ("a", "work", "open", "generate", 2, 2, NOON + 2 * MICROSECOND, NOON),
    ]
    assert study.items.first().payload == row("b", score=3, meta={"tag": "x"})
    event = Event.objects.get()
    assert (event.what, event.actor, event.details) == (
        "imported",
        "user:ana",
        {"role": "work", "counts": {"created": 2, "unchanged": 0, "bad": 0}},
    )


def test_a_second_file_queues_behind_the_first_even_at_the_same_moment():
    study = make_study()
    bring(study, jsonl(row("a"), row("b")))
    bring(study, jsonl(row("c")))
    assert list(study.items.order_by("queued_at").values_list("ref", "queued_at")) == [
        (ref, NOON + n * MICROSECOND) for n, ref in enumerate("abc", 1)
    ]


def test_items_that_are_not_work_have_no_seats_and_keep_their_gold():
    study = make_study()
    bring(study, jsonl(row("a", gold={"label": "filter", "reason": "nonsense"})), role="gold")
    item = Item.objects.get()
    assert (item.role, item.state, item.stage, item.votes_wanted, item.open_seats) == ("gold", "open", "", 0, 0)
    assert item.gold == {"label": "filter", "reason": "nonsense", "pairs": []}


CSV = 'id,question,comment,tag\r\nq1,Why is the sky green?,"It is ""blue"",\nnot green.",é\r\n'


@pytest.mark.parametrize(
    "content",
    [
        CSV.encode(),
        CSV.encode("utf-8-sig"),
        gzip.compress(CSV.encode()),
        json.dumps(row("q1", comment='It is "blue",\nnot green.', tag="é")).encode(),
        json.dumps(row("q1", comment='It is "blue",\nnot green.', tag="é"), ensure_ascii=False).encode("utf-8-sig"),
        gzip.compress(b"\n" + json.dumps(row("q1", comment='It is "blue",\nnot green.', tag="é")).encode() + b"\n\n"),
    ],
    ids=["csv", "csv with a mark", "csv.gz", "jsonl without a last newline", "jsonl with a mark", "jsonl.gz"],
)
def test_the_format_is_told_by_the_content(content):
    study = make_study()
    assert bring(study, io.BytesIO(content)) == {"created": 1, "unchanged": 0, "bad": 0}
    assert Item.objects.get().payload == row("q1", comment='It is "blue",\nnot green.', meta={"tag": "é"})


def test_mappings_are_taken_as_well_as_files():
    assert bring(make_study(), [row("a"), row(7)]) == {"created": 2, "unchanged": 0, "bad": 0}
    assert list(Item.objects.values_list("ref", flat=True)) == ["a", "7"]


def test_an_empty_file_brings_nothing():
    assert bring(make_study(), io.BytesIO(b"")) == {"created": 0, "unchanged": 0, "bad": 0}


def test_the_file_stays_open_for_its_owner():
    file = jsonl(row("a"))
    bring(make_study(), file)
    assert not file.closed


def test_progress_hears_of_every_batch():
    heard = []
    bring(make_study(), (row(n) for n in range(4_500)), progress=heard.append)
    assert heard == [2_000, 4_000, 4_500]


# --- The same again -----------------------------------------------------------------------------
def test_the_same_row_again_is_left_alone_within_a_file_and_across_files():
    study = make_study()
    gold = {"label": "normal"}
    assert bring(study, jsonl(row("a", gold=gold), row("a", gold=gold))) == {"created": 1, "unchanged": 1, "bad": 0}
    assert bring(study, jsonl(row("a", gold=gold))) == {"created": 0, "unchanged": 1, "bad": 0}


def test_numbers_that_the_database_writes_in_another_way_are_still_the_same():
    study, numbers = make_study(), [1e23, -0.0, 1.0, 1e-7, 2**70, 0.1]
    bring(study, jsonl(row("a", numbers=numbers)))
    assert bring(study, jsonl(row("a", numbers=numbers)))["unchanged"] == 1


@pytest.mark.parametrize("changes", [{"comment": "Other."}, {"tag": 1}, {"gold": {"label": "normal"}}])
def test_the_same_id_with_other_content_is_a_bad_line(changes):
    study = make_study()
    bring(study, jsonl(row("a")))
    assert refused(jsonl(row("b"), row("a", **changes))) == (
        "Nothing was kept, because of 1 bad line: line 2: the id 'a' is there already, with other content."
    )
    assert list(study.items.values_list("ref", flat=True)) == ["a"]


def test_the_same_id_in_another_role_is_a_bad_line():
    bring(make_study(), jsonl(row("a")))
    assert "the id 'a' is there already, with other content" in refused(jsonl(row("a")), role="gold")


# --- Bad lines ----------------------------------------------------------------------------------
DEEP = '{"id": "q1", "question": "Why?", "comment": "So.", "x": ' + "[" * 60 + "]" * 60 + "}"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b"[1]", "is not a JSON object"),
        (b'"text"', "is not a JSON object"),
        (b'{"a": ' + b"1" * 5000 + b"}", "is not JSON: Exceeds the limit (4300 digits)"),
        (b"[" * 200_000, "is nested too deeply"),
        (DEEP.encode(), "'x' is nested too deeply"),
        (b'{"id": "a\\u0000"}', "'id' holds a NUL character"),
        (b'{"x": {"a\\u0000": 1}}', "'x' holds a NUL character"),
        (b'{"a\\u0000": 1}', "'a\\x00' holds a NUL character"),
        (b'{"meta": ["\\ud800"]}', "'meta' holds broken text (not valid UTF-8)"),
        (b'{"comment": "\xff"}', "'comment' holds broken text (not valid UTF-8)"),
        (b'{"score": NaN}', "'score' holds a number that is out of range"),
        (b'{"score": [1e999]}', "'score' holds a number that is out of range"),
        (b'{"x": 1' + b"0" * 400 + b"}", "'x' holds a number that is out of range"),
        (b"{}", "'id' must be a text of 1 to 200 characters"),
        (b'{"id": true}', "'id' must be a text of 1 to 200 characters"),
        (b'{"id": "a", "question": ["Why?"]}', "'question' is missing or not a text"),
        (b'{"id": "a", "question": "Why?"}', "'comment' is missing or not a text"),
        (b'{"id": "a", "question": "Why?", "comment": "So.", "meta": 1}', "'meta' must be an object"),
        (
            b'{"id": "a", "question": "Why?", "comment": "So.", "gold": {"label": "no"}}',
            "'gold' is not an answer: label: The label must be one of: false presupposition, normal, filter",
        ),
        (b'{"x": "' + b"y" * 1_000_000 + b'"}', "is longer than 1,000,000 characters"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_bad_line_is_reported_with_its_number_and_reason(line, why):
    content = json.dumps(ROW).encode() + b"\n\n" + line + b"\n" + json.dumps(row("q3")).encode()
    sentence = refused(io.BytesIO(content))
    assert sentence.startswith(f"Nothing was kept, because of 1 bad line: line 3: {why}")
    assert not Item.objects.exists()
    assert bring(Study.objects.get(), io.BytesIO(content), skip_bad=True) == {"created": 2, "unchanged": 0, "bad": 1}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("q1,Why?\n", "line 2: has 2 columns, the header has 3"),
        ("q1,Why?,So.,more\n", "line 2: has 4 columns, the header has 3"),
        ("q1,Why?,\n", "line 2: 'comment' is missing or not a text"),
        ('q1,Why?,"So', "line 2: is not CSV: unexpected end of data"),
        ("q1,Why?,\x00\n", "line 2: 'comment' holds a NUL character"),
        (f"q1,Why?,{'x' * 200_000}\n", "line 2: is not CSV: field larger than field limit (131072)"),
    ],
)
def test_a_bad_line_of_csv_is_reported_too(lines, why):
    content = f"id,question,comment\n{lines}".encode()
    assert refused(io.BytesIO(content)) == f"Nothing was kept, because of 1 bad line: {why}."


def test_a_column_named_twice_is_refused():
    assert refused(io.BytesIO(b"id,id\n1,2\n")) == "The header names the column 'id' twice."


def test_a_header_that_does_not_end_is_refused():
    assert refused(io.BytesIO(b'id,"x\n1,2\n')) == "The header is not CSV: unexpected end of data."


def test_an_archive_that_ends_at_once_is_refused():
    assert refused(io.BytesIO(b"\x1f\x8b")).startswith("The compressed file is damaged: ")


def test_a_damaged_archive_is_refused():
    whole = gzip.compress("".join(json.dumps(row(n)) + "\n" for n in range(5_000)).encode())
    assert refused(io.BytesIO(whole[: len(whole) // 2])).startswith("The compressed file is damaged: ")
    assert not Item.objects.exists()


def test_of_many_bad_lines_the_first_are_named_and_the_others_counted():
    sentence = refused([{"id": ""}] * 25)
    assert sentence.startswith("Nothing was kept, because of 25 bad lines: line 1: 'id' must be")
    assert sentence.endswith("; line 20: 'id' must be a text of 1 to 200 characters; and 5 more.")


def test_values_that_are_not_json_are_bad_rows_too():
    assert refused([row("a", at=NOON), row("b", x={1: 2}), "q1"]) == (
        "Nothing was kept, because of 3 bad lines: line 1: 'at' is not a JSON value; "
        "line 2: 'x' has a name that is not text; line 3: is not an object."
    )


def test_an_import_costs_a_fixed_number_of_queries_per_batch(django_assert_num_queries):
    for size in (1, 2_000):
        study = make_study(f"crepe-{size}")
        with django_assert_num_queries(8):
            bring(study, [row(n) for n in range(size)])
