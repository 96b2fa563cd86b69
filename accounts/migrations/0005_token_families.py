"""Families of refresh tokens, in place of the tokens themselves."""

from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

_SQL = Path(__file__).parent / "sql" / "token_families.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_password_digest"),
    ]

    operations = [
        migrations.AlterField(
            model_name="auditevent",
            name="action",
            field=models.CharField(
                choices=[
                    ("signed_in", "signed in"),
                    ("sign_in_failed", "sign-in failed"),
                    ("signed_out", "signed out"),
                    ("token_reused", "token reused"),
                    ("created", "created"),
                    ("changed", "changed"),
                    ("deleted", "deleted"),
                    ("revoked", "revoked"),
                    ("refused", "refused"),
                    ("exported", "exported"),
                    ("explained", "explained a search"),
                ],
                max_length=15,
            ),
        ),
        migrations.CreateModel(
            name="TokenFamily",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("newest_token", models.UUIDField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="token_families",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "token families",
            },
        ),
        migrations.RunSQL(_SQL.read_text()),
    ]
