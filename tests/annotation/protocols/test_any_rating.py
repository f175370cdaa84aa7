"""Whatever somebody sends: protocols say what is wrong with it, and none of them breaks."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols import ACCEPTABILITY, RUBRIC, SYNQA2
from annotation.protocols.base import BadRow
from tests.annotation.protocols import test_acceptability, test_rubric, test_synqa2

ROWS = {
    "synqa2": (SYNQA2, test_synqa2.ROW),
    "acceptability": (ACCEPTABILITY, test_acceptability.ROW),
    "rubric": (RUBRIC, test_rubric.ROW),
}
NAMES = ["verdict", "evidence", "acceptable", "scores", "A", "B", "reference", "fluency", "correction"]
leaves = st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=8) | st.sampled_from(NAMES)
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=15,
)


@pytest.mark.parametrize("slug", ROWS)
@given(raw=anything)
def test_any_answer_is_taken_or_refused_with_sentences(slug, raw):
    protocol, row = ROWS[slug]
    payload = protocol.read_row(row, "work").payload
    stage = protocol.stages[0]
    for seen in (payload, stage.arranged(payload, 1)):
        asked = stage.fitted(seen)
        answer, problems = asked.read(payload, raw)
        assert all(problem.text.endswith(".") for problem in problems)
        if not problems:
            assert asked.read(payload, answer) == (answer, [])
            assert asked.read(payload, asked.compose(asked.spread(answer))) == (answer, [])
        if isinstance(raw, dict):
            assert all(isinstance(value, str) for value in asked.spread(raw).values())


@pytest.mark.parametrize("slug", ROWS)
@given(data=st.data())
def test_any_row_is_taken_or_refused_with_a_reason(slug, data):
    protocol, row = ROWS[slug]
    key = data.draw(st.sampled_from(sorted(row)))
    with suppress(BadRow):
        item = protocol.read_row({**row, key: data.draw(anything)}, "work")
        assert item.payload["id"] == item.ref
