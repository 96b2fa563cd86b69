"""Requests with an Idempotency-Key, with row-level security: requests see their own user's only."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

POLICIES = """
ALTER TABLE rag_idempotentrequest ENABLE ROW LEVEL SECURITY;
ALTER TABLE rag_idempotentrequest FORCE ROW LEVEL SECURITY;
CREATE POLICY workers ON rag_idempotentrequest TO ragsite_staff, ragsite_worker USING (true);
CREATE POLICY staff ON rag_idempotentrequest AS RESTRICTIVE TO ragsite_staff
    USING ((SELECT orgs_is_unlimited_staff()));
CREATE POLICY readers ON rag_idempotentrequest TO ragsite_reader
    USING (user_id = (SELECT user_id FROM ragsite_identity()));
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("rag", "0010_limited_staff"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("api_key_id", models.UUIDField(null=True)),
                ("key_hash", models.CharField(max_length=64)),
                ("fingerprint", models.CharField(max_length=64)),
                ("source_id", models.UUIDField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.TextField(blank=True)),
                ("headers", models.JSONField(default=dict)),
                ("claimed_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["user", "-claimed_at"], name="idempotent_requests_of_a_user"),
                    models.Index(fields=["claimed_at"], name="idempotent_requests_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "api_key_id", "key_hash"),
                        name="idempotency_key_of_a_caller",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.RunSQL(POLICIES),
    ]
