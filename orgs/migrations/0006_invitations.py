"""Invitations of people into organisations, with row-level security."""

from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql" / "invitations.sql"


class Migration(migrations.Migration):
    dependencies = [("orgs", "0010_scim")]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254, verbose_name="e-mail address")),
                ("token_hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("sends", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("sent_at", models.DateTimeField(editable=False, verbose_name="last sent")),
                ("expires_at", models.DateTimeField(editable=False)),
                ("accepted_at", models.DateTimeField(editable=False, null=True)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "invited_by",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
                ("roles", models.ManyToManyField(blank=True, related_name="invitations", to="orgs.role")),
                ("teams", models.ManyToManyField(blank=True, related_name="invitations", to="orgs.team")),
            ],
            options={
                "ordering": ("-id",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("accepted_at", None), ("revoked_at", None)),
                        fields=("organization", "email"),
                        name="one_open_invitation_an_address",
                    )
                ],
            },
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
