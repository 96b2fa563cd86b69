"""Clients of OAuth, authorization codes, and the client of a family of tokens, with row-level security."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

_SQL = Path(__file__).parent / "sql" / "oauth.sql"


def uuid_key() -> models.UUIDField:
    return models.UUIDField(default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0013_deactivated_by_directory"), ("orgs", "0005_limited_staff")]

    operations = [
        migrations.CreateModel(
            name="OAuthClient",
            fields=[
                ("id", uuid_key()),
                ("name", models.CharField(max_length=100)),
                (
                    "redirect_uris",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), size=None),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={"verbose_name": "OAuth client"},
        ),
        migrations.AddField(
            model_name="tokenfamily",
            name="client",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="token_families",
                to="accounts.oauthclient",
            ),
        ),
        migrations.CreateModel(
            name="OAuthCode",
            fields=[
                ("id", uuid_key()),
                ("hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("redirect_uri", models.CharField(max_length=500)),
                ("challenge", models.CharField(max_length=43)),
                ("resource", models.CharField(max_length=500)),
                ("by_password", models.BooleanField()),
                ("password_digest", models.CharField(editable=False, max_length=32)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("family", models.UUIDField(null=True)),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="codes", to="accounts.oauthclient"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="oauth_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"verbose_name": "OAuth authorization code"},
        ),
        migrations.RunSQL(_SQL.read_text()),
    ]
