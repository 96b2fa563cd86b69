"""Data sources, documents, chunks, vectors, jobs and history: the tables."""

from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.constraints
import django.db.models.deletion
import django.utils.timezone
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.conf import settings
from django.db import migrations, models
from pgvector.django import VectorExtension

import rag.models.content.originals
import ragsite.postgres.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("orgs", "0001_schema"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        VectorExtension(),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("start", models.PositiveIntegerField()),
                ("end", models.PositiveIntegerField()),
                ("text", models.TextField()),
                (
                    "headings",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("tokens", models.PositiveIntegerField()),
                ("first_page", models.PositiveIntegerField(null=True)),
                ("last_page", models.PositiveIntegerField(null=True)),
                ("digest", models.UUIDField(null=True)),
            ],
            options={
                "ordering": ("document", "position"),
            },
        ),
        migrations.CreateModel(
            name="EmbeddingModel",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(help_text="As the provider names it.", max_length=100, unique=True)),
                (
                    "provider",
                    models.CharField(
                        choices=[("local", "local: on this machine's CPU"), ("openai", "OpenAI-compatible endpoint")],
                        max_length=10,
                    ),
                ),
                (
                    "dimensions",
                    models.PositiveIntegerField(choices=[(384, "384"), (768, "768"), (1536, "1536"), (3072, "3072")]),
                ),
                (
                    "base_url",
                    models.URLField(
                        blank=True,
                        help_text="For example http://localhost:11434/v1; empty: OpenAI's own.",
                        verbose_name="base URL",
                    ),
                ),
                (
                    "api_key_variable",
                    models.CharField(
                        blank=True,
                        help_text="Its name, for example OPENAI_API_KEY: the key itself is never stored.",
                        max_length=100,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Z][A-Z0-9_]*_API_KEY\\Z", "The name of a variable that ends with _API_KEY."
                            )
                        ],
                        verbose_name="environment variable of the API key",
                    ),
                ),
                (
                    "fallback_base_url",
                    models.URLField(
                        blank=True,
                        help_text="Of the very same model, asked when the first one fails. Another model's vectors would not fit.",
                        verbose_name="second endpoint",
                    ),
                ),
                (
                    "fallback_api_key_variable",
                    models.CharField(
                        blank=True,
                        max_length=100,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Z][A-Z0-9_]*_API_KEY\\Z", "The name of a variable that ends with _API_KEY."
                            )
                        ],
                        verbose_name="environment variable of its API key",
                    ),
                ),
                (
                    "query_prefix",
                    models.CharField(
                        blank=True,
                        help_text="Put before questions, if the model asks for it.",
                        max_length=200,
                        verbose_name="prefix of questions",
                    ),
                ),
                (
                    "document_prefix",
                    models.CharField(
                        blank=True,
                        help_text="Put before passages, likewise.",
                        max_length=200,
                        verbose_name="prefix of passages",
                    ),
                ),
                (
                    "confidence_high",
                    models.FloatField(
                        blank=True,
                        help_text="A mean score of the best five passages, 0 to 1. Empty: as the operator set it for all models.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="confidence is high from",
                    ),
                ),
                (
                    "confidence_medium",
                    models.FloatField(
                        blank=True,
                        help_text="A mean score of the best five passages, 0 to 1. Empty: as the operator set it for all models.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="confidence is medium from",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="IngestionFairness",
            fields=[
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="orgs.organization",
                    ),
                ),
                ("served_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Usage",
            fields=[
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="usage",
                        serialize=False,
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
                ("chunks", models.BigIntegerField(default=0)),
                ("bytes", models.BigIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "usage",
            },
        ),
        migrations.CreateModel(
            name="ChunkTokenSignatures",
            fields=[
                (
                    "chunk",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="token_signatures",
                        serialize=False,
                        to="rag.chunk",
                    ),
                ),
                ("signatures", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Conversation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rag_used", models.BooleanField(default=False)),
                ("rag_sources", models.JSONField(default=list)),
                (
                    "restricted_to_sources",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), editable=False, null=True, size=None
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conversations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="DataSource",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=150)),
                ("slug", models.CharField(max_length=100)),
                ("description", models.TextField(blank=True, max_length=2000)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "public: every member of the organisation"),
                            ("role", "role: members who hold one of the chosen roles"),
                            ("team", "team: members of one of the chosen teams"),
                            ("private", "private: the chosen people"),
                            ("personal", "personal: its owner only"),
                        ],
                        default="public",
                        max_length=8,
                        verbose_name="who may query it",
                    ),
                ),
                (
                    "source_type",
                    models.CharField(
                        choices=[
                            ("transcript", "Transcript"),
                            ("email", "Email"),
                            ("doc", "Doc"),
                            ("faq", "Faq"),
                            ("web", "Web"),
                        ],
                        default="doc",
                        help_text="Documents inherit it.",
                        max_length=10,
                        verbose_name="type",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="orgs.organization",
                        verbose_name="organisation",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="owned_sources",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "embedding_model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sources", to="rag.embeddingmodel"
                    ),
                ),
            ],
            options={
                "ordering": ("organization", "slug"),
            },
        ),
        migrations.AddField(
            model_name="chunk",
            name="source",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="chunks", to="rag.datasource"
            ),
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("path", models.TextField()),
                ("title", models.TextField()),
                ("uri", models.TextField(blank=True)),
                ("content_type", models.CharField(max_length=200)),
                (
                    "source_type",
                    models.CharField(
                        choices=[
                            ("transcript", "Transcript"),
                            ("email", "Email"),
                            ("doc", "Doc"),
                            ("faq", "Faq"),
                            ("web", "Web"),
                        ],
                        max_length=10,
                        verbose_name="type",
                    ),
                ),
                ("lang", models.CharField(blank=True, max_length=20, verbose_name="language")),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("date", models.DateTimeField(blank=True, null=True)),
                ("text", models.TextField()),
                ("content_hash", models.CharField(max_length=200)),
                ("chunk_size", models.PositiveIntegerField()),
                ("chunk_overlap", models.PositiveIntegerField()),
                ("chunk_count", models.PositiveIntegerField()),
                ("bytes", models.PositiveBigIntegerField(default=0)),
                ("revision", models.UUIDField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="documents", to="rag.datasource"
                    ),
                ),
            ],
            options={
                "ordering": ("source", "path"),
            },
        ),
        migrations.AddField(
            model_name="chunk",
            name="document",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="chunks", to="rag.document"
            ),
        ),
        migrations.CreateModel(
            name="ModelOutage",
            fields=[
                (
                    "model",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="rag.embeddingmodel",
                    ),
                ),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("tries", models.PositiveIntegerField(default=1)),
                ("probe", models.UUIDField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Embedding768",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "chunk_id", "model_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source_type", models.CharField(max_length=10)),
                ("content_type", models.CharField(max_length=200)),
                ("lang", models.CharField(max_length=20)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("date", models.DateTimeField(null=True)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(dimensions=768)),
                (
                    "chunk",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.chunk"
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.document",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Embedding384",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "chunk_id", "model_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source_type", models.CharField(max_length=10)),
                ("content_type", models.CharField(max_length=200)),
                ("lang", models.CharField(max_length=20)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("date", models.DateTimeField(null=True)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(dimensions=384)),
                (
                    "chunk",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.chunk"
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.document",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Embedding3072",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "chunk_id", "model_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source_type", models.CharField(max_length=10)),
                ("content_type", models.CharField(max_length=200)),
                ("lang", models.CharField(max_length=20)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("date", models.DateTimeField(null=True)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(dimensions=3072)),
                (
                    "chunk",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.chunk"
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.document",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Embedding1536",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "chunk_id", "model_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source_type", models.CharField(max_length=10)),
                ("content_type", models.CharField(max_length=200)),
                ("lang", models.CharField(max_length=20)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("date", models.DateTimeField(null=True)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(dimensions=1536)),
                (
                    "chunk",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.chunk"
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.document",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Calibration",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("mode", models.CharField(max_length=20)),
                ("slope", models.FloatField()),
                ("offset", models.FloatField()),
                ("questions", models.PositiveIntegerField()),
                ("calibration_error", models.FloatField(verbose_name="expected calibration error")),
                ("cosine_high", models.FloatField(null=True)),
                ("cosine_medium", models.FloatField(null=True)),
                ("reliability", models.JSONField(default=list)),
                ("risk", models.JSONField(default=list)),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibrations",
                        to="rag.embeddingmodel",
                    ),
                ),
            ],
            options={
                "ordering": ("model", "mode"),
            },
        ),
        migrations.CreateModel(
            name="GoldenQuestion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("question", models.CharField(max_length=2000)),
                (
                    "path",
                    models.CharField(
                        blank=True,
                        help_text="The path of the document, exactly as it was sent.",
                        max_length=2000,
                        verbose_name="expected document",
                    ),
                ),
                (
                    "passage",
                    models.TextField(
                        blank=True,
                        help_text="Text that a passage must contain. With an expected document, a passage of that document.",
                        max_length=2000,
                        verbose_name="expected passage",
                    ),
                ),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="golden_questions",
                        to="rag.datasource",
                    ),
                ),
            ],
            options={
                "ordering": ("source", "id"),
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("granted_at", models.DateTimeField(auto_now_add=True)),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True, help_text="Empty: without an end.", null=True, verbose_name="until"
                    ),
                ),
                (
                    "granted_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
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
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="grants", to="rag.datasource"
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
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("source", "granted_at"),
            },
        ),
        migrations.CreateModel(
            name="IngestionJob",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("processing", "Processing"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("chunk_size", models.PositiveIntegerField()),
                ("chunk_overlap", models.PositiveIntegerField()),
                (
                    "force_reparse",
                    models.BooleanField(
                        default=False,
                        help_text="Documents are processed even if their content has not changed.",
                        verbose_name="reparse",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="jobs", to="rag.datasource"
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Original",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("file", models.FileField(max_length=200, upload_to=rag.models.content.originals.storage_path)),
                ("name", models.TextField(help_text="As the client sent it.")),
                ("content_type", models.CharField(blank=True, max_length=200)),
                ("size", models.PositiveBigIntegerField(help_text="Bytes.")),
                ("sha256", models.CharField(max_length=64, verbose_name="SHA-256")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("check_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="originals", to="rag.datasource"
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="IngestionDocument",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("index", models.PositiveIntegerField()),
                ("path", models.TextField()),
                ("title", models.TextField()),
                (
                    "text",
                    models.TextField(
                        help_text="Deleted when the document is done or cancelled, and some time after it has failed."
                    ),
                ),
                ("content_type", models.CharField(blank=True, max_length=200)),
                ("uri", models.TextField(blank=True)),
                ("lang", models.CharField(blank=True, max_length=20)),
                (
                    "source_type",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("transcript", "Transcript"),
                            ("email", "Email"),
                            ("doc", "Doc"),
                            ("faq", "Faq"),
                            ("web", "Web"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("date", models.DateTimeField(null=True)),
                ("metadata", models.JSONField(default=dict)),
                ("content_hash", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=9,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("outages", models.PositiveIntegerField(default=0)),
                ("queued_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "stage",
                    models.CharField(
                        blank=True,
                        choices=[("parsing", "Parsing"), ("embedding", "Embedding"), ("indexing", "Indexing")],
                        max_length=9,
                    ),
                ),
                ("claimed_at", models.DateTimeField(null=True)),
                ("timings", models.JSONField(default=dict)),
                ("lease", models.UUIDField(null=True)),
                ("due_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[("created", "Created"), ("updated", "Updated"), ("unchanged", "Unchanged")],
                        max_length=10,
                    ),
                ),
                ("chunk_count", models.PositiveIntegerField(default=0)),
                ("error_code", models.CharField(blank=True, max_length=40)),
                ("error_message", models.TextField(blank=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "document",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.document"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="documents",
                        to="rag.ingestionjob",
                    ),
                ),
                (
                    "original",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.original"
                    ),
                ),
            ],
            options={
                "ordering": ("job", "index"),
            },
        ),
        migrations.AddField(
            model_name="document",
            name="original",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="documents",
                to="rag.original",
            ),
        ),
        migrations.CreateModel(
            name="QualityRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("is_live", models.BooleanField()),
                ("questions", models.PositiveIntegerField()),
                ("recall_at_10", models.FloatField(verbose_name="Recall@10")),
                ("ndcg_at_10", models.FloatField(verbose_name="nDCG@10")),
                ("mrr_at_10", models.FloatField(verbose_name="MRR@10")),
                ("details", models.JSONField(default=list)),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.embeddingmodel"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="quality_runs", to="rag.datasource"
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Reembedding",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("building", "Building"),
                            ("ready", "Ready"),
                            ("switched", "Switched"),
                            ("rolled_back", "rolled back"),
                            ("dropped", "Dropped"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="building",
                        max_length=11,
                    ),
                ),
                (
                    "switches_automatically",
                    models.BooleanField(
                        default=False, help_text="As soon as it is ready, if the quality gate allows it."
                    ),
                ),
                ("total", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("position", models.UUIDField(null=True)),
                ("outages", models.PositiveIntegerField(default=0)),
                ("due_at", models.DateTimeField(null=True)),
                ("error", models.TextField(blank=True)),
                ("measured_at", models.DateTimeField(null=True)),
                ("forced_because", models.TextField(blank=True, help_text="Why the quality gate was overruled.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("switched_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "clearing",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
                    ),
                ),
                (
                    "from_model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="rag.embeddingmodel"
                    ),
                ),
                (
                    "new_quality",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.qualityrun"
                    ),
                ),
                (
                    "old_quality",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.qualityrun"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reembeddings", to="rag.datasource"
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "to_model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="rag.embeddingmodel"
                    ),
                ),
                (
                    "undoes",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.reembedding"
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="SearchRecord",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("text", models.TextField()),
                ("results", models.JSONField(default=list)),
                ("time_ms", models.FloatField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="searches",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="SourceConfig",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source_id", "config", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("config", models.CharField(max_length=20)),
                ("chunks", models.IntegerField()),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SourceTerm",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source_id", "term", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("term", models.IntegerField()),
                ("chunks", models.IntegerField()),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ChunkTerms",
            fields=[
                (
                    "chunk",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="rag.chunk",
                    ),
                ),
                ("config", models.CharField(max_length=20)),
                ("terms", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ("weights", pgvector.django.sparsevec.SparseVectorField(dimensions=1000000000)),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="rag.document",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="rag.datasource",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ConversationMessage",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("role", models.CharField(choices=[("user", "User"), ("assistant", "Assistant")], max_length=9)),
                ("content", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="rag.conversation",
                    ),
                ),
            ],
            options={
                "ordering": ("conversation", "position"),
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "position"), name="message_of_conversation")
                ],
            },
        ),
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(fields=["source", "id"], name="chunk_of_source"),
        ),
        migrations.AddConstraint(
            model_name="chunk",
            constraint=models.UniqueConstraint(
                deferrable=django.db.models.constraints.Deferrable["IMMEDIATE"],
                fields=("document", "position"),
                name="chunk_position",
            ),
        ),
        migrations.AddIndex(
            model_name="embedding768",
            index=models.Index(fields=["source", "source_type", "lang"], name="embedding768_scope"),
        ),
        migrations.AddIndex(
            model_name="embedding384",
            index=models.Index(fields=["source", "source_type", "lang"], name="embedding384_scope"),
        ),
        migrations.AddIndex(
            model_name="embedding3072",
            index=models.Index(fields=["source", "source_type", "lang"], name="embedding3072_scope"),
        ),
        migrations.AddIndex(
            model_name="embedding1536",
            index=models.Index(fields=["source", "source_type", "lang"], name="embedding1536_scope"),
        ),
        migrations.AddConstraint(
            model_name="datasource",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at", None)),
                fields=("organization", "slug"),
                name="source_slug_in_organization",
            ),
        ),
        migrations.AddConstraint(
            model_name="datasource",
            constraint=models.CheckConstraint(
                condition=models.Q(("slug__regex", "^[a-zA-Z0-9_-]+$")), name="source_slug_pattern"
            ),
        ),
        migrations.AddConstraint(
            model_name="calibration",
            constraint=models.UniqueConstraint(fields=("model", "mode"), name="one_calibration_per_model_and_mode"),
        ),
        migrations.AddConstraint(
            model_name="goldenquestion",
            constraint=models.CheckConstraint(
                condition=models.Q(("passage", ""), ("path", ""), _negated=True),
                name="golden_question_expects_something",
                violation_error_message="Say which document or which passage the question must find.",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("role", None), ("team", None), ("user__isnull", False)),
                    models.Q(("role__isnull", False), ("team", None), ("user", None)),
                    models.Q(("role", None), ("team__isnull", False), ("user", None)),
                    _connector="OR",
                ),
                name="grant_names_exactly_one",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.UniqueConstraint(
                fields=("source", "user", "role", "team"), name="grant_once", nulls_distinct=False
            ),
        ),
        migrations.AddIndex(
            model_name="ingestionjob",
            index=models.Index(
                condition=models.Q(("status__in", ["queued", "processing"])), fields=["id"], name="open_jobs"
            ),
        ),
        migrations.AddIndex(
            model_name="ingestiondocument",
            index=models.Index(
                condition=models.Q(("due_at", None), ("state", "queued")),
                fields=["source", "id"],
                name="claimable_documents",
            ),
        ),
        migrations.AddIndex(
            model_name="ingestiondocument",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False), ("state", "queued")),
                fields=["due_at"],
                name="postponed_documents",
            ),
        ),
        migrations.AddIndex(
            model_name="ingestiondocument",
            index=models.Index(condition=models.Q(("state", "running")), fields=["due_at"], name="running_documents"),
        ),
        migrations.AddIndex(
            model_name="ingestiondocument",
            index=models.Index(
                condition=models.Q(("state__in", ["queued", "running"])), fields=["job"], name="open_documents_of_job"
            ),
        ),
        migrations.AddIndex(
            model_name="ingestiondocument",
            index=models.Index(
                condition=models.Q(
                    ("finished_at__isnull", False),
                    models.Q(models.Q(("text", ""), _negated=True), ("original__isnull", False), _connector="OR"),
                ),
                fields=["finished_at"],
                name="documents_with_input",
            ),
        ),
        migrations.AddConstraint(
            model_name="ingestiondocument",
            constraint=models.UniqueConstraint(fields=("job", "index"), name="document_of_job"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                condition=models.Q(("chunk_count__gt", 0), ("deleted_at__isnull", False)),
                fields=["id"],
                name="document_unpurged",
            ),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["source", "path"], name="document_deleted"
            ),
        ),
        migrations.AddIndex(
            model_name="document",
            index=django.contrib.postgres.indexes.GinIndex(fields=["tags"], name="document_tags"),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at", None)), fields=("source", "path"), name="document_path_in_source"
            ),
        ),
        migrations.AddIndex(
            model_name="qualityrun",
            index=models.Index(fields=["source", "-id"], name="quality_of_source"),
        ),
        migrations.AddConstraint(
            model_name="reembedding",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("state__in", ["building", "ready", "failed"]), ("clearing__isnull", False), _connector="OR"
                ),
                fields=("source",),
                name="one_open_reembedding",
            ),
        ),
        migrations.AddIndex(
            model_name="chunkterms",
            index=models.Index(fields=["source", "document"], name="terms_of_document"),
        ),
        migrations.AddIndex(
            model_name="chunkterms",
            index=django.contrib.postgres.indexes.GinIndex(fields=["terms"], name="terms_words"),
        ),
        migrations.RunSQL((Path(__file__).parent / "sql" / "storage.sql").read_text()),
    ]
