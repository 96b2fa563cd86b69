"""Identity providers of organisations, with row-level security."""

from pathlib import Path

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql" / "single_sign_on.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("orgs", "0008_staff_directory"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="IdentityProvider",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(help_text="What people call it: Okta, Entra ID, Keycloak.", max_length=60)),
                (
                    "issuer",
                    models.CharField(
                        help_text="Its address, to which /.well-known/openid-configuration is added.", max_length=500
                    ),
                ),
                ("client_id", models.CharField(max_length=255, verbose_name="client id")),
                ("client_secret", models.TextField(editable=False)),
                ("groups_claim", models.CharField(default="groups", max_length=60)),
                ("is_active", models.BooleanField(default=True)),
                (
                    "is_enforced",
                    models.BooleanField(
                        default=False,
                        help_text="Members sign in with the provider only. API keys keep working.",
                        verbose_name="enforced",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "emergency_user",
                    models.ForeignKey(
                        blank=True,
                        help_text="May sign in with a password when single sign-on is enforced and the provider fails.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="emergency account",
                    ),
                ),
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identity_provider",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
            ],
            options={
                "ordering": ("organization",),
            },
        ),
        migrations.CreateModel(
            name="GroupMapping",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("group", models.CharField(help_text="As the provider names it in the claim.", max_length=255)),
                (
                    "role",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="orgs.role",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="orgs.team",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="group_mappings",
                        to="orgs.identityprovider",
                    ),
                ),
            ],
            options={
                "ordering": ("group",),
                "constraints": [models.UniqueConstraint(fields=("provider", "group"), name="group_of_a_provider")],
            },
        ),
        migrations.CreateModel(
            name="LinkedIdentity",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("subject", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identities",
                        to="orgs.identityprovider",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="linked_identities",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "linked identities",
                "constraints": [models.UniqueConstraint(fields=("provider", "subject"), name="subject_of_a_provider")],
            },
        ),
        migrations.CreateModel(
            name="SignInDomain",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "domain",
                    models.CharField(
                        max_length=253,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9-]{2,63}\\Z",
                                "Such as example.com.",
                            )
                        ],
                    ),
                ),
                ("verified_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_in_domains",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
            ],
            options={
                "ordering": ("domain",),
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "domain"), name="sign_in_domain_in_organization"),
                    models.UniqueConstraint(
                        condition=models.Q(("verified_at__isnull", False)),
                        fields=("domain",),
                        name="verified_domain_of_one_organization",
                    ),
                ],
            },
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
