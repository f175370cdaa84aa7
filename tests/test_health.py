"""What load balancers and container health checks are told."""

import socket
import time

import pytest
from celery import Celery
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from config import health


@pytest.fixture(autouse=True)
def forget():
    """As in a process that has just started."""
    health.ask_migrations.cache_clear()
    yield
    health.ask_migrations.cache_clear()


@pytest.fixture
def broker(monkeypatch):
    """Lets a test choose the broker this process would send to."""

    def choose(url, **options):
        app = Celery(broker=url, set_as_current=False)
        app.conf.broker_transport_options = options
        monkeypatch.setattr(health, "app", app)

    return choose


def asked(client, path):
    response = client.get(path)
    assert "no-store" in response["Cache-Control"]
    return response.status_code, response.json()


@pytest.mark.django_db
def test_a_migrated_database_is_healthy(client):
    assert asked(client, "/healthz") == (200, {"status": "ok"})


@pytest.mark.django_db
def test_once_migrated_is_asked_no_more_and_costs_one_query(client, django_assert_num_queries):
    asked(client, "/healthz")
    with django_assert_num_queries(1):
        assert asked(client, "/healthz") == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_waiting_migration_is_not_healthy_until_it_is_applied(client):
    latest = MigrationRecorder.Migration.objects.filter(app="annotation").latest("name")
    MigrationRecorder(connection).record_unapplied("annotation", latest.name)
    waiting = (503, {"status": "migrations are waiting: run `manage.py migrate`"})
    assert asked(client, "/healthz") == waiting
    assert asked(client, "/readyz") == waiting
    MigrationRecorder(connection).record_applied("annotation", latest.name)
    assert asked(client, "/healthz") == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_not_healthy_whatever_it_was_before(client, monkeypatch):
    asked(client, "/healthz")

    def gone(*_):
        raise OperationalError("connection refused at 10.0.0.7")

    monkeypatch.setattr(connection, "cursor", gone)
    assert asked(client, "/healthz") == (503, {"status": "the database does not answer"})


@pytest.mark.django_db
def test_ready_needs_a_broker_that_answers(client, broker, tmp_path):
    broker("filesystem://", data_folder_in=str(tmp_path), data_folder_out=str(tmp_path), control_folder=str(tmp_path))
    assert asked(client, "/readyz") == (200, {"status": "ok"})


@pytest.mark.django_db
def test_ready_with_redis(client, broker, redis_url):
    broker(redis_url)
    assert asked(client, "/readyz") == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_broker_that_says_nothing_is_waited_for_no_longer_than_patience(client, broker, monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        began = time.monotonic()
        assert asked(client, "/readyz") == (503, {"status": "the broker does not answer"})
    assert time.monotonic() - began < 5


@pytest.mark.django_db
@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "redis+socket:///nowhere/redis.sock", "amqp://127.0.0.1:1"])
def test_a_broker_out_of_reach_is_not_ready(client, broker, url):
    broker(url)
    assert asked(client, "/readyz") == (503, {"status": "the broker does not answer"})
    assert asked(client, "/healthz") == (200, {"status": "ok"})
