"""The marketplace as a process of its own, on a database of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOK = """
from django.test import Client
from django.urls import NoReverseMatch, reverse
client = Client()
print(client.get("/healthz").status_code, client.get("/marketplace/").status_code, client.get("/studies/").status_code)
print(client.get("/").url, client.get("/accounts/login/").status_code)
"""


def test_it_runs_alone_with_its_own_addresses_and_database(tmp_path):
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    environment = {
        **kept,
        "DJANGO_SETTINGS_MODULE": "config.settings.marketplace",
        "MARKETPLACE_DATABASE_URL": f"sqlite:///{tmp_path}/market.sqlite3",
        "VAR_DIR": str(tmp_path),
        "SECRET_KEY": "x" * 50,
        "ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
        "LOG_LEVEL": "ERROR",
    }

    def manage(*command, **more):
        line = [sys.executable, "manage.py", *command]
        return subprocess.run(
            line, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, **more
        ).stdout

    manage("migrate", "-v0")
    assert (tmp_path / "market.sqlite3").exists()
    assert json.loads(manage("requester", "lab", "--deposit", "5"))["access_key"].startswith("AKIA")
    looked = manage("shell", "-v0", "-c", LOOK).splitlines()
    assert looked[-2:] == ["200 302 404", "/marketplace/ 200"]
