from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.preparing.crepe import SPLITS, Question, drop_near, finder, prepare, read_splits
from annotation.preparing.near import Near
from annotation.protocols import CREPE
from tests.annotation.preparing.telling import Told, numbered

DAYS = read_splits(SPLITS)
MAY_2015, MAY_2019, MAY_2020 = (int(datetime(year, 5, 1, tzinfo=UTC).timestamp()) for year in (2015, 2019, 2020))
SKY = {"id": "q1", "title": "Why is the sky blue?", "score": 9, "created_utc": MAY_2015}
REPLY = {"id": "c1", "link_id": "t3_q1", "parent_id": "t3_q1", "body": "It scatters light.", "score": 4}


def made(questions, comments, *, min_score=0, words=(), exceptions=()):
    told = Told()
    found = prepare(
        numbered(questions),
        numbered(comments),
        splits=DAYS,
        min_score=min_score,
        words=words,
        exceptions=exceptions,
        tell=told,
    )
    return found, told


def test_a_question_and_its_reply_become_an_item_that_crepe_takes():
    found, told = made([SKY], [REPLY])
    (item,) = (question.as_item() for question in found)
    assert item == {
        "id": "q1",
        "question": "Why is the sky blue?",
        "comment": "It scatters light.",
        "split": "train",
        "posted_at": "2015-05-01T00:00:00+00:00",
        "score": 9,
        "meta": {"comment_id": "c1", "comment_score": 4},
    }
    assert CREPE.read_row(item).payload == item
    assert told.said == []


def test_plain_names_are_taken_as_well_as_those_of_a_dump():
    question = {"id": "t3_q1", "question": "Why?", "score": "9.0", "posted_at": "2019-07-01T01:30:00+02:00"}
    found, _ = made([question], [{"question_id": "q1", "comment": "So.", "score": "2"}])
    assert [(q.ref, q.split, q.posted_at, q.comment) for q in found] == [
        ("q1", "dev", "2019-06-30T23:30:00+00:00", "So.")
    ]


@pytest.mark.parametrize(
    ("scores", "winner"), [([1, 5, 3], "c1"), ([5, 5, 3], "c0"), ([-3, -1], "c1"), ([2, 2.5], "c1"), ([0], "c0")]
)
def test_the_reply_with_the_highest_score_wins_and_of_equal_ones_the_first(scores, winner):
    replies = [{**REPLY, "id": f"c{n}", "score": score} for n, score in enumerate(scores)]
    found, told = made([SKY], replies)
    assert [question.comment_ref for question in found] == [winner]
    assert told.counted.get("comments", {}) == (
        {"another comment has a higher score": len(scores) - 1} if len(scores) > 1 else {}
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "missing field"),
        ({"title": " "}, "missing field"),
        ({"score": None}, "missing field"),
        ({"score": "many"}, "missing field"),
        ({"score": "1e999"}, "missing field"),
        ({"created_utc": None}, "missing field"),
        ({"created_utc": "yesterday"}, "missing field"),
        ({"created_utc": 1e18}, "missing field"),
        ({"title": "[Removed]"}, "removed or deleted"),
        ({"selftext": "[deleted]"}, "removed or deleted"),
        ({"created_utc": MAY_2020}, "posted outside every split"),
        ({"created_utc": None, "posted_at": "2010-12-31"}, "missing field"),
        ({"score": 2}, "score below the threshold"),
        ({"title": "What the HECK is that?"}, "holds a word of the list"),
        ({"id": "q2"}, "no comment"),
    ],
)
def test_a_question_is_dropped_with_its_reason(change, reason):
    found, told = made([{**SKY, **change}], [REPLY], min_score=3, words=["Heck", "damn"], exceptions=["damn"])
    assert found == []
    assert [said for said in told.said if said[0] == "questions"] == [("questions", 1, reason)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"link_id": "t3_other", "parent_id": "t3_other"}, "its question is not there"),
        ({"link_id": "t3_late", "parent_id": "t3_late"}, "its question was dropped"),
        ({"parent_id": "t1_c0"}, "reply to a comment"),
        ({"parent_id": "t1_q1"}, "reply to a comment"),
        ({"body": "[removed]"}, "removed or deleted"),
        ({"body": ""}, "missing field"),
        ({"score": None}, "missing field"),
        ({"link_id": None, "parent_id": None}, "missing field"),
        ({"score": 1}, "another comment has a higher score"),
    ],
)
def test_a_comment_is_dropped_with_its_reason(change, reason):
    late = {**SKY, "id": "late", "title": "Late?", "created_utc": MAY_2020}
    found, told = made([SKY, late], [REPLY, {**REPLY, **change}])
    assert [question.comment_row for question in found] == [1]
    assert [said for said in told.said if said[0] == "comments"] == [("comments", 2, reason)]


