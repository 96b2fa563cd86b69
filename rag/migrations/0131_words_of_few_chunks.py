"""Words that few chunks contain are looked up, also where the chunks are few enough to compare each of them."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "words_of_few_chunks.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0130_recorded_events")]

    operations = [migrations.RunSQL(SQL.read_text())]
