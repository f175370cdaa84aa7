import gzip
import io
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.preparing.rows import as_line, good_rows, normalised, rows, text, texts
from annotation.reading import BadFile
from tests.annotation.preparing.telling import Told

THREE = [{"id": "a"}, {"id": "b", "é": 1}, {"id": "c"}]
LINES = "".join(map(as_line, THREE)).encode()


def read(content, key="things"):
    return list(rows(io.BufferedReader(io.BytesIO(content)), key))


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        b"\xef\xbb\xbf" + LINES,
        gzip.compress(LINES),
        json.dumps(THREE).encode(),
        gzip.compress(json.dumps(THREE, indent=1).encode()),
        b"\xef\xbb\xbf \n" + json.dumps(THREE).encode(),
        json.dumps({"note": "n", "things": THREE}).encode(),
        json.dumps({"note": "n", "things": THREE}, indent=2).encode(),
        json.dumps({"things": THREE}, indent=2).replace("\n", "\r\n").encode(),
    ],
)
def test_rows_are_read_out_of_lines_an_array_or_an_object_that_holds_one(content):
    assert read(content) == [(1, THREE[0]), (2, THREE[1]), (3, THREE[2])]


@pytest.mark.parametrize("content", [b"[1,", b"[" * 100_000, b'{\n "other": []}', gzip.compress(b"[1, 2]" * 9)[:-9]])
def test_a_file_that_cannot_be_read_is_refused(content):
    with pytest.raises(BadFile):
        read(content)


def test_bad_rows_are_told_and_the_others_read():
    told = Told()
    numbered = read(b'{"id": "a"}\nnonsense\n[1]\n{"id": "\\u0000"}\n{"id": "b"}\n')
    assert list(good_rows(numbered, "things", told)) == [(1, {"id": "a"}), (5, {"id": "b"})]
    assert told.said == [("things", row, "cannot be read") for row in (2, 3, 4)]
    assert told.reasons == {"things": {"cannot be read": 3}}


@given(st.binary(max_size=60) | st.binary(max_size=40).map(b"[".__add__) | st.text().map(str.encode))
def test_any_bytes_are_rows_bad_rows_or_a_refusal(content):
    with suppress(BadFile):
        numbers = [number for number, _ in read(content)]
        assert numbers == sorted(set(numbers))


def test_texts_are_read_by_the_first_name_that_has_one():
    row = {"a": " ", "b": 7, "c": " x ", "d": True, "e": ["x", " x", "", 3, "y"], "f": 1.5}
    assert [text(row, "a", "b"), text(row, "c"), text(row, "d", "f", "z")] == ["7", "x", ""]
    assert [texts(row, "e"), texts(row, "c"), texts(row, "z")] == [["x", "y"], ["x"], []]


@pytest.mark.parametrize(
    ("written", "form"),
    [("  Why IS\tit —so? ", "why is it so"), ("ﬁne", "fine"), ("?!", "?!"), ("", ""), ("STRASSE", "strasse")],
)
def test_texts_are_compared_without_case_punctuation_and_blanks(written, form):
    assert normalised(written) == form
