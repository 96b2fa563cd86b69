"""What the page "Operations" shows: workers, scheduled tasks, measurements, slow operations and errors."""

import django.contrib.postgres.fields
from django.db import migrations, models

import ragsite.postgres.models

# Requests have no access: web processes store measurements as the staff role.
POLICIES = "".join(
    f"""
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
    ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
    CREATE POLICY workers ON {table} TO ragsite_staff, ragsite_worker USING (true);
    """
    for table in (
        "rag_measurement",
        "rag_recordederror",
        "rag_scheduledtaskrun",
        "rag_slowoperation",
        "rag_workerheartbeat",
    )
)


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0009_compact_access"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecordedError",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField(db_index=True)),
                ("event", models.CharField(max_length=200)),
                ("exception", models.CharField(blank=True, max_length=200)),
                ("request_id", models.CharField(blank=True, max_length=100)),
                ("task", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ScheduledTaskRun",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField()),
                ("error", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="WorkerHeartbeat",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                (
                    "queues",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None),
                ),
                ("slots", models.PositiveIntegerField()),
                ("running", models.JSONField(default=list)),
                ("started_at", models.DateTimeField()),
                ("beat_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Measurement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("period", models.DateTimeField()),
                ("kind", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=200)),
                ("organization", models.UUIDField()),
                ("count", models.BigIntegerField()),
                ("failures", models.BigIntegerField()),
                ("milliseconds", models.FloatField()),
                (
                    "histogram",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organization", "period", "kind", "name"), name="measurement_of_period"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SlowOperation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(choices=[("query", "Query"), ("document", "Document")], max_length=10)),
                ("milliseconds", models.FloatField()),
                ("stages", models.JSONField(default=dict)),
                ("organization", models.UUIDField(null=True)),
                ("document", models.UUIDField(null=True)),
                ("request_id", models.CharField(blank=True, max_length=100)),
            ],
            options={
                "indexes": [models.Index(fields=["kind", "at"], name="slow_operations")],
            },
        ),
        migrations.RunSQL(POLICIES),
    ]
