"""Pull sync: connections, their runs and items, with row-level security."""

from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql" / "syncs.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0025_granted_scopes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SyncConnection",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("folder", "folder on the server"),
                            ("s3", "S3 bucket"),
                            ("file_system", "file system of the operator"),
                            ("website", "website with a sitemap"),
                        ],
                        max_length=11,
                        verbose_name="kind",
                    ),
                ),
                ("location", models.CharField(max_length=1000, verbose_name="location")),
                ("patterns", models.TextField(blank=True, max_length=2000, verbose_name="patterns")),
                ("endpoint", models.CharField(blank=True, max_length=500, verbose_name="endpoint")),
                ("region", models.CharField(blank=True, max_length=50, verbose_name="region")),
                ("access_key", models.CharField(blank=True, max_length=200, verbose_name="access key")),
                ("secret", models.TextField(blank=True, editable=False)),
                (
                    "interval_minutes",
                    models.PositiveIntegerField(
                        blank=True,
                        choices=[
                            (15, "every 15 minutes"),
                            (60, "every hour"),
                            (360, "every 6 hours"),
                            (1440, "every day"),
                            (10080, "every week"),
                        ],
                        help_text="Empty: only by hand.",
                        null=True,
                        verbose_name="schedule",
                    ),
                ),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                ("due_at", models.DateTimeField(editable=False, null=True, verbose_name="next sync")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "acts_for",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="acts for",
                    ),
                ),
                (
                    "source",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sync_connection",
                        to="rag.datasource",
                        verbose_name="data source",
                    ),
                ),
            ],
            options={
                "verbose_name": "sync connection",
                "verbose_name_plural": "sync connections",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="SyncItem",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("path", models.TextField()),
                ("listed_version", models.CharField(blank=True, max_length=300)),
                ("seen_in", models.UUIDField(null=True)),
                ("handled_in", models.UUIDField(null=True)),
                ("version", models.CharField(blank=True, max_length=300)),
                ("validators", models.JSONField(default=dict)),
                ("content_hash", models.CharField(blank=True, max_length=64)),
                ("submitted", models.UUIDField(null=True)),
                ("submitted_state", models.JSONField(default=dict)),
                ("error_code", models.CharField(blank=True, max_length=40)),
                ("error_message", models.CharField(blank=True, max_length=300)),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="rag.syncconnection",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.document"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["connection", "content_hash"], name="sync_items_by_content"),
                    models.Index(
                        condition=models.Q(("submitted__isnull", False)),
                        fields=["connection", "id"],
                        name="submitted_sync_items",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("connection", "path"), name="item_of_connection")],
            },
        ),
        migrations.CreateModel(
            name="SyncRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("waiting", "waiting for confirmation"),
                            ("stopped", "stopped"),
                            ("finished", "finished"),
                            ("failed", "failed"),
                        ],
                        default="running",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                (
                    "phase",
                    models.CharField(
                        choices=[("listing", "listing"), ("sending", "sending changes"), ("removing", "removing")],
                        default="listing",
                        max_length=8,
                        verbose_name="phase",
                    ),
                ),
                ("cursor", models.JSONField(null=True)),
                ("listed", models.PositiveIntegerField(default=0, verbose_name="listed")),
                ("skipped", models.PositiveIntegerField(default=0, verbose_name="skipped")),
                ("added", models.PositiveIntegerField(default=0, verbose_name="added")),
                ("changed", models.PositiveIntegerField(default=0, verbose_name="changed")),
                ("renamed", models.PositiveIntegerField(default=0, verbose_name="renamed")),
                ("removed", models.PositiveIntegerField(default=0, verbose_name="removed")),
                ("failed", models.PositiveIntegerField(default=0, verbose_name="failed")),
                ("missing", models.PositiveIntegerField(default=0, verbose_name="disappeared")),
                ("errors", models.JSONField(default=list)),
                ("error", models.CharField(blank=True, max_length=300, verbose_name="error")),
                ("is_stop_requested", models.BooleanField(default=False)),
                ("is_removal_confirmed", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="started")),
                ("worked_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True, verbose_name="finished")),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="rag.syncconnection",
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="started by",
                    ),
                ),
            ],
            options={
                "verbose_name": "sync",
                "verbose_name_plural": "syncs",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["connection", "-id"], name="syncs_of_connection"),
                    models.Index(condition=models.Q(("state", "running")), fields=["worked_at"], name="running_syncs"),
                    models.Index(fields=["created_at"], name="syncs_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["running", "waiting"])),
                        fields=("connection",),
                        name="one_open_sync",
                    )
                ],
            },
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
