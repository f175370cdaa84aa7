"""Rating pages: what a rater, a program and a file may say, and what none of them is told."""

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation import links
from annotation.elsewhere import import_annotations
from annotation.intake import create_study, import_items
from annotation.models import Annotation, Assignment
from tests.annotation.program import Program
from tests.factories import make_sitting, make_worker
from tests.ratings import BY, SYSTEMS, give, make_answers_study, make_outputs_study, make_pairs_study, scores
from validation import exports
from validation.queries import agreement_of

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
DATA = Path(__file__).parents[2] / "data"


def opened(study, code="ann"):
    """A sitting of a new worker, and the address of its first item."""
    stage = study.protocol.stages[0].name
    worker = make_worker(study, code, stages=(stage,))
    sitting = make_sitting(study, stage=stage, worker=worker, at=timezone.now())
    token = links.sign(worker, links.LINK, at=timezone.now())
    return worker, sitting, reverse("annotation:work", args=[token, sitting.pk, 1])


def cells(text):
    return re.findall(r'type="radio" name="([^"]+)"', text)


def test_a_rater_sees_letters_only_and_what_is_stored_names_systems(client):
    study = make_outputs_study(1)
    _, sitting, url = opened(study)
    page = client.get(url).content.decode()
    assert [system for system in SYSTEMS if system in page] == []
    assert sorted(set(cells(page))) == [f"scores.{a}.{c}" for a in "ABC" for c in ("detail", "fluency")]
    order = [int(n) for n in re.findall(r"<dt>presupposition</dt><dd>Thing (\d) is so", page)]
    fields = {f"scores.{a}.detail": "1" for a in "ABC"} | {f"scores.{a}.fluency": "3" for a in "BC"}
    done = client.post(url, {**fields, "scores.A.fluency": "0", "go": "next"})
    assert done.url.endswith(f"/sittings/{sitting.pk}/done/")
    first = SYSTEMS[order[0] - 1]
    assert Annotation.objects.get().answer == scores(**{first.replace("-", "_"): 0})


def test_a_cell_that_is_not_rated_is_named_and_the_others_are_kept(client):
    _, sitting, url = opened(make_outputs_study(1))
    page = client.post(url, {"scores.A.fluency": "0", "go": "next"})
    assert page.status_code == 422
    text = page.content.decode()
    assert "Output A: choose a value for Detail." in text
    assert "Output A: choose a value for Fluency." not in text
    assert sitting.assignments.get().draft == {"scores.A.fluency": "0"}


def test_raters_get_orders_of_their_own(client):
    study = make_outputs_study(1, raters=8)
    orders = set()
    for n in range(8):
        page = client.get(opened(study, f"ann{n}")[2]).content.decode()
        orders.add(tuple(re.findall(r"<dt>presupposition</dt><dd>Thing (\d) is so", page)))
    assert len(orders) > 1


def test_the_meaning_of_every_value_is_on_the_page(client):
    page = client.get(opened(make_outputs_study(1))[2]).content.decode()
    assert [page.count(meaning) for meaning in ("<span>not fluent</span>", "<span>much</span>")] == [3, 3]


def test_a_program_is_as_blind_and_answers_by_letter():
    study = make_outputs_study(1)
    worker = make_worker(study, "ann", stages=("rate",))
    program = Program(worker)
    status, sitting = program.ask("POST", "studies/rubric/sittings/", {"stage": "rate"})
    assert status == 201
    assert [system for system in (*SYSTEMS, "systems") if system in str(sitting)] == []
    shown = sitting["assignments"][0]
    outputs = shown["item"]["payload"]["outputs"]
    assert [output["letter"] for output in outputs] == ["A", "B", "C"]
    given = {"scores": {a: {"fluency": 3, "detail": 1} for a in "AB"}}
    status, refused = program.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": {str(shown["id"]): given}})
    assert (status, refused["errors"][str(shown["id"])]["scores.C.fluency"]) == (
        422,
        ["Output C: fluency is not rated yet: 0 or 3."],
    )
    assert program.ask("PUT", f"assignments/{shown['id']}/draft/", {"answer": given})[0] == 200
    given["scores"]["C"] = {"fluency": 0, "detail": 1}
    status, _ = program.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": {str(shown["id"]): given}})
    assert status == 200
    third = next(s for k, s in enumerate(SYSTEMS, 1) if f"Thing {k} " in str(outputs[2]))
    assert Annotation.objects.get().answer == scores(**{third.replace("-", "_"): 0})


