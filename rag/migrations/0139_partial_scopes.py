"""Searches in a part of many chunks read only rows of this part, and not those of all other sources."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "partial_scopes.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0138_far_questions_by_scan")]

    operations = [migrations.RunSQL(SQL.read_text())]
