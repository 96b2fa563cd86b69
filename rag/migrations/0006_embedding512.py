"""The table of vectors with 512 dimensions, with the storage and the policies of the other vector tables."""

import django.contrib.postgres.fields
import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

SECURITY = """
ALTER TABLE rag_embedding512 ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE rag_embedding512 ENABLE ROW LEVEL SECURITY;
ALTER TABLE rag_embedding512 FORCE ROW LEVEL SECURITY;
CREATE POLICY workers ON rag_embedding512 TO ragsite_staff, ragsite_worker USING (true);
CREATE POLICY readers ON rag_embedding512 TO ragsite_reader
    USING (source_id = ANY((SELECT rag_visible_sources((SELECT action FROM ragsite_identity())))::uuid[]));
"""


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0005_key_organizations"),
    ]

    operations = [
        migrations.AlterField(
            model_name="embeddingmodel",
            name="dimensions",
            field=models.PositiveIntegerField(
                choices=[(384, "384"), (512, "512"), (768, "768"), (1536, "1536"), (3072, "3072")]
            ),
        ),
        migrations.CreateModel(
            name="Embedding512",
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
                ("embedding", pgvector.django.halfvec.HalfVectorField(dimensions=512)),
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
                    "model",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
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
            ],
            options={
                "indexes": [models.Index(fields=["source", "source_type", "lang"], name="embedding512_scope")],
            },
        ),
        migrations.RunSQL(SECURITY),
    ]
