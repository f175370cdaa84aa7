"""The group whose members may spend the money of the studies they are in the team of; an admin puts people into it."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Permissions are otherwise made when all migrations are done, which is too late to give this one to a group."""
    alias = schema_editor.connection.alias
    budget, _ = (
        apps.get_model("contenttypes", "ContentType")
        .objects.using(alias)
        .get_or_create(app_label="hits", model="budget")
    )
    spend, _ = (
        apps.get_model("auth", "Permission")
        .objects.using(alias)
        .get_or_create(
            content_type=budget,
            codename="spend",
            defaults={"name": "May spend the money of the studies they are in the team of"},
        )
    )
    group, _ = apps.get_model("auth", "Group").objects.using(alias).get_or_create(name="spender")
    group.permissions.add(spend)


class Migration(migrations.Migration):
    dependencies = [
        ("hits", "0002_asked_once"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
