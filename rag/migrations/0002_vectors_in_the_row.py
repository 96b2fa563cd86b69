"""Vectors stay in the row: moved to a side table (TOAST), an exact search over them takes six times as long."""

from django.db import migrations

TABLES = ("rag_embedding384", "rag_embedding768", "rag_embedding1536", "rag_embedding3072")


class Migration(migrations.Migration):
    dependencies = [("rag", "0001_initial")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE PLAIN",
            f"ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE EXTERNAL",
        )
        for table in TABLES
    ]
