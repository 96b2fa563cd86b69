"""Those who may query a data source read the rows of original files of its documents, and not those of other files."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "originals_of_documents.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0134_small_files_in_rows")]

    operations = [migrations.RunSQL(SQL.read_text())]
