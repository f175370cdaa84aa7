"""Jobs: asked for once, done once, resumed when cut off, and failing with a sentence."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile

from annotation import jobs, submission
from annotation.models import Item, Job
from tests.factories import NORMAL_ANSWER, make_items, make_sitting, make_study

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
ROW = {"id": "a", "question": "Why?", "comment": "Because."}


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def ana():
    return User.objects.create_user("ana")


def ask(kind, ana, study=None, **options):
    return jobs.ask(study or make_study(), kind, by=ana, at=NOON, **options)


def test_a_job_is_queued_once_the_transaction_is_in(ana, django_capture_on_commit_callbacks, monkeypatch):
    queued = []
    monkeypatch.setattr("annotation.tasks.run_job.delay", queued.append)
    with django_capture_on_commit_callbacks(execute=True):
        job = ask("export_gold", ana)
        assert queued == []
    assert queued == [job.pk]


def test_an_import_by_upload_says_what_became_of_its_rows(ana):
    job = ask("import_items", ana, file=ContentFile(json.dumps(ROW).encode(), name="rows.jsonl"))
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result) == ("done", {"created": 1, "unchanged": 0, "bad": 0, "problems": []})
    assert Item.objects.get().ref == "a"


def test_a_bad_file_fails_with_one_sentence_and_keeps_nothing(ana):
    lines = json.dumps(ROW) + "\n{not json\n"
    job = ask("import_items", ana, file=ContentFile(lines.encode(), name="rows.jsonl"))
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, "line 2" in job.error, Item.objects.count()) == ("failed", True, 0)


def test_an_export_leaves_a_file_to_download(ana):
    study = make_study()
    make_items(study, 1)
    for code in ("ann", "ben"):
        sitting = make_sitting(study, code)
        submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.assignments.all()}, at=NOON)
    job = ask("export_gold", ana, study)
    jobs.run(job.pk)
    job.refresh_from_db()
    with job.file.open() as file:
        assert [json.loads(line)["labels"] for line in file] == [["normal"]]
    assert (job.state, job.result) == ("done", {"rows": 1})


def test_a_job_is_done_once_however_often_it_is_called(ana, monkeypatch):
    done = []
    monkeypatch.setitem(jobs.KINDS, "export_gold", lambda job, out, progress: done.append(job.pk) or {})
    job = ask("export_gold", ana)
    for _ in range(3):
        jobs.run(job.pk)
    assert done == [job.pk]


@pytest.mark.parametrize(
    ("state", "silent_for", "found"),
    [
        ("queued", timedelta(seconds=5), False),
        ("queued", timedelta(seconds=31), True),
        ("running", timedelta(seconds=119), False),
        ("running", timedelta(seconds=121), True),
    ],
)
def test_the_sweep_finds_what_nobody_is_at(ana, state, silent_for, found):
    job = ask("export_gold", ana)
    Job.objects.update(state=state, asked_at=NOON - silent_for, heard_at=NOON - silent_for)
    assert jobs.waiting(at=NOON) == ([job.pk] if found else [])


def test_a_cut_off_job_is_taken_up_again_and_a_live_one_is_not(ana, monkeypatch):
    done = []
    monkeypatch.setitem(jobs.KINDS, "export_gold", lambda job, out, progress: done.append(job.pk) or {})
    job = ask("export_gold", ana)
    Job.objects.update(state="running", heard_at=NOON)
    jobs.run(job.pk, now=lambda: NOON + timedelta(seconds=60))
    assert done == []
    jobs.run(job.pk, now=lambda: NOON + timedelta(seconds=121))
    assert done == [job.pk]


def test_a_job_leaves_no_temporary_file_behind(ana, monkeypatch):
    paths = []
    monkeypatch.setitem(jobs.KINDS, "export_gold", lambda job, out, progress: paths.append(out) or {})
    jobs.run(ask("export_gold", ana).pk)
    assert [Path(path).exists() for path in paths] == [False]
