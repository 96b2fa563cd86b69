"""Searches by words with a filter that few documents meet do not read the list of these for each match."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "words_of_listed_documents.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0140_events_of_submissions")]

    operations = [migrations.RunSQL(SQL.read_text())]
