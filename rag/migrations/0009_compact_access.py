"""Row-level security without lists of all visible sources, and searches by vector in functions."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0008_second_model")]

    operations = [
        migrations.AddIndex(
            "datasource",
            models.Index(
                fields=["organization", "embedding_model"],
                condition=models.Q(deleted_at=None, visibility="public"),
                name="source_public",
            ),
        ),
        *(migrations.RunSQL((SQL / name).read_text()) for name in ("compact_access.sql", "vectors.sql")),
    ]
