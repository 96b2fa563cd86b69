"""People and the audit trail: the tables."""

import django.db.models.functions.text
import django.utils.timezone
from django.db import migrations, models

import ragsite.postgres.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now, verbose_name="when")),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("signed_in", "signed in"),
                            ("sign_in_failed", "sign-in failed"),
                            ("signed_out", "signed out"),
                            ("created", "created"),
                            ("changed", "changed"),
                            ("deleted", "deleted"),
                            ("revoked", "revoked"),
                            ("refused", "refused"),
                            ("exported", "exported"),
                        ],
                        max_length=15,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("user", "user"),
                            ("organization", "organisation"),
                            ("membership", "membership"),
                            ("role", "role"),
                            ("team", "team"),
                            ("api_key", "API key"),
                            ("source", "data source"),
                            ("grant", "grant"),
                            ("document", "document"),
                            ("reembedding", "re-embedding"),
                            ("golden_questions", "golden questions"),
                            ("person", "data of a person"),
                            ("audit_trail", "audit trail"),
                        ],
                        max_length=20,
                        verbose_name="kind of object",
                    ),
                ),
                ("object_id", models.CharField(blank=True, max_length=40)),
                ("object_label", models.CharField(blank=True, max_length=200, verbose_name="object")),
                ("organization_id", models.UUIDField(blank=True, null=True)),
                ("organization_name", models.CharField(blank=True, max_length=150, verbose_name="organisation")),
                ("actor_id", models.UUIDField(blank=True, db_index=True, null=True)),
                ("actor_email", models.CharField(blank=True, max_length=254, verbose_name="who")),
                ("key_prefix", models.CharField(blank=True, max_length=20, verbose_name="by API key")),
                ("subject_id", models.UUIDField(blank=True, db_index=True, null=True)),
                ("subject_email", models.CharField(blank=True, max_length=254, verbose_name="about whom")),
                ("before", models.JSONField(blank=True, default=dict)),
                ("after", models.JSONField(blank=True, default=dict)),
                ("address", models.GenericIPAddressField(blank=True, null=True, verbose_name="network address")),
                ("request_id", models.CharField(blank=True, max_length=40, verbose_name="request")),
            ],
            options={
                "ordering": ("-id",),
                "indexes": [models.Index(fields=["organization_id", "-id"], name="audit_of_organization")],
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(blank=True, max_length=150)),
                ("is_staff", models.BooleanField(default=False, verbose_name="may open the admin")),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Switch off instead of deleting: every credential stops working at once.",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "ordering": ("email",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("email", django.db.models.functions.text.Lower("email"))),
                        name="user_email_is_lower_case",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("email__regex", "^[!-~]+$")), name="user_email_is_ascii"
                    ),
                ],
            },
        ),
    ]
