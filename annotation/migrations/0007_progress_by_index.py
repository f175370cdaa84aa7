"""The bar of a study is counted from an index alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_fill_counts"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="item",
            name="item_progress",
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                fields=["study", "role", "state", "stage"], include=("open_seats", "votes_wanted"), name="item_progress"
            ),
        ),
    ]
