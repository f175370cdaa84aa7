"""Jobs: asked for once, done once, resumed when cut off, and failing with a sentence."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import OperationalError, connection
from django.utils import timezone

from annotation import jobs, submission
from annotation.intake import import_items
from annotation.models import Item, Job
from annotation.tasks import expire_leases, resume_jobs
from tests.factories import NORMAL_ANSWER, make_items, make_sitting, make_study
from validation import exports

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
    study.refresh_from_db()
    with job.file.open() as file:
        assert [json.loads(line)["labels"] for line in file] == [["normal"]]
    assert (job.state, job.result) == ("done", {"rows": 1, "rules": study.declared_hash})


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


# --- Told while it runs ---------------------------------------------------------------------------
def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.mark.django_db(transaction=True)
def test_progress_and_a_sign_of_life_are_noted_while_a_job_runs(ana, monkeypatch):
    monkeypatch.setattr(jobs, "EVERY", timedelta(milliseconds=10))

    def slow(job, out, progress):
        progress(3, 7)
        wait_for(lambda: Job.objects.filter(pk=job.pk, done=3, total=7).exists())
        heard = Job.objects.get().heard_at
        wait_for(lambda: Job.objects.filter(heard_at__gt=heard).exists())
        return {}

    monkeypatch.setitem(jobs.KINDS, "export_gold", slow)
    jobs.run(ask("export_gold", ana).pk)
    assert Job.objects.values_list("state", "done", "total").get() == ("done", 3, 7)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["export_gold", "export_annotations"])
def test_an_export_tells_how_far_it_is_while_it_keeps_its_connection_busy(ana, monkeypatch, kind):
    study = make_study()
    make_items(study, 1)
    for code in ("ann", "ben"):
        sitting = make_sitting(study, code)
        submission.submit(sitting, {a.pk: NORMAL_ANSWER for a in sitting.assignments.all()}, at=NOON)
    monkeypatch.setattr(jobs, "EVERY", timedelta(milliseconds=10))
    write_lines = exports.write_lines

    def watched(rows, out, progress):
        rows = iter(rows)
        first = next(rows)  # from here on the connection is busy
        progress(1)
        with ThreadPoolExecutor(1) as other:
            other.submit(look, Job.objects.filter(done=1)).result()
        return write_lines([first, *rows], out, progress)

    def look(found):
        wait_for(found.exists)
        connection.close()

    monkeypatch.setattr("validation.jobs.write_lines", watched)
    job = ask(kind, ana, study)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_import_is_heard_of_while_it_is_inside_its_transaction(ana, monkeypatch):
    monkeypatch.setattr(jobs, "EVERY", timedelta(milliseconds=10))
    heard = []

    def watched(study, file, *, progress, **options):
        counts = import_items(study, file, progress=progress, **options)
        with ThreadPoolExecutor(1) as other:
            other.submit(look).result()
        return counts

    def look():
        wait_for(Job.objects.filter(done__gt=0).exists)
        heard.extend(Job.objects.values_list("state", "done", "total"))
        heard.append(Item.objects.count())
        connection.close()

    monkeypatch.setattr(jobs, "import_items", watched)
    content = json.dumps(ROW).encode()
    jobs.run(ask("import_items", ana, file=ContentFile(content, name="rows.jsonl")).pk)
    assert heard == [("running", len(content), len(content)), 0]


# --- When something is wrong ----------------------------------------------------------------------
def test_an_import_and_its_end_are_one_step(ana, monkeypatch):
    monkeypatch.setattr(jobs, "_finish", lambda *_, **__: 1 / 0)
    job = ask("import_items", ana, file=ContentFile(json.dumps(ROW).encode(), name="rows.jsonl"))
    with pytest.raises(ZeroDivisionError):
        jobs.run(job.pk)
    assert not Item.objects.exists()


def test_a_fault_is_raised_for_the_log_and_told_as_a_sentence(ana, monkeypatch):
    monkeypatch.setitem(jobs.KINDS, "export_gold", lambda *_: 1 / 0)
    job = ask("export_gold", ana)
    with pytest.raises(ZeroDivisionError):
        jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", jobs.FAULT)


def test_a_database_that_goes_away_leaves_the_job_to_the_sweep(ana, monkeypatch):
    def cut_off(*_):
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setitem(jobs.KINDS, "export_gold", cut_off)
    job = ask("export_gold", ana)
    with pytest.raises(OperationalError):
        jobs.run(job.pk, now=lambda: NOON)
    job.refresh_from_db()
    assert job.state == "running"
    assert jobs.waiting(at=NOON + timedelta(seconds=121)) == [job.pk]


def test_without_a_broker_a_job_waits_for_the_sweep(ana, django_capture_on_commit_callbacks, monkeypatch, caplog):
    def no_broker(job_id):
        raise ConnectionError("nobody listens")

    monkeypatch.setattr("annotation.tasks.run_job.delay", no_broker)
    with django_capture_on_commit_callbacks(execute=True):
        job = ask("export_gold", ana)
    assert "nobody listens" in caplog.text
    assert jobs.waiting(at=NOON + timedelta(seconds=31)) == [job.pk]


def test_the_sweep_queues_what_nobody_is_at(ana, monkeypatch):
    queued = []
    monkeypatch.setattr("annotation.tasks.run_job.delay", queued.append)
    job = ask("export_gold", ana)
    Job.objects.update(asked_at=timezone.now() - timedelta(seconds=31))
    resume_jobs()
    assert queued == [job.pk]


def test_beat_gives_back_what_is_overdue():
    study = make_study()
    make_items(study, 1)
    make_sitting(study, at=NOON)
    assert expire_leases() == 1
    assert Item.objects.get().open_seats == 2
