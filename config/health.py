"""Is this process fit to serve? For load balancers and container health checks; no log-in, nothing told but a word."""

from collections.abc import Callable
from functools import cache

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from kombu.exceptions import KombuError

from config.celery import app

PATIENCE = 2  # seconds for the broker to answer


class Unfit(Exception):
    """Says in a few words what is missing."""


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 once the database answers and every migration has been applied."""
    return _answer(ask_database)


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """As healthz, and the broker takes messages."""
    return _answer(ask_database, ask_broker)


def _answer(*questions: Callable[[], None]) -> JsonResponse:
    try:
        for ask in questions:
            ask()
    except Unfit as reason:
        return JsonResponse({"status": str(reason)}, status=503)
    return JsonResponse({"status": "ok"})


def ask_database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        ask_migrations()
    except Error:
        raise Unfit("the database does not answer") from None


@cache
def ask_migrations() -> None:
    """Asked until the answer is good, then never again: migrations are not taken back under a running process."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise Unfit("migrations are waiting: run `manage.py migrate`")


def ask_broker() -> None:
    seconds = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE}  # Redis knows no other, and would hang
    try:
        with app.connection_for_write(connect_timeout=PATIENCE, transport_options=seconds) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
    except (KombuError, OSError):
        raise Unfit("the broker does not answer") from None
