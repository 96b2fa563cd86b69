"""The index of the vectors is built when it pays (rag/providers/stores/pgvector/hnsw.py), no longer with the table.

One over rows that are there already stays.
"""

from django.db import migrations

DIMENSIONS = (384, 768, 1536, 3072)


def without_index_while_empty(dimensions: int) -> migrations.SeparateDatabaseAndState:
    name = f"embedding{dimensions}_hnsw"
    drop = (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM rag_embedding{dimensions}) THEN DROP INDEX IF EXISTS {name}; "
        "END IF; END $$"
    )
    create = (
        f"CREATE INDEX IF NOT EXISTS {name} ON rag_embedding{dimensions} "
        "USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 128)"
    )
    return migrations.SeparateDatabaseAndState(
        database_operations=[migrations.RunSQL(drop, create)],
        state_operations=[migrations.RemoveIndex(f"embedding{dimensions}", name)],
    )


class Migration(migrations.Migration):
    dependencies = [("rag", "0010_chunks_change_places")]

    operations = [without_index_while_empty(each) for each in DIMENSIONS]
