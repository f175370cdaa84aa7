"""Programs write claims and judge them: what they see of others' work, and what they are told."""

import pytest

from annotation.models import Annotation
from annotation.wordings import THERE
from tests.annotation.program import Program
from tests.claims import claim, hand_in, make_claim_study, make_claim_worker, reviewed, take, write, written

pytestmark = pytest.mark.django_db


def program(study, code):
    return Program(make_claim_worker(study, code))


def sitting_of(worker, stage):
    status, body = worker.ask("POST", "studies/creak/sittings/", {"stage": stage})
    assert status == 201
    return body


def test_a_blind_judge_is_shown_the_claim_and_neither_answers_nor_labels():
    study = make_claim_study(splits=["train"], relabel_share=1, reviewed_splits="")
    write(study, make_claim_worker(study, "ann"))
    (assignment,) = sitting_of(program(study, "jo"), "relabel")["assignments"]
    payload = assignment["item"]["payload"]
    assert "judges" not in assignment
    assert payload.keys() == {"id", "entities", "entity", "claim"}
    assert payload["claim"] in {written(1)[label]["claim"] for label in ("true", "false")}


def test_a_reviewer_is_shown_both_claims_and_not_whose_they_are():
    study = make_claim_study(splits=["train"])
    write(study, make_claim_worker(study, "ann"))
    eva = program(study, "eva")
    body = sitting_of(eva, "review")
    (assignment,) = body["assignments"]
    assert [each["label"] for each in assignment["item"]["payload"]["claims"]] == ["true", "false"]
    assert "ann" not in str(assignment)
    answers = {"answers": {str(assignment["id"]): reviewed()}}
    assert eva.ask("POST", f"sittings/{body['id']}/submit/", answers)[0] == 200
    assert Annotation.objects.get(stage="review").answer == reviewed()


def test_a_wording_that_is_taken_is_refused_with_its_field():
    study = make_claim_study()
    write(study, make_claim_worker(study, "ann"))
    ben = program(study, "ben")
    body = sitting_of(ben, "write")
    (assignment,) = body["assignments"]
    answer = written(2) | {"true": claim("paris 1 lies on a river", mention="paris 1")}
    answers = {"answers": {str(assignment["id"]): answer}}
    status, said = ben.ask("POST", f"sittings/{body['id']}/submit/", answers)
    assert (status, said["errors"]) == (422, {str(assignment["id"]): {"true.claim": [THERE]}})


def test_a_contrast_is_asked_for_with_its_label_and_a_draft_of_it_comes_back():
    study = make_claim_study(splits=["train"], contrast_share=1)
    write(study, make_claim_worker(study, "ann"))
    hand_in(take(study, make_claim_worker(study, "eva"), "review"), reviewed())
    max_ = program(study, "max")
    body = sitting_of(max_, "contrast")
    (assignment,) = body["assignments"]
    payload = assignment["item"]["payload"]
    assert payload["label"] in ("true", "false")
    draft = {"answer": {"claim": "Paris 1 has", "explanation": ""}}
    assert max_.ask("PUT", f"assignments/{assignment['id']}/draft/", draft)[0] == 200
    (again,) = max_.ask("GET", f"sittings/{body['id']}/")[1]["assignments"]
    assert again["draft"] == {"claim": "Paris 1 has"}
