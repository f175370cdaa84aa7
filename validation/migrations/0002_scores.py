"""Scores of workers, and the writings that copies are found by."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0009_events_by_time"),
        ("validation", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Writing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("copied", models.FloatField()),
                (
                    "annotation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="writings",
                        to="annotation.annotation",
                    ),
                ),
                (
                    "copy_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="copies",
                        to="annotation.annotation",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="writings",
                        to="annotation.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WritingKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.BigIntegerField()),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="writing_keys",
                        to="annotation.study",
                    ),
                ),
                (
                    "writing",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="keys", to="validation.writing"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=20)),
                ("annotations", models.PositiveIntegerField(default=0)),
                ("counted", models.PositiveIntegerField(default=0)),
                ("gold", models.PositiveIntegerField(default=0)),
                ("gold_right", models.PositiveIntegerField(default=0)),
                ("fillers", models.PositiveIntegerField(default=0)),
                ("fillers_right", models.PositiveIntegerField(default=0)),
                ("decided", models.PositiveIntegerField(default=0)),
                ("invalid", models.PositiveIntegerField(default=0)),
                ("judged", models.PositiveIntegerField(default=0)),
                ("judged_invalid", models.PositiveIntegerField(default=0)),
                ("copies_own", models.PositiveIntegerField(default=0)),
                ("copies_others", models.PositiveIntegerField(default=0)),
                ("copied", models.FloatField(blank=True, null=True)),
                ("pasted", models.FloatField(blank=True, null=True)),
                ("median_seconds", models.FloatField(blank=True, null=True)),
                ("seconds", models.JSONField(blank=True, default=list)),
                ("labels", models.JSONField(blank=True, default=dict)),
                ("scored_at", models.DateTimeField()),
                (
                    "enrolment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="scores",
                        to="annotation.enrolment",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="scores", to="annotation.study"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("enrolment", "stage"), name="score_once_per_stage")],
            },
        ),
        migrations.AddIndex(
            model_name="writing",
            index=models.Index(fields=["study", "annotation"], name="writing_by_study"),
        ),
        migrations.AddConstraint(
            model_name="writing",
            constraint=models.UniqueConstraint(fields=("annotation", "position"), name="writing_once"),
        ),
        migrations.AddIndex(
            model_name="writingkey",
            index=models.Index(fields=["study", "key"], name="writing_key"),
        ),
    ]
