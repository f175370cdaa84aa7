"""The floor: the least a Django server on this machine does for one annotation. No DRF, no session, no rules.

One view claims an item with SKIP LOCKED, one inserts the row, one answers boto3. Served as `bench.floor:application`.
"""

import json
import os

import environ
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path

if not settings.configured:
    database = environ.Env().db("DATABASE_URL")
    settings.configure(
        DATABASES={"default": {**database, "CONN_MAX_AGE": 60}},
        ROOT_URLCONF="bench.floor",
        ALLOWED_HOSTS=["*"],
        SECRET_KEY="floor",
        USE_TZ=True,
        MIDDLEWARE=["django.middleware.common.CommonMiddleware"],  # for Content-Length, which keep-alive needs
    )

TABLES = """
DROP TABLE IF EXISTS floor_annotation, floor_item;
CREATE TABLE floor_item (id bigserial PRIMARY KEY, seats smallint NOT NULL);
CREATE INDEX floor_open ON floor_item (id) WHERE seats > 0;
CREATE TABLE floor_annotation (id bigserial PRIMARY KEY, item_id bigint NOT NULL, worker int, answer jsonb NOT NULL);
"""


def create(items: int) -> None:
    """Fresh tables with `items` items of two seats."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        cursor.execute("INSERT INTO floor_item (seats) SELECT 2 FROM generate_series(1, %s)", [items])


def claim(request: HttpRequest) -> JsonResponse:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM floor_item WHERE seats > 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
        )
        row = cursor.fetchone()
        if row is None:
            return JsonResponse({"item": None}, status=409)
        cursor.execute("UPDATE floor_item SET seats = seats - 1 WHERE id = %s", row)
    return JsonResponse({"item": row[0]})


def answer(request: HttpRequest, item: int) -> JsonResponse:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO floor_annotation (item_id, worker, answer) VALUES (%s, 1, %s)", [item, request.body.decode()]
        )
    return JsonResponse({"item": item})


def requester(request: HttpRequest) -> JsonResponse:
    """For boto3: CreateHITWithHITType stores one row, ListAssignmentsForHIT reads those of one item."""
    if request.headers["X-Amz-Target"].endswith(".CreateHITWithHITType"):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO floor_item (seats) VALUES (1) RETURNING id")
            return JsonResponse({"HIT": {"HITId": str(cursor.fetchone()[0])}})
    asked = json.loads(request.body)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, worker, answer FROM floor_annotation WHERE item_id = %s ORDER BY id LIMIT %s",
            [asked["HITId"], asked["MaxResults"]],
        )
        rows = [
            {
                "AssignmentId": str(pk),
                "HITId": asked["HITId"],
                "WorkerId": str(worker),
                "AssignmentStatus": "Submitted",
                "Answer": answer,
                **dict.fromkeys(("AcceptTime", "SubmitTime", "AutoApprovalTime", "Deadline"), 1.0),
            }
            for pk, worker, answer in cursor
        ]
    return JsonResponse({"NumResults": len(rows), "Assignments": rows})


urlpatterns = [path("claim/", claim), path("answer/<int:item>/", answer), path("marketplace/api/", requester)]

if os.environ.get("FLOOR_SERVES"):
    application = get_wsgi_application()
