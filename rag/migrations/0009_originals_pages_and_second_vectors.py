"""Files as they were sent, pages of chunks, stages of documents on their way in, and vectors of two models side by side."""

import django.db.models.deletion
import rag.models.content.originals
import ragsite.postgres.models
from django.db import migrations, models

DIMENSIONS = (384, 768, 1536, 3072)


def keyed_by_chunk_and_model(dimensions: int) -> migrations.SeparateDatabaseAndState:
    """Django cannot change a primary key into one of two columns, PostgreSQL can."""
    table = f"rag_embedding{dimensions}"
    new_key = f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, ADD PRIMARY KEY (chunk_id, model_id)"
    old_key = f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, ADD PRIMARY KEY (chunk_id)"
    chunk = models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.chunk"
    )
    both = models.CompositePrimaryKey(
        "chunk_id", "model_id", blank=True, editable=False, primary_key=True, serialize=False
    )
    return migrations.SeparateDatabaseAndState(
        database_operations=[migrations.RunSQL(new_key, old_key)],
        state_operations=[
            migrations.AlterField(f"embedding{dimensions}", "chunk", chunk),
            migrations.AddField(f"embedding{dimensions}", "pk", both),
        ],
    )


class Migration(migrations.Migration):
    dependencies = [("rag", "0008_labels")]

    operations = [
        *(keyed_by_chunk_and_model(each) for each in DIMENSIONS),
        migrations.AddField("chunk", "digest", models.UUIDField(null=True)),
        migrations.AddField("chunk", "first_page", models.PositiveIntegerField(null=True)),
        migrations.AddField("chunk", "last_page", models.PositiveIntegerField(null=True)),
        migrations.AddField("ingestiondocument", "claimed_at", models.DateTimeField(null=True)),
        migrations.AddField("ingestiondocument", "outages", models.PositiveIntegerField(default=0)),
        migrations.AddField(
            "ingestiondocument",
            "stage",
            models.CharField(
                blank=True,
                choices=[("parsing", "Parsing"), ("embedding", "Embedding"), ("indexing", "Indexing")],
                max_length=9,
            ),
        ),
        migrations.AddField("ingestiondocument", "timings", models.JSONField(default=dict)),
        migrations.CreateModel(
            name="Original",
            fields=[
                (
                    "id",
                    models.UUIDField(default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False),
                ),
                ("file", models.FileField(max_length=200, upload_to=rag.models.content.originals.place)),
                ("name", models.TextField(help_text="As the client called it.")),
                ("content_type", models.CharField(blank=True, max_length=200)),
                ("size", models.PositiveBigIntegerField(help_text="Bytes.")),
                ("sha256", models.CharField(max_length=64, verbose_name="SHA-256")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="originals", to="rag.datasource"
                    ),
                ),
            ],
            options={"ordering": ("-id",)},
        ),
        migrations.AddField(
            "document",
            "original",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="documents",
                to="rag.original",
            ),
        ),
        migrations.AddField(
            "ingestiondocument",
            "original",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="rag.original"
            ),
        ),
    ]
