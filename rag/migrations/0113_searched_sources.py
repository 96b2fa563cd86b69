"""The ids of the searched sources as JSON, which is read again only if it has changed."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "searched_sources.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0112_installation_tables")]

    operations = [migrations.RunSQL(SQL.read_text())]
