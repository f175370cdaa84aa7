"""Jobs by a real Celery worker on a real broker, with kill -9 at the worst moment."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from config.celery import app
from tests.celery.site import Site, kill, wait_until

ROWS = 40_000
IMPORTED = {"created": ROWS, "unchanged": 0, "bad": 0, "problems": []}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory) -> Path:
    """A database with one study, to be copied."""
    site = Site(tmp_path_factory.mktemp("site"))
    site.manage("migrate", "-v0")
    site.manage("create_study", "crepe-a", "--protocol", "crepe")
    return site.database


@pytest.fixture
def make_site(migrated, tmp_path) -> Callable[..., Site]:
    def make(**more: str) -> Site:
        shutil.copy(migrated, tmp_path)
        return Site(tmp_path, **more)

    return make


@pytest.fixture
def rows(tmp_path) -> Path:
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for n in range(ROWS):
            file.write(
                json.dumps({"id": f"q{n}", "question": "Why is the sky green?", "comment": "It is blue."}) + "\n"
            )
    return path


@pytest.mark.parametrize(("broker", "pool"), [("redis", "prefork"), ("filesystem", "threads")])  # production, demo
def test_a_job_whose_worker_was_killed_is_taken_up_again_and_done_once(request, make_site, rows, broker, pool):
    url = request.getfixturevalue("redis_url") if broker == "redis" else "filesystem://localhost/"
    site = make_site(CELERY_BROKER_URL=url)
    with site.worker(pool) as worker:
        job = site.ask("import_items", str(rows))
        wait_until(lambda: site.job(job)[0] == "running")
        kill(worker)
    assert site.job(job)[0] == "running"
    assert site.sql("SELECT count(*) FROM annotation_item") == [(0,)]
    with site.worker(pool):
        # The two minutes of silence after which the sweep takes a running job for dead.
        site.sql("UPDATE annotation_job SET heard_at = '2026-01-01 00:00:00'")
        site.sweep()
        wait_until(lambda: site.job(job)[0] == "done")
        state, result, error = site.job(job)
        assert (state, json.loads(result), error) == ("done", IMPORTED, "")
        assert site.sql("SELECT count(*) FROM annotation_item") == [(ROWS,)]


@pytest.fixture
def bucket(monkeypatch) -> Iterator[tuple[str, str]]:
    """A bucket in an S3 of our own: (name, URL of the server)."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield "touchstone", f"http://{host}:{port}"
    server.stop()


def test_uploads_and_exports_are_kept_in_s3_when_it_is_configured(make_site, bucket, tmp_path):
    name, url = bucket
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    s3 = boto3.client(
        "s3", endpoint_url=url, region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    site = make_site(S3_BUCKET=name, S3_ENDPOINT_URL=url, S3_REGION="eu-west-1", S3_PREFIX="pilot", **keys)
    rows, answers = tmp_path / "rows.jsonl", tmp_path / "answers.jsonl"
    rows.write_text(json.dumps({"id": "q1", "question": "Why is the sky green?", "comment": "It is blue."}))
    normal = {"label": "normal", "reason": None, "pairs": []}
    given = [{"item": "q1", "worker": code, "stage": "generate", "answer": normal} for code in ("ann", "ben")]
    answers.write_text("\n".join(map(json.dumps, given)))
    with site.worker("threads"):
        imported = site.ask("import_items", str(rows))
        wait_until(lambda: site.job(imported)[0] == "done")
        site.manage("import_annotations", "crepe-a", str(answers))
        exported = site.ask("export_gold")
        wait_until(lambda: site.job(exported)[0] == "done")
    kept = {key["Key"].split("/")[-1]: key["Key"] for key in s3.list_objects_v2(Bucket=name)["Contents"]}
    assert list(kept) == [f"crepe-a-export_gold-{exported}.jsonl", "rows.jsonl"]
    assert all(key.startswith("pilot/jobs/") for key in kept.values())
    gold = s3.get_object(Bucket=name, Key=kept[f"crepe-a-export_gold-{exported}.jsonl"])["Body"].read()
    assert [json.loads(line)["labels"] for line in gold.splitlines()] == [["normal"]]
    assert not (tmp_path / "media").exists()


def test_what_beat_asks_for_is_there():
    app.loader.import_default_modules()
    wanted = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert wanted == {
        "annotation.tasks.expire_leases",
        "annotation.tasks.resume_jobs",
        "hits.tasks.sweep",
        "marketplace.tasks.keep_time",
        "validation.tasks.label_ratings",
        "validation.tasks.score_workers",
    }
    assert wanted <= set(app.tasks)