def test_exact_duplicates_are_dropped_in_favour_of_the_later_split_and_there_of_the_first():
    questions = [
        SKY,
        {**SKY, "id": "q2", "title": "why is THE sky  blue"},
        {**SKY, "id": "q3", "created_utc": MAY_2019},
        {**SKY, "id": "q4", "title": "Why is grass green?"},
        {**SKY, "id": "q4", "title": "The id again?"},
    ]
    replies = [{**REPLY, "link_id": q["id"], "parent_id": None} for q in questions]
    found, told = made(questions, replies)
    assert [(question.ref, question.split) for question in found] == [("q3", "dev"), ("q4", "train")]
    assert sorted(said[1:] for said in told.said if said[0] == "questions") == [
        (1, "exact duplicate in another split"),
        (2, "exact duplicate in another split"),
        (5, "id used twice"),
    ]


def test_of_near_duplicates_across_splits_the_one_for_training_is_dropped():
    questions = [
        Question(row, f"q{row}", "?", split, "", 1) for row, split in enumerate(["train", "test", "dev", "train"])
    ]
    told = Told()
    kept = drop_near(questions, [Near(0, 1, 0.9), Near(0, 2, 0.9), Near(1, 2, 0.9)], "train", told)
    assert [question.ref for question in kept] == ["q1", "q2", "q3"]
    assert [(row["id"], row["kept"]) for row in told.rows] == [("q0", "q1")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What the hell?", "hell"),
        ("What the HELL's that?", "hell"),
        ("Hello, he'll shell it", ""),
        ("what a piece of work", "piece of work"),
        ("pieces of work", ""),
        ("a**e!", "a**e"),
        ("aa**e", ""),
        ("Straße", "strasse"),
        ("", ""),
    ],
)
def test_words_are_found_as_whole_words_in_any_case(text, found):
    assert finder({"hell", "piece of work", "a**e", "strasse", ""})(text) == found


def test_the_papers_splits_are_days_and_do_not_overlap():
    assert {
        "train": (date(2011, 1, 1), date(2018, 12, 31)),
        "dev": (date(2019, 1, 1), date(2019, 6, 30)),
        "test": (date(2019, 7, 1), date(2019, 12, 31)),
    } == DAYS


@pytest.mark.parametrize(
    "written",
    [
        "",
        "train",
        "train=2011",
        "=2011-01-01..2011-02-01",
        "a=2011-01-02..2011-01-01",
        "a=2011-01-01..2011-01-05,b=2011-01-05..2011-01-06",
        "a=2011-01-01..2011-01-05,a=2012-01-05..2012-01-06",
    ],
)
def test_splits_that_make_no_sense_are_refused(written):
    with pytest.raises(ValueError, match="split"):
        read_splits(written)


some_questions = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from(["a", "b", "c", "d"]),
            "title": st.sampled_from(["Why?", "why", "How?", "What the heck?"]),
            "score": st.integers(0, 4),
            "created_utc": st.sampled_from([MAY_2015, MAY_2019, MAY_2020]),
        }
    ),
    max_size=8,
)
some_replies = st.lists(
    st.fixed_dictionaries(
        {
            "link_id": st.sampled_from(["t3_a", "b", "t3_c", "x"]),
            "body": st.sampled_from(["One.", "Two.", "[deleted]"]),
            "score": st.integers(0, 3),
        }
    ),
    max_size=12,
)


@given(some_questions, some_replies)
def test_every_row_is_in_an_item_or_in_the_report_once(questions, replies):
    found, told = made(questions, replies, min_score=1, words=["heck"])
    in_items = [("questions", question.row) for question in found]
    dropped = [("questions", row) for file, row, _ in told.said if file == "questions"]
    assert sorted(in_items + dropped) == [("questions", row) for row in range(1, len(questions) + 1)]
    lost = [row for file, row, _ in told.said if file == "comments"]
    assert len(lost) == len(set(lost))
    assert {question.comment_row for question in found}.isdisjoint(lost)
    assert len({question.question.strip("?").lower() for question in found}) == len(found)
