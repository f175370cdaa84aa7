"""Exports in archives that open with a password only."""

import io
import json

import pytest
import pyzipper
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation import jobs
from annotation.models import Job
from tests.people import make_onlooker, make_researcher
from tests.ratings import give, make_pairs_study
from validation import exports

pytestmark = pytest.mark.django_db
KEEP = {"verdict": "keep"}
SECRET = "a passphrase, not a word: ünlü"


@pytest.fixture
def study():
    made = make_pairs_study(2)
    give(made, "ann", KEEP, KEEP)
    give(made, "ben", KEEP, KEEP)
    return made


def rows_of(archive, password):
    with pyzipper.AESZipFile(archive) as opened:
        opened.setpassword(password.encode())
        (name,) = opened.namelist()
        return name, [json.loads(line) for line in opened.read(name).decode().splitlines()]


def export(study, tmp_path, *more, password=SECRET):
    (tmp_path / "password").write_text(f"{password}\nsecond line\n")
    out = tmp_path / "gold.zip"
    call_command(
        "export_gold", study.slug, "--out", str(out), "--encrypt", "--password-file", str(tmp_path / "password"), *more
    )
    return out


def test_the_archive_opens_with_the_password_and_holds_the_export(study, tmp_path):
    name, rows = rows_of(export(study, tmp_path), SECRET)
    assert (name, rows) == ("synqa2-gold.jsonl", list(exports.gold_rows(study)))


def test_the_archive_does_not_open_with_another_password_and_shows_nothing_without(study, tmp_path):
    out = export(study, tmp_path)
    with pytest.raises(RuntimeError, match="Bad password"):
        rows_of(out, "another")
    assert b"found Acme" not in out.read_bytes()
    with pyzipper.AESZipFile(out) as opened:
        assert [bool(info.flag_bits & 1) for info in opened.infolist()] == [True]


def test_a_password_is_typed_twice_unseen(study, tmp_path, monkeypatch):
    typed = iter([SECRET, SECRET, SECRET, "slip"])
    monkeypatch.setattr("annotation.console.getpass", lambda prompt: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    out = tmp_path / "gold.zip"
    call_command("export_gold", study.slug, "--out", str(out), "--encrypt")
    assert len(rows_of(out, SECRET)[1]) == 2
    with pytest.raises(CommandError, match=r"The two passwords differ\. Nothing was written\."):
        call_command("export_gold", study.slug, "--out", str(tmp_path / "other.zip"), "--encrypt")
    assert not (tmp_path / "other.zip").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--encrypt"], r"An archive is a file: name one with --out FILE\.zip\."),
        (["--password-file", "x"], "A password is for an archive: give --encrypt as well."),
        (["--encrypt", "--out", "x.zip"], "There is nobody to type a password: name a file with --password-file."),
        (["--encrypt", "--out", "x.zip", "--password-file", "/nowhere"], "Cannot read /nowhere: No such file"),
    ],
)
def test_what_is_missing_for_an_archive_is_said(study, monkeypatch, given, said):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(CommandError, match=said):
        call_command("export_gold", study.slug, *given)


def test_an_empty_password_is_refused_and_nothing_is_written(study, tmp_path):
    with pytest.raises(CommandError, match="The password is empty"):
        export(study, tmp_path, password="  ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["password"]


# --- On the page ----------------------------------------------------------------------------------


@pytest.fixture
def job(study, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    made = jobs.ask(study, "export_gold", by=make_researcher(study), at=timezone.now())
    jobs.run(made.pk)
    made.refresh_from_db()
    return made


def post(client, job, password):
    return client.post(reverse("annotation:encrypted", args=[job.study.slug, job.pk]), {"password": password})


def test_an_export_downloads_as_an_archive_whose_password_is_kept_nowhere(client, job, caplog, tmp_path):
    client.force_login(job.asked_by)
    text = client.get(reverse("annotation:job", args=[job.study.slug, job.pk])).content.decode()
    assert "Download it as an encrypted archive" in text
    answer = post(client, job, SECRET)
    assert answer["Content-Disposition"].endswith(f'-export_gold-{job.pk}.zip"')
    archive = io.BytesIO(b"".join(answer.streaming_content))
    assert rows_of(archive, SECRET)[1] == list(exports.gold_rows(job.study))
    assert SECRET not in caplog.text
    assert SECRET not in str(list(Job.objects.values()))
    assert [p for p in tmp_path.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()] == []


def test_an_empty_password_is_named_on_the_page(client, job):
    client.force_login(job.asked_by)
    answer = post(client, job, "")
    assert (answer.status_code, "The password is empty." in answer.content.decode()) == (422, True)


def test_only_the_team_gets_an_archive(client, job):
    assert post(client, job, SECRET).status_code == 302
    client.force_login(make_onlooker(name="stranger"))
    assert post(client, job, SECRET).status_code == 404
