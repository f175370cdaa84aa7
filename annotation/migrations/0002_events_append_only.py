"""The event log only grows: the database itself refuses to change a row (and, on PostgreSQL, to delete one)."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SQLITE = """
CREATE TRIGGER event_is_append_only BEFORE UPDATE ON annotation_event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
"""
POSTGRESQL = """
CREATE FUNCTION refuse_to_change_events() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$;
CREATE TRIGGER event_is_append_only BEFORE UPDATE OR DELETE ON annotation_event
FOR EACH ROW EXECUTE FUNCTION refuse_to_change_events()
"""


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    schema_editor.execute(POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE)


def drop(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER event_is_append_only ON annotation_event")
        schema_editor.execute("DROP FUNCTION refuse_to_change_events()")
    else:
        schema_editor.execute("DROP TRIGGER event_is_append_only")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
