"""Searches with filters look up the matching documents first, and the rarest words before the others."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "filtered_search.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0118_stored_questions")]

    operations = [migrations.RunSQL(SQL.read_text())]
