"""Starting: with what is set, and with what is missing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = (
    "SECRET_KEY",
    "DEBUG",
    "VAR_DIR",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "SITE_URL",
    "DJANGO_SETTINGS_MODULE",
    "DJANGO_ALLOW_ASYNC_UNSAFE",
)


@pytest.fixture
def manage(tmp_path):
    """Runs manage.py in a process of its own, with nothing set but what is given: (exit code, output, error)."""

    def run(*arguments, **given):
        inherited = {name: value for name, value in os.environ.items() if name not in OURS}
        done = subprocess.run(
            [sys.executable, "-W", "error::UserWarning", ROOT / "manage.py", *arguments],
            env={**inherited, "VAR_DIR": str(tmp_path), **given},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_without_a_secret_it_refuses_to_start_and_says_what_to_set(manage):
    code, _, error = manage("check")
    assert code == 1
    assert error.splitlines()[-1].endswith(
        "SECRET_KEY is not set. Set it to a long random string, for example the output of "
        "`python -c 'import secrets; print(secrets.token_urlsafe(50))'`, or set DEBUG=true for development."
    )


def test_development_needs_nothing_set(manage):
    assert manage("check", DEBUG="true")[0] == 0


def test_production_passes_djangos_checks_for_deployment(manage):
    """But for the two about HSTS that reach beyond this site: subdomains and preload lists are not ours to decide."""
    secret = "a-long-0ne-with-m4ny-l3tters-" * 2
    code, _, error = manage("check", "--deploy", SECRET_KEY=secret, SITE_URL="https://touchstone.example")
    assert (code, set(re.findall(r"\((\w+\.\w\d+)\)", error))) == (0, {"security.W005", "security.W021"})


def test_settings_come_from_the_environment(manage, tmp_path):
    asked = """
from django.conf import settings
print(settings.DEBUG, settings.ALLOWED_HOSTS, settings.LINK_DAYS, settings.DATABASES["default"]["NAME"])
"""
    code, said, error = manage(
        "shell",
        "--no-imports",
        "--command",
        asked,
        SECRET_KEY="k3y-" * 20,
        ALLOWED_HOSTS="a.example,b.example",
        LINK_DAYS="7",
        DATABASE_URL=f"sqlite:///{tmp_path}/mine.sqlite3",
    )
    assert (code, said, error) == (0, f"False ['a.example', 'b.example'] 7 {tmp_path}/mine.sqlite3\n", "")


@pytest.mark.parametrize("wrong", ["work.example", "https://a.example/path", "https://a.example; script-src *", "*"])
def test_who_may_frame_task_pages_is_named_by_origins(manage, wrong):
    code, _, error = manage(
        "check", DEBUG="true", TASK_FRAME_HOSTS=f"https://*.mturk.com, http://127.0.0.1:8001,{wrong}"
    )
    assert (code, "TASK_FRAME_HOSTS takes origins such as" in error) == (1, True)


def test_every_variable_that_is_read_is_documented():
    read = set(re.findall(r'\benv(?:\.\w+)?\(\s*"(\w+)"', (ROOT / "config/settings/base.py").read_text()))
    documented = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", (ROOT / "docs/settings.md").read_text()))
    assert read <= documented, read - documented
    assert "SECRET_KEY" in read
