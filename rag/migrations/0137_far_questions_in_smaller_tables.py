"""Questions about something that hardly any chunk is about find the nearest chunks in smaller tables, too."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "far_questions_in_smaller_tables.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0136_line_boxes")]

    operations = [migrations.RunSQL(SQL.read_text())]