def test_answers_in_a_file_name_systems_and_come_to_gold():
    study = make_outputs_study(1)
    rows = [{"item": "o1", "worker": f"w{n}", "stage": "rate", "answer": scores(reference=3 * n)} for n in (0, 1)]
    import_annotations(study, rows, **BY)
    assert [row["scores"]["reference"] for row in exports.gold_rows(study)] == [{"fluency": 1.5, "detail": 1.0}]


def test_hidden_parts_of_an_answer_to_rate_are_on_no_page(client):
    study = make_answers_study(1)
    _, _, url = opened(study)
    text = client.get(url).content.decode()
    assert [hidden for hidden in ("secret-model", "has_false_assumption", ">a1<") if hidden in text] == []
    worker = make_worker(study, "bot", stages=("rate",))
    status, sitting = Program(worker).ask("POST", "studies/acceptability/sittings/", {"stage": "rate"})
    assert (status, sitting["assignments"][0]["item"]["payload"]) == (
        201,
        {"question": "When was it, 1?", "answer": "Never, 1."},
    )
    assert sitting["assignments"][0]["item"]["id"] == str(sitting["assignments"][0]["id"])


def test_a_pair_is_verified_on_its_page_with_a_link_as_evidence(client):
    study = make_pairs_study(1)
    for code in ("ann", "ben"):
        _, _, url = opened(study, code)
        text = client.get(url).content.decode()
        assert "When did Ada 1 found Acme?" in text
        assert "When did Bob 1 found Acme?" in text
        client.post(url, {"verdict": "holds", "evidence": "https://example.org/bob", "go": "next"})
    row = next(exports.gold_rows(study))
    assert (row["verdict"], row["verdicts"]) == (
        "holds",
        [{"verdict": "holds", "evidence": "https://example.org/bob"}] * 2,
    )


def test_pairs_as_they_are_prepared_are_taken(tmp_path):
    files = [str(DATA / f"synqa2_{name}.json") for name in ("entities", "entities", "templates")]
    call_command("prepare", "synqa2-single", *files, "--out", str(tmp_path / "pairs.jsonl"))
    study = create_study("pairs", "synqa2", **BY)
    with (tmp_path / "pairs.jsonl").open("rb") as file:
        counts = import_items(study, file, **BY)
    assert counts.created == study.items.count() > 0
    assert counts.bad == 0


def test_a_bad_link_is_named_under_its_field(client):
    _, _, url = opened(make_pairs_study(1))
    page = client.post(url, {"verdict": "keep", "evidence": "javascript:alert(1)", "go": "next"})
    assert (page.status_code, "A link starts with http:// or https://" in page.content.decode()) == (422, True)


def test_the_evidence_page_names_systems_for_the_team(client, admin_user):
    client.force_login(admin_user)
    study = make_outputs_study(1)
    give(study, "ann", scores(reference=0))
    page = client.get(reverse("validation:evidence", args=[study.slug, study.items.get().pk])).content.decode()
    assert "Output reference: Fluency" in page
    assert "0 not fluent" in page


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (make_outputs_study, scores(reference=0), scores(reference=3)),
        (make_pairs_study, {"verdict": "keep"}, {"verdict": "holds"}),
        (make_answers_study, {"acceptable": True}, {"acceptable": False}),
    ],
)
@pytest.mark.parametrize(
    "page",
    [
        "annotation:study",
        "validation:items",
        "validation:agreement",
        "validation:labels",
        "validation:people",
        "validation:recollect",
        "annotation:settings",
    ],
)
def test_every_page_of_a_study_is_there_for_every_protocol(client, admin_user, make, first, second, page):
    client.force_login(admin_user)
    study = make(1)
    give(study, "ann", first)
    give(study, "ben", second)
    assert client.get(reverse(page, args=[study.slug])).status_code == 200


def test_agreement_on_a_rubric_compares_every_output_with_its_own_ratings():
    study = make_outputs_study(2)
    give(study, "ann", scores(reference=0), scores())
    give(study, "ben", scores(reference=0), scores(model_x=0))
    found = agreement_of(study, "rate", "fluency")
    # Of six pairs of ratings one is 3 and 0; of the twelve ratings three are 0: 1 - 1.5 / (2 * 20.25 / 11).
    assert found.krippendorff_alpha.value == pytest.approx(16 / 27)
    assert (found.items, found.krippendorff_alpha.items) == (2, 2)


def test_a_practice_answer_is_right_when_most_scores_are(client):
    study = make_outputs_study(1)
    assignment = Assignment(pk=5, item=study.items.get())
    stage = study.protocol.stage("rate")
    assert stage.fitted(stage.arranged(assignment.item.payload, 5)).matches(scores(), scores(reference=0), {}) is True
