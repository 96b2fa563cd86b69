"""A search reads its statistics, its candidates and its passages with one statement each."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "candidates.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0016_unanswered_questions")]

    operations = [migrations.RunSQL(SQL.read_text())]
