"""A copy of a study in a folder that is thrown away, and the processes that work on it; all of it ends with the block.

Nothing of the environment goes along but what a process needs to start: no database, no account, no proxy.
"""

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings

from annotation import intake, way_in
from annotation.errors import Refusal
from annotation.models import ConsentText, Item, Study
from annotation.protocols.base import Item as NewItem
from hits.cast import sample

NEEDED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")
STUDY, DATABASE = "study.json", "touchstone.sqlite3"
GRACE = 10  # seconds to end by themselves


class Broken(Refusal):
    code, status = "rehearsal_broken", 500


class NotACopy(Refusal):
    code, status = "not_a_copy", 409
    sentence = "This folder does not hold the database that the settings name, so nothing was done."


# --- The study ---------------------------------------------------------------------------------------


def copy_of(study: Study, *, most: int, seed: int) -> dict[str, Any]:
    """A study as JSON: settings, the consent text in force, and its items as they were imported; `most` of its work."""
    consent = ConsentText.objects.filter(study=study, version=study.consent_version).first()
    rows = [
        {"ref": item.ref, "role": item.role, "payload": item.payload, "gold": item.gold}
        for item in Item.objects.filter(study=study).order_by("pk").iterator(chunk_size=2000)
    ]
    work = [row for row in rows if row["role"] == Item.Role.WORK]
    chosen = [work[n] for n in sample(len(work), most, seed)]
    return {
        "slug": study.slug,
        "title": study.title,
        "protocol": [study.protocol_slug, study.protocol_version],
        "snapshot": study.snapshot,
        "options": study.options,
        "part_items": study.part_items,
        "work_items": len(work),  # also of a sample: shares are of all of them
        "consent": consent.text if consent else "",
        "items": chosen + [row for row in rows if row["role"] != Item.Role.WORK],
    }


def load(copy: Mapping[str, Any], *, by: str, at: datetime) -> Study:
    """The copy as a study of this database, which nobody has worked in."""
    slug, version = copy["protocol"]
    study = Study.objects.create(
        slug=copy["slug"],
        title=copy["title"],
        protocol_slug=slug,
        protocol_version=version,
        snapshot=copy["snapshot"],
        options=copy["options"],
        created_at=at,
    )
    for role in Item.Role.values:
        rows = [NewItem(r["ref"], r["payload"], r["gold"]) for r in copy["items"] if r["role"] == role]
        intake.take_over(study, rows, role=role, at=at)
    study.work_items, study.part_items = copy["work_items"], copy["part_items"]
    study.save(update_fields=["work_items", "part_items"])
    if copy["consent"]:
        way_in.set_consent(study, copy["consent"], by=by, at=at)
    return study


def check(folder: Path) -> None:
    """Raises NotACopy unless this process works in a folder that is thrown away."""
    if Path(settings.DATABASES["default"]["NAME"]) != folder / DATABASE or not (folder / STUDY).exists():
        raise NotACopy


def end_with_starter() -> None:
    """Stop this process once its standard input ends, as `run` starts it: however whoever started it is gone."""

    def wait() -> None:
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


# --- Processes ---------------------------------------------------------------------------------------


def environment(folder: Path, fees: str) -> dict[str, str]:
    """Settings of a site of its own, which knows nobody and can reach nobody. fees: as MTURK_FEES."""
    kept = {name: os.environ[name] for name in NEEDED if name in os.environ}
    return kept | {
        "DJANGO_SETTINGS_MODULE": "config.settings.base",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "VAR_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / DATABASE}",
        "CELERY_BROKER_URL": "memory://",
        "EMAIL_URL": "dummymail://",
        "ALLOWED_HOSTS": "127.0.0.1",
        "MTURK_MODE": "marketplace",
        "MTURK_FEES": fees,
        "MARKETPLACE_FEES": fees,
        "MTURK_PARALLEL": "1",  # one call after the other, so that equal seeds make equal rehearsals
        "MTURK_CALLS_PER_SECOND": "0",
        "MARKETPLACE_CALLS_PER_SECOND": "0",
        "FRAME_RATE": "1000000/min",  # the whole crowd has one address
        "LOG_LEVEL": "ERROR",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def folder_with(copy: Mapping[str, Any]) -> Iterator[Path]:
    with TemporaryDirectory(prefix="touchstone-rehearsal-") as name:
        folder = Path(name).resolve()
        (folder / STUDY).write_text(json.dumps(copy), encoding="utf-8")
        yield folder


@contextmanager
def site(settings_: Mapping[str, str]) -> Iterator[str]:
    """A server of its own; gives its address. Raises Broken if it does not come up."""
    with _running([sys.executable, "-m", "hits.throwaway_site"], settings_) as child:
        assert child.stdout is not None
        if not (address := child.stdout.readline().strip()):
            raise Broken("The server of the rehearsal did not start; what it said stands above.")
        yield address


def run(arguments: Sequence[str], settings_: Mapping[str, str]) -> str:
    """What a management command prints. Raises Broken if it fails."""
    with _running([sys.executable, "manage.py", *arguments], settings_) as child:
        assert child.stdout is not None
        said = child.stdout.read()
        if child.wait():
            raise Broken("The rehearsal failed; what it said stands above.")
        return said


@contextmanager
def _running(command: Sequence[str], settings_: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A child that is gone after the block. Its standard input ends with us, even where we are killed."""
    child = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        env=dict(settings_),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C is for us alone
    )
    try:
        yield child
    finally:
        if child.stdin:
            child.stdin.close()
        child.terminate()
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout:
            child.stdout.close()
