"""The group whose members may change the studies they are in the team of; an admin puts people into it."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias).get_or_create(name="researcher")


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0003_order_of_drafts"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
