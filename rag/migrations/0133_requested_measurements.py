"""Requests to measure the quality of a data source are stored with it."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("rag", "0132_short_list_of_new_words")]

    operations = [
        migrations.AddField(
            "datasource", "quality_requested_at", models.DateTimeField(null=True, blank=True, editable=False)
        ),
        migrations.AddIndex(
            "datasource",
            models.Index(
                fields=["quality_requested_at"],
                condition=Q(quality_requested_at__isnull=False),
                name="requested_measurements",
            ),
        ),
    ]
