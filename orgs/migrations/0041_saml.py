"""SAML beside OpenID Connect, and the assertions that were used."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql" / "saml.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("orgs", "0006_invitations"),
    ]

    operations = [
        migrations.AddField(
            model_name="identityprovider",
            name="certificates",
            field=models.TextField(blank=True, editable=False),
        ),
        migrations.AddField(
            model_name="identityprovider",
            name="protocol",
            field=models.CharField(
                choices=[("openid", "OpenID Connect"), ("saml", "SAML 2.0")], default="openid", max_length=10
            ),
        ),
        migrations.AddField(
            model_name="identityprovider",
            name="sign_in_url",
            field=models.CharField(blank=True, editable=False, max_length=500),
        ),
        migrations.AddField(
            model_name="identityprovider",
            name="sign_out_url",
            field=models.CharField(blank=True, editable=False, max_length=500),
        ),
        migrations.AlterField(
            model_name="identityprovider",
            name="client_id",
            field=models.CharField(blank=True, max_length=255, verbose_name="client id"),
        ),
        migrations.AlterField(
            model_name="identityprovider",
            name="groups_claim",
            field=models.CharField(default="groups", max_length=255),
        ),
        migrations.AlterField(
            model_name="identityprovider",
            name="issuer",
            field=models.CharField(
                blank=True,
                help_text="Its address, to which /.well-known/openid-configuration is added.",
                max_length=500,
            ),
        ),
        migrations.CreateModel(
            name="UsedAssertion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("assertion_id", models.CharField(max_length=255)),
                ("expires_at", models.DateTimeField()),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="used_assertions",
                        to="orgs.identityprovider",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "assertion_id"), name="assertion_used_once")
                ],
            },
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
