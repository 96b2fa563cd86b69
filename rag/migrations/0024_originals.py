"""Those who may query a data source may also read the rows of its original files."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "originals.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0028_syncs")]

    operations = [migrations.RunSQL(SQL.read_text())]
