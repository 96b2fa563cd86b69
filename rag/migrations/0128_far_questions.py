"""Questions about something that hardly any chunk is about find the nearest chunks in large tables, too."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "far_questions.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0127_statistics_of_many_sources")]

    operations = [migrations.RunSQL(SQL.read_text())]
