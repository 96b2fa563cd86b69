"""Storing an unanswered question reads its own source only."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "stored_questions.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0117_listed_sources")]

    operations = [migrations.RunSQL(SQL.read_text())]
