"""Policies look up the grants of the sources that a statement is about."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "stated_sources.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0113_searched_sources")]

    operations = [migrations.RunSQL(SQL.read_text())]
