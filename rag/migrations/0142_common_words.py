"""A search for words that are all common reads only the chunks with two of them."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "common_words.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0141_words_of_listed_documents")]

    operations = [migrations.RunSQL(SQL.read_text())]
