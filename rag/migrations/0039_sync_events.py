"""Webhooks of syncs."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

EVENTS = [
    ("job.finished", "job.finished: all documents of a job have ended, and not all have failed"),
    ("job.failed", "job.failed: all documents of a job have failed"),
    ("document.failed", "document.failed: a document could not be ingested"),
    ("quota.nearly_reached", "quota.nearly_reached: 90% of a quota is used"),
    ("source.reembedded", "source.reembedded: a source was switched to another embedding model"),
    ("sync.finished", "sync.finished: a sync has ended"),
    ("sync.failed", "sync.failed: a sync has failed"),
    ("sync.waiting", "sync.waiting: a sync waits for the confirmation that it may remove documents"),
]


class Migration(migrations.Migration):
    dependencies = [("rag", "0031_source_lists")]

    operations = [
        migrations.AlterField(
            model_name="webhook",
            name="events",
            field=ArrayField(base_field=models.CharField(choices=EVENTS, max_length=30), size=None),
        ),
    ]
