"""Writing chunks into many sources takes no longer than into few."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "statistics_of_many_sources.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0126_qdrant_token_vectors")]

    operations = [migrations.RunSQL(SQL.read_text())]
