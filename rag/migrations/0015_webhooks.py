"""Webhooks and their deliveries, with row-level security and the functions that store events."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import ragsite.postgres.models

EVENTS = [
    ("job.finished", "job.finished: all documents of a job have ended, and not all have failed"),
    ("job.failed", "job.failed: all documents of a job have failed"),
    ("document.failed", "document.failed: a document could not be ingested"),
    ("quota.nearly_reached", "quota.nearly_reached: 90% of a quota is used"),
    ("source.reembedded", "source.reembedded: a source was switched to another embedding model"),
]
SQL = Path(__file__).parent / "sql" / "webhooks.sql"


def uuid_key() -> models.UUIDField:
    return models.UUIDField(default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("orgs", "0004_key_organizations"), ("rag", "0011_scopes")]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", uuid_key()),
                ("url", models.CharField(max_length=1000, verbose_name="address")),
                ("description", models.CharField(blank=True, max_length=200)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(choices=EVENTS, max_length=30), size=None
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("secret", models.TextField(editable=False)),
                ("old_secret", models.TextField(blank=True, editable=False)),
                ("old_secret_until", models.DateTimeField(editable=False, null=True)),
                ("disabled_reason", models.CharField(blank=True, editable=False, max_length=200)),
                ("skipped", models.PositiveIntegerField(default=0, editable=False)),
                ("quota_notified_at", models.DateTimeField(editable=False, null=True)),
                ("last_success_at", models.DateTimeField(editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
            ],
            options={"ordering": ("-id",), "base_manager_name": "objects"},
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", uuid_key()),
                ("event", models.CharField(max_length=30)),
                ("payload", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "Pending"), ("delivered", "Delivered"), ("failed", "Failed")],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("response_status", models.PositiveIntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="rag.webhook",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "webhook deliveries",
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["webhook", "-created_at"], name="deliveries_of_webhook"),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["webhook", "due_at"],
                        name="pending_deliveries",
                    ),
                    models.Index(fields=["created_at"], name="deliveries_by_age"),
                ],
            },
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
