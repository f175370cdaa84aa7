"""The event log only grows, also for the database."""

import pytest
from django.db import DatabaseError, transaction

from annotation.events import event, record
from annotation.models import Event
from tests.factories import LONG_AGO, make_study

pytestmark = pytest.mark.django_db


def test_an_event_cannot_be_changed():
    record([event(make_study(), "created", by="user:ana", at=LONG_AGO, why="A pilot.")])
    with pytest.raises(DatabaseError, match="events are append-only"), transaction.atomic():
        Event.objects.update(why="Something else.")
    assert Event.objects.get().why == "A pilot."


@pytest.mark.postgres  # SQLite keeps deletion open: its test databases are emptied row by row
def test_an_event_cannot_be_deleted_on_postgresql():
    record([event(make_study(), "created", by="user:ana", at=LONG_AGO)])
    with pytest.raises(DatabaseError, match="events are append-only"), transaction.atomic():
        Event.objects.all().delete()
    assert Event.objects.count() == 1
