"""CREAK's four forms: what is refused, what is warned of, what is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols import CREAK
from annotation.protocols.base import ANY, BadOption, BadRow, Counted, Question, Stage
from annotation.protocols.creak import fit
from tests.claims import item, reviewed, written

PAYLOAD = CREAK.read_row(item(1)).payload
WRITE, REVIEW, RELABEL, CONTRAST = CREAK.stages
ANSWER = WRITE.read(PAYLOAD, written(1))[0]


def said(stage, raw, payload=PAYLOAD):
    """field -> (blocks, the first words)."""
    return {(p.field, p.blocking): p.text for p in stage.read(payload, raw)[1]}


def change(answer, path, value):
    """The answer with one member changed; None takes it out."""
    head, _, rest = path.partition(".")
    changed = change(answer[head], rest, value) if rest else value
    return {name: v for name, v in (answer | {head: changed}).items() if v is not None}


# --- Writing --------------------------------------------------------------------------------------
def test_an_answer_is_kept_with_the_spans_of_its_entity():
    answer, problems = WRITE.read(PAYLOAD, written(1))
    assert problems == []
    assert answer == {
        "entity": "Paris 1",
        "true": {**written(1)["true"], "entity_mention_loc": [[0, 7]]},
        "false": {**written(1)["false"], "entity_mention_loc": [[12, 19]]},
    }


@pytest.mark.parametrize(
    ("path", "value", "field", "text"),
    [
        ("entity", "Rome", "entity", "Pick one of these."),
        ("entity", None, "entity", "Pick one of these."),
        ("entity", ["Paris 1"], "entity", "Pick one of these."),
        ("true.claim", "", "true.claim", "Write a sentence here."),
        ("true.claim", 7, "true.claim", "This must be text."),
        ("false.explanation", " ", "false.explanation", "Explain it in a sentence."),
        ("false.explanation", None, "false.explanation", "This must be text."),
        ("true.certainty", "surely", "true.certainty", "Say how sure you are: definitely or maybe true."),
        ("true.mention", "the town", "true.mention", "The claim does not hold these words. Copy them from it."),
        ("true.mention", 3, "true.mention", "This must be text."),
        ("true.score", 1, "true", "Unknown field 'score': a claim has claim, explanation and certainty."),
        ("true", "text", "true", "A claim has claim, explanation and certainty."),
        ("note", "x", "", "Unknown field 'note': an answer has entity, true and false."),
        ("false.claim", "paris 1  LIES on a river", "false.claim", "This is the true claim once more"),
    ],
)
def test_an_answer_that_breaks_a_rule_is_refused(path, value, field, text):
    raw = change(written(1), path, value) if "." not in path or isinstance(written(1)[path.split(".")[0]], dict) else {}
    found = said(WRITE, raw)
    assert [(where, words[: len(text)]) for (where, blocks), words in found.items() if blocks] == [(field, text)]


@pytest.mark.parametrize("raw", [None, [], "true", 1])
def test_what_is_no_answer_is_refused(raw):
    assert [list(said(stage, raw)) for stage in CREAK.stages] == [[("", True)]] * 4


def test_without_an_entity_the_texts_are_looked_at_all_the_same():
    raw = change(change(written(1), "entity", None), "true.claim", "We saw it?")
    assert sorted(field for field, _ in said(WRITE, raw)) == ["entity", "true.claim"]


def test_marked_words_make_up_for_a_missing_name_and_spans_are_never_taken_over():
    raw = change(written(1), "true.claim", "The city of light has a tower.")
    raw["true"] |= {"mention": " City of Light ", "entity_mention_loc": [[0, 99]]}
    answer, problems = WRITE.read(PAYLOAD, raw)
    assert (problems, answer["true"]["mention"], answer["true"]["entity_mention_loc"]) == (
        [],
        "City of Light",
        [[4, 17]],
    )


def test_who_may_be_in_the_first_person_is_the_studys_to_say():
    raw = change(written(1), "true.claim", "We like Paris 1.")
    warned = fit({"first_person": "warn"}).stage("write")
    assert [list(said(stage, raw)) for stage in (WRITE, warned)] == [[("true.claim", True)], [("true.claim", False)]]
    assert list(said(warned.fitted(PAYLOAD), raw)) == [("true.claim", False)]


def test_the_form_asks_about_the_items_own_entities():
    asked = WRITE.fitted(PAYLOAD)
    assert [(c.value, c.key) for c in asked.questions[0].choices] == [("Paris 1", "1"), ("Marlboro 1 (cigarette)", "2")]
    ten = {"entities": [{"entity": f"E{n}", "en_wiki_pageid": "1"} for n in range(10)]}
    assert [c.key for c in WRITE.fitted(ten).questions[0].choices] == list("1234567890")


def test_claims_are_asked_for_once_something_is_picked():
    asked = WRITE.fitted(PAYLOAD)
    assert [q.name for q in asked.relevant({})] == ["entity"]
    assert len(asked.relevant({"entity": "Paris 1"})) == 5
    after = Question("b", "", when=("a", ANY))
    stage = Stage("s", "", "", (Question("a", ""), after), (), lambda p, r: ({}, []), dict, dict)
    assert [q.name for q in stage.relevant({"a": "x"})] == ["a", "b"]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(lambda t: t == t.strip())
CLAIM = st.fixed_dictionaries(
    {"claim": TEXT, "explanation": TEXT, "certainty": st.sampled_from(["definitely", "maybe"])},
    optional={"mention": TEXT},
)


@given(st.fixed_dictionaries({"entity": TEXT, "true": CLAIM, "false": CLAIM}))
def test_an_answer_comes_back_from_the_inputs_of_the_page(answer):
    assert WRITE.compose(WRITE.spread(answer)) == answer


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_nothing_that_is_json_breaks_a_form(raw):
    for stage in CREAK.stages:
        answer = raw if isinstance(raw, dict) else {"true": raw, "entity": raw, "claim": raw}
        for asked in (stage, stage.fitted(PAYLOAD, [ANSWER])):
            asked.read(PAYLOAD, raw)
            asked.read(PAYLOAD, answer)
            asked.compose(asked.spread(answer))
            if asked.sentences:
                asked.sentences(answer)


# --- Review ---------------------------------------------------------------------------------------
ASKED = REVIEW.fitted(PAYLOAD, [ANSWER])
EDIT = {"decision": "edit", "claim": "Paris 1 lies on the river."}


@pytest.mark.parametrize(
    ("true", "expected"),
    [
        ({"decision": "keep"}, {}),
        ({"decision": "reject", "reason": "outlandish"}, {}),
        (EDIT, {}),
        ({"decision": "drop"}, {"true.decision": True}),
        ({}, {"true.decision": True}),
        ({"decision": "reject"}, {"true.reason": True}),
        ({"decision": "reject", "reason": "boring"}, {"true.reason": True}),
        ({"decision": "keep", "reason": "grammar"}, {"true.reason": True}),
        ({"decision": "keep", "claim": "Other."}, {"true.claim": True}),
        ({"decision": "edit"}, {"true.claim": True}),
        (EDIT | {"claim": "It lies on a river."}, {"true.claim": True}),
        (EDIT | {"claim": "Paris 1 lies on a river."}, {"true.claim": True}),
        (EDIT | {"claim": "Paris 1 has seen many more bridges than that."}, {"true.claim": False}),
        (EDIT | {"note": 1}, {"true": True}),
        ("keep", {"true": True}),
    ],
)
def test_a_review_keeps_edits_or_rejects_each_claim(true, expected):
    problems = ASKED.read(PAYLOAD, {"true": true, "false": {"decision": "keep"}})[1]
    assert {p.field: p.blocking for p in problems} == expected


def test_a_reviewer_sees_the_claims_with_the_edit_begun_and_not_who_wrote_them():
    assert ASKED.shows["claims"][0] == {"label": "true", **written(1)["true"]}
    assert ASKED.shows["entity"]["description"] == "A city"
    fields = {q.name: q.prefill for q in ASKED.questions if q.prefill}
    assert fields == {f"{label}.claim": written(1)[label]["claim"] for label in ("true", "false")}
    assert not ASKED.compares


@pytest.mark.parametrize("answer", [reviewed(), reviewed(EDIT, {"decision": "reject", "reason": "grammar"})])
def test_a_review_comes_back_from_the_inputs_of_the_page(answer):
    assert REVIEW.compose(REVIEW.spread(answer)) == answer


def test_the_keys_of_a_review_are_printed_once():
    keys = [c.key for q in REVIEW.questions for c in q.choices]
    assert len(set(keys)) == len(keys) == 22


# --- Relabelling and contrasts ----------------------------------------------------------------------
def test_a_blind_judge_gets_one_claim_and_no_label():
    asked = RELABEL.fitted(PAYLOAD, [ANSWER, reviewed()])
    assert asked.shows.keys() == {"entity", "claim"}
    assert asked.shows["claim"] in [written(1)[label]["claim"] for label in ("true", "false")]


def test_what_was_rejected_is_neither_judged_nor_flipped():
    rejected = {"decision": "reject", "reason": "grammar"}
    for keeps, gone in (("true", "false"), ("false", "true")):
        judged = [ANSWER, reviewed(**{gone: rejected})]
        for stage in (RELABEL, CONTRAST):
            assert stage.fitted(PAYLOAD, judged).shows["claim"] == written(1)[keeps]["claim"]


def test_what_was_edited_is_judged_and_flipped_as_it_is_now():
    judged = [ANSWER, reviewed(EDIT, {"decision": "reject", "reason": "grammar"})]
    assert CONTRAST.fitted(PAYLOAD, judged).shows["claim"] == EDIT["claim"]


TRUE_ALONE = [ANSWER, reviewed(false={"decision": "reject", "reason": "grammar"})]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Paris 1 lies on a hill.", {}),
        ("paris 1 lies on a river", {"claim": True}),
        (written(1)["false"]["claim"].upper(), {"claim": True}),
        ("It lies on a hill.", {"claim": True}),
        ("", {"claim": True}),
        ("I saw Paris 1.", {"claim": True}),
        ("Paris 1 has never been near any kind of water.", {"claim": False}),
    ],
)
def test_a_contrast_changes_little_and_still_names_its_entity(claim, expected):
    problems = CONTRAST.fitted(PAYLOAD, TRUE_ALONE).read(PAYLOAD, {"claim": claim, "explanation": "So."})[1]
    found = {}
    for problem in problems:
        found[problem.field] = found.get(problem.field, False) or problem.blocking
    assert found == expected


def test_a_contrast_may_name_its_entity_by_the_words_that_were_marked():
    raw = change(written(1), "true.claim", "The city of light has a tower.")
    raw["true"]["mention"] = "city of light"
    asked = CONTRAST.fitted(PAYLOAD, [WRITE.read(PAYLOAD, raw)[0], TRUE_ALONE[1]])
    assert asked.read(PAYLOAD, {"claim": "The city of light has no tower.", "explanation": "It fell."})[1] == []


def test_a_claim_that_was_drawn_is_the_same_for_everybody_and_either_is_drawn():
    shown = set()
    for number in range(1, 21):
        payload = CREAK.read_row(item(number)).payload
        judged = [WRITE.read(payload, written(number))[0]]
        claims = {RELABEL.fitted(payload, judged).shows["claim"] for _ in range(3)}
        assert len(claims) == 1
        shown |= {"river" if "river" in claim else "snow" for claim in claims}
    assert shown == {"river", "snow"}


# --- Rows and options -------------------------------------------------------------------------------
def test_a_row_keeps_its_entities_and_page_ids_as_text():
    assert CREAK.read_row(item(1, "dev", note="mine")).payload == {
        "id": "c1",
        "split": "dev",
        "entities": [
            {"entity": "Paris 1", "en_wiki_pageid": "101", "description": "A city", "keywords": ["Seine"]},
            {"entity": "Marlboro 1 (cigarette)", "en_wiki_pageid": "501"},
        ],
        "meta": {"note": "mine"},
    }


@pytest.mark.parametrize("role", ["gold", "filler", "qualification"])
def test_nobody_knows_the_answer_to_a_set_of_entities(role):
    with pytest.raises(BadRow, match=f"has no known answer, so this cannot be a {role} item"):
        CREAK.read_row(item(1), role)


PLAIN = {"entity": "Paris", "en_wiki_pageid": "1"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"split": "valid"}, "'split' must be one of train, dev, test; it was 'valid'"),
        ({"split": None}, "'split' must be one of train, dev, test; it was None"),
        ({"entities": [PLAIN]}, "'entities' must be a list of 2 to 10"),
        ({"entities": [{**PLAIN, "entity": f"E{n}"} for n in range(11)]}, "'entities' must be a list of 2 to 10"),
        ({"entities": "Paris"}, "'entities' must be a list of 2 to 10"),
        ({"entities": [PLAIN, PLAIN]}, "the entity 'Paris' is there twice"),
        ({"entities": [PLAIN, "Rome"]}, "entity 2 must be an object with 'entity' and 'en_wiki_pageid'"),
        ({"entities": [PLAIN, {"entity": "Rome"}]}, "entity 2: 'en_wiki_pageid' is missing; a number or its text"),
        ({"entities": [PLAIN, {"en_wiki_pageid": "2"}]}, "entity 2: 'entity' is missing or not a text"),
        (
            {"entities": [PLAIN, {**PLAIN, "entity": "R", "keywords": "x"}]},
            "entity 2: 'keywords' must be a list of texts",
        ),
        ({"id": ""}, "'id' must be a text of 1 to 200 characters"),
    ],
)
def test_a_row_that_cannot_be_an_item_is_refused_with_what_is_wrong(change, why):
    with pytest.raises(BadRow) as refusal:
        CREAK.read_row(item(1) | change)
    assert str(refusal.value) == why


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reviewed_splits": "dev,valid"}, "reviewed_splits: write some of train, dev, test with commas between them"),
        ({"relabel_share": "2"}, "relabel_share must be from 0 to 1; it was 2."),
        ({"relabel_judges": "2"}, "relabel_judges must be from 3 to 15; it was 2."),
        ({"first_person": "allow"}, "first_person must be one of block, warn; it was 'allow'."),
    ],
)
def test_a_setting_that_cannot_be_is_refused(given, said):
    with pytest.raises(BadOption) as refusal:
        CREAK.read_options(given)
    assert str(refusal.value).startswith(said)


def test_the_papers_numbers_are_the_defaults():
    options = CREAK.read_options({})
    names = ("max_share", "pay_per_sitting", "items_per_sitting", "relabel_share", "contrast_share", "first_person")
    assert [options[name] for name in names] == [0.07, 0.6, 1, 0.0, 0.0, "block"]


def test_everything_that_was_asked_is_in_the_snapshot():
    stages = CREAK.snapshot()["stages"]
    assert [(s["name"], s["role"]) for s in stages] == [
        ("write", "writer"),
        ("review", "reviewer"),
        ("relabel", "judge"),
        ("contrast", "editor"),
    ]


def test_a_simulated_crowds_claims_pass_the_checks():
    from random import Random

    rng, wrong = Random(1), []
    for number in range(1, 60):
        payload = CREAK.read_row(item(number)).payload
        answer, problems = WRITE.read(payload, CREAK.imagine("write", payload, None, [], 0.7, rng))
        wrong += [p for p in problems if p.blocking]
        judged = [answer]
        for stage in (REVIEW, RELABEL, CONTRAST):
            asked = stage.fitted(payload, judged)
            given = CREAK.imagine(stage.name, payload, None, judged, 0.7, rng)
            clean, problems = asked.read(payload, given)
            wrong += [p for p in problems if p.blocking]
            if stage is REVIEW:
                judged.append(clean)
                if all(each["decision"] == "reject" for each in clean.values()):
                    break
    assert wrong == []
    assert Counted(1, "write", answer).judges == ()
