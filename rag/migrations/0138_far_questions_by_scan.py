"""Questions about something that hardly any chunk is about take less time with up to 200,000 vectors."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "far_questions_by_scan.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0137_far_questions_in_smaller_tables")]

    operations = [migrations.RunSQL(SQL.read_text())]
