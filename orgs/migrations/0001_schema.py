"""Organisations, members, roles, teams and API keys: the tables."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Organization",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=150)),
                ("slug", models.SlugField(max_length=60, unique=True)),
                (
                    "is_active",
                    models.BooleanField(default=True, help_text="Switch off to close it to all its members at once."),
                ),
                (
                    "default_visibility",
                    models.CharField(
                        choices=[
                            ("public", "public: every member of the organisation"),
                            ("role", "role: members who hold one of the chosen roles"),
                            ("team", "team: members of one of the chosen teams"),
                            ("private", "private: the chosen people"),
                            ("personal", "personal: its owner only"),
                        ],
                        default="public",
                        help_text="For data sources that are made by the first document sent to them.",
                        max_length=8,
                    ),
                ),
                (
                    "queries_per_minute",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Searches, questions and chats of one person a minute. Empty: the platform's default.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "ingestions_per_minute",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Requests that send documents, of one person a minute. Empty: the platform's default.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "agent_requests_per_minute",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Requests to the agent, of one person a minute. Empty: the platform's default.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "service_searches_per_minute",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Requests to the search service, of one API key a minute. Empty: the platform's default.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "max_chunks",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Documents that would make more are refused (INDEX_FULL). Empty: no limit.",
                        null=True,
                        verbose_name="maximum number of chunks",
                    ),
                ),
                (
                    "max_bytes",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Of documents' texts and files; more are refused (INDEX_FULL). Empty: no limit.",
                        null=True,
                        verbose_name="maximum number of bytes",
                    ),
                ),
                (
                    "query_history",
                    models.CharField(
                        choices=[
                            ("full", "full: what was asked and found, and conversations"),
                            ("redacted", "redacted: what was found, as ids; not what was asked, and no conversations"),
                            ("none", "none: nothing"),
                        ],
                        default="full",
                        help_text="What is kept of its members' searches and chats. Of several organisations, the strictest counts.",
                        max_length=8,
                        verbose_name="history of questions",
                    ),
                ),
                (
                    "history_days",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Then it is removed. Empty: the platform's default.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(3650),
                        ],
                        verbose_name="days of history",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                "verbose_name": "organisation",
                "ordering": ("slug",),
            },
        ),
        migrations.CreateModel(
            name="Role",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.SlugField(max_length=60)),
                (
                    "permissions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("sources.create", "create data sources"),
                                ("sources.ingest", "send documents to data sources"),
                                ("sources.manage", "see, change and delete data sources, their access and their jobs"),
                                ("members.manage", "change members, teams and roles"),
                            ],
                            max_length=30,
                        ),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="roles",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
            ],
            options={
                "ordering": ("organization", "name"),
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.SlugField(max_length=60)),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="teams",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="orgs.team",
                        verbose_name="part of",
                    ),
                ),
            ],
            options={
                "ordering": ("organization", "name"),
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
                ("roles", models.ManyToManyField(blank=True, related_name="memberships", to="orgs.role")),
                ("teams", models.ManyToManyField(blank=True, related_name="memberships", to="orgs.team")),
            ],
            options={
                "ordering": ("organization", "user"),
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField(max_length=11)),
                ("hash", models.CharField(max_length=64)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("query", "query: search and ask"),
                                ("ingest", "ingest: send documents and watch jobs"),
                                ("manage", "manage: create, change and delete data sources"),
                            ],
                            max_length=10,
                        ),
                        size=None,
                    ),
                ),
                (
                    "source_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, null=True, size=None
                    ),
                ),
                (
                    "networks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43), blank=True, null=True, size=None
                    ),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("lifetime", models.DurationField(blank=True, editable=False, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("flagged_at", models.DateTimeField(blank=True, null=True)),
                ("refused_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "ordering": ("-id",),
                "constraints": [models.UniqueConstraint(fields=("hash",), name="api_key_by_its_hash")],
            },
        ),
        migrations.AddConstraint(
            model_name="role",
            constraint=models.UniqueConstraint(fields=("organization", "name"), name="role_name_in_organization"),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(fields=("organization", "name"), name="team_name_in_organization"),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(fields=("user", "organization"), name="one_membership_a_user"),
        ),
    ]
