"""Researchers' pages of imports and exports."""

import json
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation import jobs
from annotation.models import Job
from tests.factories import NORMAL_ANSWER, make_items, make_study
from tests.people import answer, make_researcher

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
HTMX = {"HX-Request": "true"}
ROW = {"id": "p1", "question": "Where is current stored?", "comment": "It is not stored at all."}


@pytest.fixture
def study():
    return make_study(items_per_sitting=1)


@pytest.fixture
def maria(client, study):
    user = make_researcher(study)
    client.force_login(user)
    return user


def address(name, study, *args):
    return reverse(f"annotation:{name}", args=[study.slug, *args])


def make_job(study, user, kind="export_gold", **fields):
    fields = {"state": "done", "finished_at": timezone.now(), **fields}
    if fields["state"] in ("queued", "running"):
        fields["finished_at"] = None
    return Job.objects.create(**{"study": study, "kind": kind, "asked_by": user, "asked_at": timezone.now(), **fields})


def upload(name="pairs.jsonl", rows=(ROW,)):
    return SimpleUploadedFile(name, "".join(json.dumps(row) + "\n" for row in rows).encode())


def test_an_uploaded_file_becomes_items_and_says_how_many(client, study, maria):
    asked = client.post(address("import_items", study), {"file": upload(), "role": "work", "skip_bad": "on"})
    job = Job.objects.get()
    assert asked.headers["Location"] == address("job", study, job.pk)
    assert (job.kind, job.options, job.asked_by) == ("import_items", {"role": "work", "skip_bad": True}, maria)
    jobs.run(job.pk)
    assert "1 created, 0 unchanged, 0 bad" in client.get(address("job", study, job.pk)).content.decode()
    assert [item.ref for item in study.items.all()] == ["p1"]


def test_a_file_that_is_refused_shows_the_sentence(client, study, maria):
    client.post(address("import_items", study), {"file": upload(rows=[{"id": "<b>"}]), "role": "work"})
    job = Job.objects.get()
    jobs.run(job.pk)
    page = client.get(address("job", study, job.pk)).content.decode()
    assert "Nothing was kept, because of 1 bad" in page
    assert 'role="alert"' in page


def test_rows_that_were_skipped_are_named(client, study, maria):
    asked = {"file": upload(rows=[ROW, {"id": "p2"}]), "role": "work", "skip_bad": "on"}
    client.post(address("import_items", study), asked)
    job = Job.objects.get()
    jobs.run(job.pk)
    assert "line 2: &#x27;question&#x27; is missing" in client.get(address("job", study, job.pk)).content.decode()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"role": "work"}, "This field is required."),
        ({"file": "not a file", "role": "work"}, "This field is required."),
        ({"file": SimpleUploadedFile("empty.jsonl", b""), "role": "work"}, "The submitted file is empty."),
        ({"file": upload(), "role": "boss"}, "boss is not one of the available choices."),
    ],
)
def test_an_import_without_a_file_or_role_is_refused_beside_the_field(client, study, maria, asked, said):
    answer = client.post(address("import_items", study), asked)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Job.objects.exists()


def test_gold_is_exported_and_downloaded(client, study, maria):
    make_items(study, 1)
    for code in ("ann", "ben"):
        answer(study, code, NORMAL_ANSWER)
    client.post(address("export", study), {"kind": "export_gold", "full": "on"})
    job = Job.objects.get()
    assert (job.kind, job.options) == ("export_gold", {"full": True, "keep_unresolved": False})
    jobs.run(job.pk)
    file = address("download", study, job.pk)
    assert f'href="{file}"' in client.get(address("job", study, job.pk)).content.decode()
    download = client.get(file)
    rows = [json.loads(line) for line in b"".join(download.streaming_content).splitlines()]
    assert [(row["id"], row["labels"], "provenance" in row) for row in rows] == [("q1", ["normal"], True)]
    assert download.headers["Content-Disposition"].startswith('attachment; filename="crepe-a-export_gold-')


def test_annotations_are_exported_without_the_options_of_gold(client, study, maria):
    client.post(address("export", study), {"kind": "export_annotations", "full": "on"})
    assert list(Job.objects.values_list("kind", "options")) == [("export_annotations", {})]


def test_an_unknown_export_is_refused(client, study, maria):
    assert client.post(address("export", study), {"kind": "export_workers"}).status_code == 422


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"state": "queued"}, "Waiting for a background worker.</p>"),
        ({"state": "queued", "asked_at": timezone.now() - timedelta(minutes=1)}, "is the Celery worker running?"),
        ({"state": "running", "kind": "import_items"}, "how much is left is not known"),
        ({"state": "running", "done": 2, "total": 4}, "2 of 4 rows."),
        ({"state": "done", "result": {"rows": 0}}, "There was nothing to export yet."),
        ({"state": "failed", "error": "The <disk> is full."}, "The &lt;disk&gt; is full."),
    ],
)
def test_a_job_says_how_far_it_is(client, study, maria, fields, said):
    job = make_job(study, maria, **fields)
    page = client.get(address("job", study, job.pk)).content.decode()
    assert said in page
    assert ('hx-trigger="every 1s"' in page) == job.is_open


def test_what_is_left_is_reckoned_at_the_pace_so_far(client, study, maria):
    now = timezone.now()
    fields = {
        "state": "running",
        "done": 1_000,
        "total": 4_000,
        "asked_at": now - timedelta(minutes=30),  # it waited for a worker first
        "started_at": now - timedelta(minutes=1),
        "heard_at": now,
    }
    job = make_job(study, maria, **fields)
    region = client.get(address("job", study, job.pk), headers=HTMX).content.decode()
    assert "1,000 of 4,000 rows, about 3 min left." in region
    assert "<html" not in region


def test_there_is_nothing_to_download_before_the_end_of_an_import_or_from_another_study(client, study, maria):
    other = make_study("other")
    other.team.add(maria)
    kept = make_job(study, maria, file=ContentFile(b"{}\n", "gold.jsonl"))
    assert b"".join(client.get(address("download", study, kept.pk)).streaming_content) == b"{}\n"
    assert client.get(address("download", other, kept.pk)).status_code == 404
    for fields in ({"kind": "import_items"}, {"state": "running"}):
        job = make_job(study, maria, file=ContentFile(b"{}\n", "pairs.jsonl"), **fields)
        assert client.get(address("download", study, job.pk)).status_code == 404


def test_a_file_that_is_no_longer_kept_is_404(client, study, maria):
    job = make_job(study, maria, file=ContentFile(b"{}\n", "gold.jsonl"))
    job.file.storage.delete(job.file.name)
    assert client.get(address("download", study, job.pk)).status_code == 404


def test_earlier_jobs_are_listed_at_one_price(client, study, maria):
    costs = []
    for _ in range(3):
        make_job(study, maria, result={"rows": 0})
        with CaptureQueriesContext(connection) as captured:
            page = client.get(address("data", study)).content.decode()
        costs.append(len(captured))
    assert page.count("There was nothing to export yet.") == 3
    assert costs == [6, 6, 6]
