"""Is this process fit to serve? For load balancers and container health checks; no log-in, nothing told but a word."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from kombu.exceptions import KombuError

from config.celery import app


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 once the database answers and every migration has been applied."""
    return _answer(_database_problem())


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """As healthz, and the broker takes messages."""
    return _answer(_database_problem() or _broker_problem())


def _answer(problem: str) -> JsonResponse:
    return JsonResponse({"status": problem or "ok"}, status=503 if problem else 200)


def _database_problem() -> str:
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "the database does not answer"
    return "migrations are waiting: run `manage.py migrate`" if waiting else ""


def _broker_problem() -> str:
    try:
        with app.connection_for_write(connect_timeout=2) as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
    except (KombuError, OSError):
        return "the broker does not answer"
    return ""
