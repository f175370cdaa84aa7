"""When a job was taken up, so that its pace is not counted from when it was asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_progress_by_index"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="started_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
