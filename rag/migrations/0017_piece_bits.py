"""Bits of the local model's pieces beside each chunk: what late interaction compares a question with."""

import django.db.models.deletion
from django.db import migrations, models

# Bits look like noise: PostgreSQL shall not try to compress them, but move them to the side table as they are.
STORAGE = "ALTER TABLE rag_piecebits ALTER COLUMN pieces SET STORAGE EXTERNAL"
# The row goes with its chunk, also where chunks are removed by SQL of our own.
CASCADE = (
    "ALTER TABLE rag_piecebits ADD CONSTRAINT piecebits_of_chunk FOREIGN KEY (chunk_id) REFERENCES rag_chunk (id) "
    "ON DELETE CASCADE"
)


class Migration(migrations.Migration):
    dependencies = [("rag", "0016_words_of_chunks")]

    operations = [
        migrations.CreateModel(
            name="PieceBits",
            fields=[
                (
                    "chunk",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="piece_bits",
                        serialize=False,
                        to="rag.chunk",
                    ),
                ),
                ("pieces", models.BinaryField()),
            ],
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(CASCADE, migrations.RunSQL.noop),
    ]
