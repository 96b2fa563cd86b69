"""Qdrant as the search index: the outbox with its triggers, and the functions that list and score what it finds."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).parent / "sql" / "qdrant.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0026_signatures")]

    operations = [
        migrations.CreateModel(
            name="IndexChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("document_id", models.UUIDField()),
            ],
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
