"""The SCIM token of an organisation, and the directory's names of users and groups, with row-level security."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql" / "scim.sql"


def uuid_key() -> models.UUIDField:
    return models.UUIDField(default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("orgs", "0007_single_sign_on")]

    operations = [
        migrations.CreateModel(
            name="ScimToken",
            fields=[
                ("id", uuid_key()),
                ("prefix", models.CharField(editable=False, max_length=12)),
                ("hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scim_token",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
            ],
            options={"verbose_name": "SCIM token", "ordering": ("organization",)},
        ),
        migrations.CreateModel(
            name="ScimUser",
            fields=[
                ("id", uuid_key()),
                ("external_id", models.CharField(max_length=255)),
                (
                    "membership",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="scim_user", to="orgs.membership"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ScimGroup",
            fields=[
                ("id", uuid_key()),
                ("display_name", models.CharField(max_length=255)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="scim_group", to="orgs.team"
                    ),
                ),
            ],
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
