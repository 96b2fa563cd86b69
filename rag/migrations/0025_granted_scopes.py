"""A search in many granted sources names who has the grants, and the database reads the sources."""

from pathlib import Path

from django.db import migrations, models
from django.db.models import Q

SQL = Path(__file__).parent / "sql" / "granted_scopes.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0021_candidates"), ("orgs", "0010_scim")]

    operations = [
        migrations.RemoveIndex(model_name="datasource", name="source_not_public"),
        migrations.AddIndex(
            model_name="datasource",
            index=models.Index(
                fields=["organization", "embedding_model", "second_model_ready_at", "second_model"],
                condition=Q(deleted_at=None) & ~Q(visibility="public"),
                name="source_not_public",
            ),
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
