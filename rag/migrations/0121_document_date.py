"""An index for filters by date, which is built while others read and write."""

from django.db import migrations, models
from django.db.models import Q

_CREATE = "CREATE INDEX CONCURRENTLY IF NOT EXISTS document_date ON rag_document (date) WHERE date IS NOT NULL"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("rag", "0120_filtered_search")]

    operations = [
        migrations.RunSQL(
            _CREATE,
            state_operations=[
                migrations.AddIndex(
                    "document",
                    models.Index(fields=["date"], condition=Q(date__isnull=False), name="document_date"),
                )
            ],
        )
    ]
