"""docker-compose.yml against the settings it configures; no engine is needed to read it."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
OURS = ("migrate", "web", "worker", "beat")
COMPOSE = (ROOT / "docker-compose.yml").read_text()
EXAMPLE = dict(re.findall(r"^(\w+)=(.*)", (ROOT / ".env.example").read_text(), re.MULTILINE))
MARKETPLACE = ("marketplace", "marketplace-postgres")  # a profile of its own
SETTINGS = {"DJANGO_SETTINGS_MODULE", "MARKETPLACE_DATABASE_URL"} | set(
    re.findall(r"""env(?:\.\w+)?\(\s*"(\w+)""", (ROOT / "config/settings/base.py").read_text())
)


def test_all_that_stays_up_has_a_health_check():
    checked = {name: service["healthcheck"]["test"][-1] for name, service in SERVICES.items() if name != "migrate"}
    words = {
        "web": "/healthz",
        "worker": "inspect ping",
        "beat": "touchstone/beat",
        "postgres": "touchstone",
        "redis": "ping",
        "marketplace": "/healthz",
        "marketplace-postgres": "marketplace",
    }
    assert {name: word for name, word in words.items() if word in checked[name]} == words
    assert set(checked) == set(words)


def test_migrations_run_once_before_anything_that_needs_them():
    waits = {name: SERVICES[name]["depends_on"] for name in OURS}
    after = {"migrate": {"condition": "service_completed_successfully"}, "redis": {"condition": "service_healthy"}}
    first = {"postgres": {"condition": "service_healthy"}}
    assert waits == {"migrate": first, "web": after, "worker": after, "beat": after}
    assert (SERVICES["migrate"]["command"], SERVICES["migrate"]["restart"]) == (
        "python manage.py migrate --noinput",
        "no",
    )


@pytest.mark.parametrize("name", [*OURS, "marketplace"])
def test_the_settings_know_every_variable_we_set(name):
    assert set(SERVICES[name]["environment"]) - SETTINGS == set()


def test_the_example_sets_what_is_required_and_holds_no_secret():
    required = set(re.findall(r"\$\{(\w+):\?", COMPOSE))
    assert required - set(EXAMPLE) == set()
    assert set(EXAMPLE) - SETTINGS == {"POSTGRES_PASSWORD"}
    assert (EXAMPLE["SECRET_KEY"], EXAMPLE["POSTGRES_PASSWORD"]) == ("", "")


def test_what_must_last_is_in_a_volume_and_only_loopback_is_published():
    volumes = {
        name: [volume.split(":")[0] for volume in service.get("volumes", [])] for name, service in SERVICES.items()
    }
    assert volumes == {**{name: ["media"] for name in OURS}, "postgres": ["postgres"], "redis": ["redis"]} | {
        "marketplace": ["media"],
        "marketplace-postgres": ["marketplace"],
    }
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "web": ["127.0.0.1:${PORT:-8000}:8000"],
        "marketplace": ["127.0.0.1:${MARKETPLACE_PORT:-8001}:8000"],
    }


def test_the_marketplace_is_started_only_where_it_is_asked_for():
    assert {name for name, service in SERVICES.items() if service.get("profiles")} == set(MARKETPLACE)
    assert all(SERVICES[name]["profiles"] == ["marketplace"] for name in MARKETPLACE)
