"""Where the pages of a document start, so that a quote names its own pages."""

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models

SQL = Path(__file__).parent / "sql" / "passages_with_pages.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0114_stated_sources")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="page_starts",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.PositiveIntegerField(), blank=True, db_default=[], default=list, editable=False
            ),
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
