"""The whole life of a worker: consent, practice, tests, limits, revocation, appeals; what annotations say of them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_researchers"),
    ]

    operations = [
        migrations.CreateModel(
            name="Appeal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[("open", "Open"), ("granted", "Granted"), ("refused", "Refused")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("answer", models.TextField(blank=True)),
                ("decided_by", models.CharField(blank=True, max_length=160)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("review", "Review"), ("passed", "Passed"), ("failed", "Failed")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("right", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("total", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("decided_by", models.CharField(blank=True, max_length=160)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("why", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="ConsentText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveSmallIntegerField()),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["study", "version"],
            },
        ),
        migrations.CreateModel(
            name="Exposure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.CharField(max_length=250)),
                ("met", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="ItemGroup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.CharField(max_length=250)),
            ],
        ),
        migrations.CreateModel(
            name="Revocation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("dismissed", "Dismissed"),
                            ("in force", "In Force"),
                            ("restored", "Restored"),
                        ],
                        max_length=10,
                    ),
                ),
                ("rule", models.CharField(blank=True, max_length=40)),
                ("numbers", models.JSONField(blank=True, default=dict)),
                ("why", models.CharField(max_length=500)),
                (
                    "work",
                    models.CharField(
                        choices=[("keep", "Keep"), ("hold", "Hold"), ("exclude", "Exclude")],
                        default="keep",
                        max_length=10,
                    ),
                ),
                ("by", models.CharField(max_length=160)),
                ("at", models.DateTimeField()),
                ("decided_by", models.CharField(blank=True, max_length=160)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Try",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("answer", models.JSONField()),
                ("is_right", models.BooleanField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "tries",
                "ordering": ["pk"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="assignment",
            name="assignment_once_per_worker",
        ),
        migrations.RemoveConstraint(
            model_name="assignment",
            name="assignment_leased_holds_a_seat",
        ),
        migrations.AddField(
            model_name="annotation",
            name="consent",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="annotation",
            name="is_right",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="annotation",
            name="judged",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="annotation",
            name="signs",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="annotation",
            name="upheld",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="assignment",
            name="attempt",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="assignment",
            name="role",
            field=models.CharField(
                choices=[
                    ("work", "Work"),
                    ("gold", "Gold"),
                    ("practice", "Practice"),
                    ("qualification", "Qualification"),
                    ("filler", "Filler"),
                ],
                default="work",
                max_length=13,
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="signs",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="enrolment",
            name="consent",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="enrolment",
            name="consented_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="enrolment",
            name="note",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="enrolment",
            name="state",
            field=models.CharField(
                choices=[("active", "Active"), ("revoked", "Revoked"), ("withdrawn", "Withdrawn")],
                default="active",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="enrolment",
            name="taken",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="qualification",
            name="attempts_allowed",
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name="qualification",
            name="changed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="qualification",
            name="instructed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="sitting",
            name="purpose",
            field=models.CharField(
                choices=[("work", "Work"), ("practice", "Practice"), ("test", "Test")], default="work", max_length=10
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="consent_version",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="study",
            name="declared",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="declared_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="declared_hash",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="study",
            name="work_items",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="state",
            field=models.CharField(
                choices=[
                    ("leased", "Leased"),
                    ("submitted", "Submitted"),
                    ("returned", "Returned"),
                    ("expired", "Expired"),
                    ("withdrawn", "Withdrawn"),
                ],
                default="leased",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="qualification",
            name="state",
            field=models.CharField(
                choices=[
                    ("training", "Training"),
                    ("review", "Review"),
                    ("full", "Full"),
                    ("failed", "Failed"),
                    ("qualified", "Qualified"),
                ],
                default="qualified",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="sitting",
            name="state",
            field=models.CharField(
                choices=[
                    ("leased", "Leased"),
                    ("submitted", "Submitted"),
                    ("returned", "Returned"),
                    ("expired", "Expired"),
                    ("withdrawn", "Withdrawn"),
                ],
                default="leased",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(fields=("item", "worker", "attempt"), name="assignment_once_per_worker"),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("role", "work"), _negated=True), ("attempt", 0), _connector="OR"),
                name="assignment_of_work_has_one_attempt",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("role", "work"), ("state", "leased"), _negated=True),
                    ("seat__isnull", False),
                    _connector="OR",
                ),
                name="assignment_leased_holds_a_seat",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(("role", "work"), ("seat__isnull", True), _connector="OR"),
                name="assignment_only_work_has_seats",
            ),
        ),
        migrations.AddConstraint(
            model_name="enrolment",
            constraint=models.CheckConstraint(
                condition=models.Q(("consent__isnull", True), ("consented_at__isnull", False), _connector="OR"),
                name="enrolment_consent_has_a_time",
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="qualification",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="attempts", to="annotation.qualification"
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="sitting",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="attempt_at_test", to="annotation.sitting"
            ),
        ),
        migrations.AddField(
            model_name="consenttext",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="consent_texts",
                to="annotation.study",
            ),
        ),
        migrations.AddField(
            model_name="exposure",
            name="enrolment",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="exposures",
                to="annotation.enrolment",
            ),
        ),
        migrations.AddField(
            model_name="itemgroup",
            name="item",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="groups", to="annotation.item"
            ),
        ),
        migrations.AddField(
            model_name="revocation",
            name="enrolment",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="revocations", to="annotation.enrolment"
            ),
        ),
        migrations.AddField(
            model_name="appeal",
            name="revocation",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="appeal", to="annotation.revocation"
            ),
        ),
        migrations.AddField(
            model_name="try",
            name="enrolment",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="tries", to="annotation.enrolment"
            ),
        ),
        migrations.AddField(
            model_name="try",
            name="item",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="tries", to="annotation.item"
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(fields=("qualification", "number"), name="attempt_number_once"),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["open", "review"])),
                fields=("qualification",),
                name="attempt_one_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="consenttext",
            constraint=models.UniqueConstraint(fields=("study", "version"), name="consent_version_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="exposure",
            constraint=models.UniqueConstraint(fields=("enrolment", "group"), name="exposure_once_per_group"),
        ),
        migrations.AddConstraint(
            model_name="itemgroup",
            constraint=models.UniqueConstraint(fields=("item", "group"), name="item_in_a_group_once"),
        ),
        migrations.AddConstraint(
            model_name="revocation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["proposed", "in force"])),
                fields=("enrolment",),
                name="revocation_one_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="appeal",
            constraint=models.CheckConstraint(
                condition=models.Q(("outcome", "open"), ("decided_at__isnull", False), _connector="XOR"),
                name="appeal_open_until_decided",
            ),
        ),
    ]
