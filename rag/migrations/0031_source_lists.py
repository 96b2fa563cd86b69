"""An exact search finds the chunks of all sources with one scan of an index."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "source_lists.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0036_qdrant")]

    operations = [migrations.RunSQL(SQL.read_text())]
