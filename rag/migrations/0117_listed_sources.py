"""Callers with many granted sources: policies list these once."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "listed_sources.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0115_page_starts")]

    operations = [migrations.RunSQL(SQL.read_text())]
