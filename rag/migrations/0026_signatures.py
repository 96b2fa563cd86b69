"""A search reads token signatures with a function that checks access once for all chunks."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "signatures.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0024_originals")]

    operations = [migrations.RunSQL(SQL.read_text())]
