"""Changes of token signatures are recorded for Qdrant, which has token vectors too."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "qdrant_token_vectors.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0122_list_indexes")]

    operations = [migrations.RunSQL(SQL.read_text())]
