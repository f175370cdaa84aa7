"""Events are looked up by study and time.

SQLite changes a column by making the table anew, without its triggers: the one that keeps events as they are is put back.
"""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SQLITE = import_module("annotation.migrations.0002_events_append_only").SQLITE


def guard(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(SQLITE)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0008_job_started"),
    ]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="events",
                to="annotation.study",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["study", "at"], name="event_by_time"),
        ),
        migrations.RunPython(guard, migrations.RunPython.noop),
    ]
