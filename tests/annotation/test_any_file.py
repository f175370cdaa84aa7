"""Whatever a file holds, it is taken or refused with a sentence; and what was taken is the same when it comes again."""

import io
import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.elsewhere import import_annotations
from annotation.intake import NAMED, import_items
from annotation.models import Study
from annotation.reading import BadFile
from tests.factories import FALSE_ANSWER, NORMAL_ANSWER, make_items, make_study

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
EXAMPLES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
some_text = st.text(st.characters(), min_size=1, max_size=12)
items = st.fixed_dictionaries(
    {"id": some_text | json_values, "question": some_text, "comment": some_text},
    optional={
        "gold": st.sampled_from([None, NORMAL_ANSWER, FALSE_ANSWER]) | json_values,
        "meta": json_values,
        "x": json_values,
    },
)
csv_text = st.text(st.sampled_from('id,"\n\r \x00é{') | st.characters()).map("id,".__add__)
files = (
    st.binary(max_size=200)
    | st.binary().map(b"\x1f\x8b".__add__)
    | (st.text() | csv_text).map(lambda text: text.encode(errors="surrogatepass"))
)
annotations = st.fixed_dictionaries(
    {
        "item": st.sampled_from(["q1", "q2", "q3"]) | json_values,
        "worker": st.sampled_from(["ann", "W001", "W002"]) | json_values,
        "stage": st.sampled_from(["generate", "validate"]) | json_values,
        "answer": st.sampled_from([NORMAL_ANSWER, FALSE_ANSWER, {"valid": "A"}]) | json_values,
    },
    optional={"submitted_at": some_text | json_values, "active_seconds": json_values, "counted": json_values},
)


@pytest.fixture
def study():
    return make_study()


@EXAMPLES
@given(files)
def test_any_bytes_are_a_file_with_good_and_bad_lines_or_a_refusal(study, content):
    with suppress(BadFile):
        counts = import_items(study, io.BytesIO(content), skip_bad=True, by="test", at=NOON)
        assert min(counts.bad, NAMED) == len(counts.problems)


@EXAMPLES
@given(rows=st.lists(items, max_size=4))
def test_any_rows_are_taken_or_bad_and_the_same_again_are_unchanged(study, rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    first = import_items(study, io.BytesIO(lines), skip_bad=True, by="test", at=NOON)
    again = import_items(study, io.BytesIO(lines), skip_bad=True, by="test", at=NOON)
    assert (again.created, again.unchanged, again.bad) == (0, first.created + first.unchanged, first.bad)


@EXAMPLES
@given(rows=st.lists(annotations, max_size=6))
def test_any_annotations_are_taken_or_bad_and_the_same_again_are_unchanged(rows):
    number = Study.objects.count()
    study = make_study(f"crepe-{number}")
    make_items(study, 3)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    first = import_annotations(study, io.BytesIO(lines), skip_bad=True, by="test", at=NOON)
    again = import_annotations(study, io.BytesIO(lines), skip_bad=True, by="test", at=NOON)
    assert (again.created, again.unchanged, again.bad) == (0, first.created + first.unchanged, first.bad)
