"""Whatever is sent: checks answer with problems, the API with a refusal, and what is taken comes back as it was."""

import json

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from annotation import protocols
from annotation.forms import AnswerForm, input_names, read_draft, storable
from annotation.models import Annotation, Assignment
from annotation.protocols.crepe import LABELS, REASONS, VERDICTS
from tests.annotation.program import PROBLEM, Program
from tests.factories import FALSE_ANSWER, make_items, make_study, make_worker

PAYLOAD = {"id": "q1", "question": "How is current stored?", "comment": "It is not. The grid is a balance."}
STAGES = st.sampled_from(protocols.get("crepe").stages)

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)  # with NUL and lone surrogates
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
JSON = st.recursive(
    SCALARS, lambda inside: st.lists(inside, max_size=4) | st.dictionaries(TEXTS, inside, max_size=4), max_leaves=8
)
SENTENCES = st.sampled_from(["Power plants store current.", "Current is used at once.", "It is.", ""]) | TEXTS
PAIRS = st.fixed_dictionaries({}, optional={"presupposition": SENTENCES | JSON, "correction": SENTENCES | JSON})
ALMOST = st.fixed_dictionaries(
    {},
    optional={
        "label": st.sampled_from(LABELS) | JSON,
        "reason": st.sampled_from([None, *REASONS]) | JSON,
        "pairs": st.lists(PAIRS, max_size=4) | JSON,
        "valid": st.sampled_from(VERDICTS) | JSON,
    },
)
ANSWERS = JSON | ALMOST


@given(STAGES, ANSWERS)
def test_any_answer_is_checked_without_an_error(stage, raw):
    form = AnswerForm(stage, PAYLOAD, raw)
    if form.is_valid():
        assert json.loads(json.dumps(form.answer).encode()) == form.answer
        again = AnswerForm(stage, PAYLOAD, form.answer)
        assert (again.is_valid(), again.answer) == (True, form.answer)
    else:
        assert all(sentence.endswith(".") for said in form.errors.values() for sentence in said)


@given(STAGES, st.data())
def test_any_input_of_the_page_is_checked_without_an_error(stage, data):
    texts = st.sampled_from([c.value for q in stage.questions for c in q.choices]) | SENTENCES
    fields = data.draw(st.dictionaries(st.sampled_from(input_names(stage)), texts))
    form = AnswerForm.of_fields(stage, PAYLOAD, fields)
    if form.is_valid():
        assert AnswerForm(stage, PAYLOAD, form.answer).answer == form.answer


@given(STAGES, ANSWERS)
def test_a_draft_is_kept_whole_or_refused(stage, answer):
    fields, problems = read_draft(stage, answer)
    if not problems:
        assert set(fields) <= set(input_names(stage))
        assert storable(fields) == []
        assert said(answer) <= said(stage.compose(fields))


def said(value):
    """All that is written or chosen anywhere in an answer."""
    if isinstance(value, dict | list):
        return set().union(*map(said, value.values() if isinstance(value, dict) else value))
    return set() if value in (None, "") else {value}


@pytest.fixture
def ann(db):
    study = make_study(items_per_sitting=1)
    make_items(study, 1)
    return Program(make_worker(study))


NAMES = st.sampled_from(["stage", "answer", "answers"]) | TEXTS
BODIES = JSON | st.dictionaries(NAMES, ANSWERS, max_size=2) | st.fixed_dictionaries({"answer": ANSWERS})
DATABASE = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@DATABASE
@given(sent=BODIES)
@example(sent={"stage": "generate"})
def test_any_body_to_any_address_is_taken_or_refused(ann, sent):
    sitting = ann.lease()
    ask = json.dumps(sent).encode()
    paths = [("POST", "studies/crepe-a/sittings/"), ("POST", f"sittings/{sitting['id']}/submit/")]
    for method, path in [*paths, ("PUT", f"assignments/{sitting['assignments'][0]['id']}/draft/")]:
        with transaction.atomic():
            response = ann.send(method, path, ask)
            transaction.set_rollback(True)
        assert (response.status_code, response["Content-Type"]) in [
            (200, "application/json"),
            (400, PROBLEM),
            (404, PROBLEM),
            (422, PROBLEM),
        ]


@DATABASE
@given(answer=ANSWERS)
@example(answer=FALSE_ANSWER)
def test_what_is_taken_is_stored_as_the_check_left_it(ann, answer):
    sitting = ann.lease()
    held = Assignment.objects.select_related("item").get(pk=sitting["assignments"][0]["id"])
    form = AnswerForm(protocols.get("crepe").stage("generate"), held.item.payload, answer)
    with transaction.atomic():
        status, _ = ann.submit(sitting, answer)
        stored = list(Annotation.objects.values_list("answer", flat=True))
        transaction.set_rollback(True)
    if answer is not None and form.is_valid():
        assert (status, stored) == (200, [form.answer])
    else:
        assert (status, stored) == (422, [])


@DATABASE
@given(answer=ANSWERS)
@example(answer=FALSE_ANSWER)
def test_what_is_kept_as_a_draft_is_stored_as_it_was_read(ann, answer):
    pk = ann.lease()["assignments"][0]["id"]
    fields, problems = read_draft(protocols.get("crepe").stage("generate"), answer)
    with transaction.atomic():
        status, _ = ann.ask("PUT", f"assignments/{pk}/draft/", {"answer": answer})
        stored = Assignment.objects.get(pk=pk).draft
        transaction.set_rollback(True)
    assert (status, stored) == ((422, None) if problems else (200, fields))
